"""``platestream``: accounts, keys and cameras from a terminal."""

import asyncio
import sys
from datetime import UTC, datetime
from typing import Annotated, Any

import structlog
import typer
from sqlalchemy.orm import Session

from api.accounts import repository as accounts_repository
from api.accounts.models import NewKey, OwnerAccount
from api.accounts.service import change_password, create_key, create_owner, owner_by_email
from api.cameras.models import CameraRow
from api.cameras.repository import list_all_cameras
from api.cli_erasure import owner_remove, plate_erase
from api.cli_evaluate import evaluate
from api.cli_shared import EmailOption, JsonOption, answer, in_database, in_family
from api.credits import repository as credits_repository
from api.credits.models import EntryKind
from api.scopes import ALL_SCOPES, Scope
from contracts.errors import InvalidInputError
from contracts.moments import iso_utc
from contracts.settings import load_settings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    # A trace with local variables would print passwords and keys.
    pretty_exceptions_enable=False,
    help="Look after a Platestream installation.",
)
owner_app = typer.Typer(no_args_is_help=True, help="Accounts.")
key_app = typer.Typer(no_args_is_help=True, help="API keys.")
camera_app = typer.Typer(no_args_is_help=True, help="Cameras.")
app.add_typer(owner_app, name="owner")
app.add_typer(key_app, name="key")
app.add_typer(camera_app, name="camera")
stack_app = typer.Typer(no_args_is_help=True, help="The servers of the installation.")
app.add_typer(stack_app, name="stack")
plate_app = typer.Typer(no_args_is_help=True, help="Number plates.")
app.add_typer(plate_app, name="plate")
app.command("evaluate")(evaluate)
owner_app.command("remove")(owner_remove)
plate_app.command("erase")(plate_erase)

PasswordOption = Annotated[
    str | None, typer.Option(help="Visible to others on this machine: better leave it out.")
]
PasswordStdinOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input.")
]


@app.callback()
def _keep_standard_output() -> None:
    """Leave standard output to the answers, which programs read."""
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))


