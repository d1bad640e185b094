"""Implements permanent erasure: ``platestream plate erase`` and ``platestream owner remove``."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Final, TypeVar

import typer
from sqlalchemy.orm import Session

from api.accounts.repository import OwnerAccount
from api.accounts.service import normalised_email, owner_by_email
from api.cli.analysts import remove_analysts_of
from api.cli.commands import JsonOption, answer, command_group, fail
from api.cli.shared import (
    EmailOption,
    exit_on_service_error,
    in_database,
    load_command_settings,
    settings_with_logs,
)
from api.health.operators import oldest_accounts
from api.installation_settings import OperatorSettings
from common.errors import InvalidInputError, TransientError
from common.plates.normalise import whole_plate
from common.records.object_keys import RECOGNITION_FOLDER, SNAPSHOT_FOLDER
from common.timestamps import now_ms

# The erasure code is imported where needed, because importing the clients of all servers takes more
# than half of a command's start time.

plate_app = command_group("Erase plates.")

_AGAIN = "run the command again to erase the rest"
_OF_OWNER: Final = (
    *("sessions", "apiKeys", "cameras", "alerts", "webhooks", "ledger", "recognitions", "images"),
    *("alertTriggers", "deliveryAttempts", "outcomes"),
)
_T = TypeVar("_T")


@plate_app.command("erase")
def plate_erase(
    email: EmailOption,
    plate: Annotated[str, typer.Option(help="The complete plate. Wildcards are not supported.")],
    as_json: JsonOption = False,
) -> None:
    """Permanently erase everything captured so far for a plate. Safe to repeat."""
    from api.actors import Action
    from api.audit.actions import current_action
    from api.audit.repository import write_actions
    from api.erasure.service import (
        ErasureSettings,
        alerts_naming,
        erase_plate_in_database,
        erase_stored_plate,
    )
    from api.recognitions.repository import list_misread

    settings = settings_with_logs(ErasureSettings)
    text = exit_on_service_error(lambda: _whole_plate(plate))
    owner = in_database(lambda session: owner_by_email(session, email))
    alerts = in_database(lambda session: alerts_naming(session, owner.id, text))
    before_ms = now_ms()
    misread = in_database(
        lambda session: list_misread(session, owner.id, text, before_ms=before_ms)
    )
    erased = _hinting(
        lambda: asyncio.run(
            erase_stored_plate(settings, settings, owner.id, text, misread, before_ms)
        ),
        _AGAIN,
    )
    counts = erased.counts()

    def work(session: Session) -> dict[str, int]:
        erased_rows = erase_plate_in_database(session, owner.id, text, before_ms)
        action = current_action(
            owner.id,
            Action.PLATE_ERASED,
            recognitions=counts["recognitions"],
            corrections=erased_rows["corrections"],
        )
        write_actions(session, [action])
        return erased_rows

    counts |= in_database(work) | {"alertsNamingIt": alerts, "misread": len(misread)}
    images = erased.images
    is_left = images is None or images.refused > 0
    answer({**counts, "imagesLeft": is_left}, as_json, _plate_text(counts))
    if images is None:
        fail("the image store is not responding; the API will delete the images later")
    if images.refused:
        fail(
            f"the image store refused to delete some images ({images.refused}); check its"
            " permissions and object locks. The API will retry"
        )


def owner_remove(
    email: EmailOption,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Permanently delete an account and all its data. If interrupted, run it again."""
    from api.erasure.service import (
        ErasureSettings,
        delete_account,
        end_account,
        erase_stored_images,
        erase_stored_owner,
    )

    settings = settings_with_logs(ErasureSettings)
    owner = in_database(lambda session: owner_by_email(session, email))
    in_database(lambda session: _check_operator(session, owner))
    if not yes:
        exit_on_service_error(lambda: _confirm(owner))
    ended = in_database(lambda session: end_account(session, owner.id))
    _hinting(lambda: remove_analysts_of(settings, owner.id), _AGAIN)
    stored = _hinting(lambda: asyncio.run(erase_stored_owner(settings, owner.id)), _AGAIN)
    ended += in_database(lambda session: delete_account(session, owner.id))
    # Running calls may have stored more images. From now on, calls fail and delete their images.
    late = _hinting(lambda: asyncio.run(erase_stored_images(settings, owner.id)), _late_hint(owner))
    counts = ended + stored + Counter(images=late, deliveryAttempts=stored["deliveries"])
    fields = {name: counts[name] for name in _OF_OWNER}
    lines = [f"removed {owner.email}", *(f"{name}\t{count}" for name, count in fields.items())]
    named = {"id": str(owner.id), "email": owner.email}
    answer(named | fields, as_json, "\n".join(lines))


def _whole_plate(text: str) -> str:
    try:
        return whole_plate(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"the plate {error}", code=error.code) from error


def _check_operator(session: Session, owner: OwnerAccount) -> None:
    """Reject the removal of the first account if the next account would become the operator."""
    oldest = oldest_accounts(session)
    is_named = bool(load_command_settings(OperatorSettings).operator_accounts)
    if not is_named and len(oldest) > 1 and oldest[0] == owner.id:
        raise InvalidInputError(
            f"{owner.email} administers the installation, and the next-oldest account would take"
            " over. Set PLATESTREAM_OPERATOR_ACCOUNTS first, both for the API and for this command"
        )


def _confirm(owner: OwnerAccount) -> None:
    typed = typer.prompt(f"Type {owner.email} to permanently delete all its data", err=True)
    if normalised_email(typed) != owner.email:
        raise InvalidInputError("the email address does not match; nothing was deleted")


def _hinting(work: Callable[[], _T], hint: str) -> _T:
    """Return the result of ``work``. Print ``hint`` and exit if a dependency is unavailable."""

    def hinted() -> _T:
        try:
            return work()
        except TransientError as error:
            fail(f"{error}; {hint}", error)

    return exit_on_service_error(hinted)


def _late_hint(owner: OwnerAccount) -> str:
    # The command cannot be repeated, because the account no longer exists.
    return (
        f"{owner.email} was removed, but images stored at the last moment may remain in S3 under"
        f" {RECOGNITION_FOLDER}{owner.id}/ and {SNAPSHOT_FOLDER}{owner.id}/"
    )


def _plate_text(counts: Mapping[str, int]) -> str:
    lines = [
        f"erased: {counts['recognitions']} recognitions, {counts['images']} images, the plate in"
        f" {counts['alertTriggers']} triggers, the content of {counts['deliveries']} deliveries,"
        f" {counts['corrections']} corrections, {counts['outbox']} outbox records"
    ]
    if counts["misread"]:
        lines.append(f"including {counts['misread']} misreadings that were corrected to this plate")
    if counts["alertsNamingIt"]:
        lines.append(
            f"{counts['alertsNamingIt']} alerts still list this plate; the account can edit them"
        )
    return "\n".join(lines)
