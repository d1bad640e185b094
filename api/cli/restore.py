"""Implements ``platestream restore``: the restore steps that database tools cannot perform."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy.orm import Session

from api.cli.commands import JsonOption, answer, command_group, fail
from api.cli.shared import (
    exit_on_service_error,
    in_database,
    settings_with_logs,
    shown_time,
)

restore_app = command_group("Prepare and finish a restore of the databases (docs/backup.md).")


@restore_app.command("erasures")
def restore_erasures(
    file: Annotated[Path, typer.Argument(help="Output file. Its existing content is preserved.")],
    as_json: JsonOption = False,
) -> None:
    """Add the erasures of the last 30 days to a file, for `restore finish`.

    Run this command with every backup and before a restore, and store the file separately from the
    servers. The file contains no plates, but hashes from which a plate can be guessed.
    """
    from api.restore.service import add_to_file, open_requests, read_erasures
    from common.settings import ClickHouseSettings

    settings = settings_with_logs(ClickHouseSettings)
    erasures = in_database(open_requests)
    erasures += exit_on_service_error(lambda: asyncio.run(read_erasures(settings)))
    count = exit_on_service_error(lambda: add_to_file(file, erasures))
    answer({"file": str(file), "erasures": count}, as_json, f"{count} erasures in {file}")


@restore_app.command("finish")
def restore_finish(
    erased: Annotated[Path | None, typer.Option(help="File written by `restore erasures`.")] = None,
    nothing_erased: Annotated[
        bool,
        typer.Option("--nothing-erased", help="Nothing was erased after the backup was made."),
    ] = False,
    disable_keys: Annotated[
        bool, typer.Option("--disable-keys", help="Disable all API keys until they are reviewed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Finish a restore: end sessions, repeat erasures, publish configuration. Safe to repeat.

    The servers must be running, and the service's processes must be stopped.
    """
    from api.restore.service import (
        RestoreSettings,
        check_clickhouse,
        check_restored,
        end_access,
        erase_again,
        publish,
        read_file,
    )

    if (erased is None) != nothing_erased:
        fail("give either --erased FILE or --nothing-erased")
    settings = settings_with_logs(RestoreSettings)
    erasures = [] if erased is None else exit_on_service_error(lambda: read_file(erased))
    exit_on_service_error(lambda: check_restored(settings))
    exit_on_service_error(lambda: asyncio.run(check_clickhouse(settings)))
    ended = in_database(lambda session: end_access(session, disables_keys=disable_keys))
    again = exit_on_service_error(lambda: asyncio.run(erase_again(settings, in_database, erasures)))
    published = in_database(lambda session: publish(session, again))
    fields: dict[str, Any] = {
        **ended,
        "erasedAgain": sum(again.values()),
        "recordsPublished": published,
        **in_database(_to_review),
    }
    answer(fields, as_json, _text(fields))


def _to_review(session: Session) -> dict[str, Any]:
    from api.db.people_tables import Person
    from api.db.tables import ApiKey
    from api.restore.service import to_review

    keys = [
        {
            "id": str(key.id),
            "account": account,
            "name": key.name,
            "prefix": key.prefix,
            "scopes": list(key.scopes),
            "createdAt": shown_time(key.created_at),
            "lastUsedAt": shown_time(key.last_used_at),
        }
        for key, account in to_review(session, ApiKey)
    ]
    people = [
        {
            "id": str(person.id),
            "account": account,
            "email": person.email,
            "role": person.role,
            "createdAt": shown_time(person.created_at),
            "lastLogInAt": shown_time(person.last_log_in_at),
        }
        for person, account in to_review(session, Person)
    ]
    return {"keys": keys, "people": people}


def _text(fields: dict[str, Any]) -> str:
    lines = [
        f"ended: {fields['sessionsEnded']} sessions, {fields['invitationsEnded']} invitations;"
        f" disabled: {fields['keysDisabled']} API keys",
        f"erasures repeated: {fields['erasedAgain']} plates or accounts",
        f"queued: {fields['recordsPublished']} configuration records",
        "Before starting the API, review keys and people: revocations, removals and changes made"
        " after the backup are undone.",
    ]
    lines += [
        f"key\t{key['account']}\t{key['prefix']}…\t{key['name']}\tcreated {key['createdAt']}"
        for key in fields["keys"]
    ]
    lines += [
        f"person\t{one['account']}\t{one['email']}\t{one['role']}\tcreated {one['createdAt']}"
        for one in fields["people"]
    ]
    return "\n".join(lines)