@owner_app.command("create")
def owner_create(
    email: EmailOption,
    password: PasswordOption = None,
    password_stdin: PasswordStdinOption = False,
    credits: Annotated[int, typer.Option(min=0, help="Credits to begin with.")] = 0,
    timezone: Annotated[str, typer.Option(help="IANA time zone of reports.")] = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Make an account; the password is asked for unless it is given."""
    secret = _password(password, from_stdin=password_stdin)
    owner = in_database(
        lambda session: create_owner(
            session, email=email, password=secret, timezone=timezone, credits=credits
        )
    )
    answer(_owner_fields(owner), as_json, f"owner {owner.email} with {owner.credits} credits")


@owner_app.command("password")
def owner_password(
    email: EmailOption,
    password: PasswordOption = None,
    password_stdin: PasswordStdinOption = False,
    as_json: JsonOption = False,
) -> None:
    """Change a password and end all sessions; it is asked for unless it is given. Keys stay."""
    secret = _password(password, from_stdin=password_stdin)
    owner = in_database(lambda session: change_password(session, email=email, password=secret))
    answer(_owner_fields(owner), as_json, f"{owner.email} has a new password")


@owner_app.command("list")
def owner_list(as_json: JsonOption = False) -> None:
    """Show all accounts, newest first."""
    owners = in_database(accounts_repository.list_owners)
    lines = [f"{owner.email}\t{owner.credits} credits\t{owner.timezone}" for owner in owners]
    answer({"owners": [_owner_fields(owner) for owner in owners]}, as_json, "\n".join(lines))


@owner_app.command("credits")
def owner_credits(
    email: EmailOption,
    grant: Annotated[int, typer.Option(help="Credits to add; negative takes away.")],
    reason: Annotated[str, typer.Option(help="What the ledger says about it.")],
    as_json: JsonOption = False,
) -> None:
    """Change an owner's balance by a row in the ledger."""

    def work(session: Session) -> OwnerAccount:
        owner = owner_by_email(session, email)
        after = credits_repository.add_entry(
            session, owner.id, delta=grant, kind=EntryKind.GRANT, reason=reason
        )
        if after is None:
            raise InvalidInputError("the balance may not go below zero", code="balance_too_low")
        return owner_by_email(session, email)

    owner = in_database(work)
    answer(_owner_fields(owner), as_json, f"{owner.email} has {owner.credits} credits")


@key_app.command("create")
def key_create(
    email: EmailOption,
    name: Annotated[str, typer.Option(help="What the key is for.")],
    scopes: Annotated[str, typer.Option(help="Comma-separated scopes, or all.")],
    expires: Annotated[
        datetime | None, typer.Option(help="Date and time (UTC) after which it is refused.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an API key and show it, this once."""
    wanted = in_family(lambda: _scopes(scopes))
    expires_at = None if expires is None else expires.replace(tzinfo=UTC)

    def work(session: Session) -> NewKey:
        owner = owner_by_email(session, email)
        return create_key(session, owner.id, name=name, scopes=wanted, expires_at=expires_at)

    key = in_database(work)
    answer(_key_fields(key), as_json, key.plain_key)


@camera_app.command("list")
def camera_list(as_json: JsonOption = False) -> None:
    """Show all cameras of all owners, newest first."""
    cameras = in_database(list_all_cameras)
    lines = [
        f"{camera.id}\t{camera.values.name}\t{'enabled' if camera.values.enabled else 'disabled'}"
        for camera in cameras
    ]
    answer({"cameras": [_camera_fields(camera) for camera in cameras]}, as_json, "\n".join(lines))


@stack_app.command("check")
def stack_check(
    api_url: Annotated[
        str | None, typer.Option(help="Also ask whether the API at this address is ready.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask PostgreSQL, ClickHouse, Kafka and S3 whether they are well; 1 if not.

    Warnings, of passwords that are not encrypted on their way, change nothing about that.
    """
    # Its clients of all servers are more than half of what a command takes to start.
    from api.stack_check import StackSettings, check_stack, stack_warnings

    settings = load_settings(StackSettings)
    found = in_family(lambda: asyncio.run(check_stack(settings, api_url)))
    checks = {name: fault or "ok" for name, fault in found.faults.items()}
    status = "ready" if found.is_ready else "not ready"
    warnings = stack_warnings(settings)
    lines = [f"{name}\t{said}" for name, said in checks.items()]
    lines += [f"warning\t{sentence}" for sentence in warnings]
    fields = {"status": status, "checks": checks, "warnings": warnings}
    answer(fields, as_json, "\n".join(lines))
    if not found.is_ready:
        raise typer.Exit(1)


def _password(given: str | None, *, from_stdin: bool) -> str:
    if given is not None:
        return given
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    asked: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    return asked


def _scopes(text: str) -> frozenset[Scope]:
    if text.strip() == "all":
        return ALL_SCOPES
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = sorted(set(names) - set(Scope))
    if unknown or not names:
        raise InvalidInputError(
            f"unknown scope {', '.join(unknown) or '(none given)'}; known: {', '.join(Scope)}"
        )
    return frozenset(Scope(name) for name in names)


def _owner_fields(owner: OwnerAccount) -> dict[str, Any]:
    return {
        "id": str(owner.id),
        "email": owner.email,
        "credits": owner.credits,
        "timezone": owner.timezone,
        "createdAt": _time(owner.created_at),
    }


def _key_fields(key: NewKey) -> dict[str, Any]:
    record = key.record
    return {
        "id": str(record.id),
        "name": record.name,
        "prefix": record.prefix,
        "scopes": sorted(record.scopes),
        "enabled": record.enabled,
        "expiresAt": _time(record.expires_at),
        "createdAt": _time(record.created_at),
        "plainKey": key.plain_key,
    }


def _camera_fields(camera: CameraRow) -> dict[str, Any]:
    return {
        "id": str(camera.id),
        "ownerId": str(camera.owner_id),
        "identifier": camera.values.identifier,
        "name": camera.values.name,
        "location": camera.values.location,
        "rtspUrl": camera.values.stream_url_shown,
        "enabled": camera.values.enabled,
        "createdAt": _time(camera.created_at),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else iso_utc(moment)


if __name__ == "__main__":
    app()
