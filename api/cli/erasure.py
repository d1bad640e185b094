"""``platestream plate erase`` and ``platestream owner remove``: for good, on request."""

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
    log_to_stderr,
)
from api.health.operators import oldest_accounts
from api.installation_settings import OperatorSettings
from common.errors import InvalidInputError, TransientError
from common.plates.normalise import whole_plate
from common.records.object_keys import RECOGNITION_FOLDER, SNAPSHOT_FOLDER
from common.timestamps import now_ms

# What erases is imported where it is needed: it brings the clients of all servers, which are more
# than half of what a command takes to start.

plate_app = command_group("Number plates.")

_AGAIN = "run the command again, it erases what is left"
_OF_OWNER: Final = (
    *("sessions", "apiKeys", "cameras", "alerts", "webhooks", "ledger", "recognitions", "images"),
    *("alertTriggers", "deliveryAttempts", "outcomes"),
)
_T = TypeVar("_T")


@plate_app.command("erase")
def plate_erase(
    email: EmailOption,
    plate: Annotated[str, typer.Option(help="The whole plate; wildcards mean nothing here.")],
    as_json: JsonOption = False,
) -> None:
    """Erase what was captured of a plate up to now, for good. May be repeated."""
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

    log_to_stderr()
    settings = load_command_settings(ErasureSettings)
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
        here = erase_plate_in_database(session, owner.id, text, before_ms)
        act = current_action(
            owner.id,
            Action.PLATE_ERASED,
            recognitions=counts["recognitions"],
            corrections=here["corrections"],
        )
        write_actions(session, [act])
        return here

    counts |= in_database(work) | {"alertsNamingIt": alerts, "misread": len(misread)}
    images = erased.images
    is_left = images is None or images.refused > 0
    answer({**counts, "imagesLeft": is_left}, as_json, _plate_text(counts))
    if images is None:
        fail("the picture store does not answer; the API removes the images once it does")
    if images.refused:
        fail(
            f"the picture store refuses to remove images ({images.refused}): permissions,"
            " locks? The API removes them once it may"
        )


def owner_remove(
    email: EmailOption,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for the address to be typed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove an account and all that is stored of it, for good; where it is cut off, repeat it."""
    from api.erasure.service import (
        ErasureSettings,
        delete_account,
        end_account,
        erase_stored_images,
        erase_stored_owner,
    )

    log_to_stderr()
    settings = load_command_settings(ErasureSettings)
    owner = in_database(lambda session: owner_by_email(session, email))
    in_database(lambda session: _check_operator(session, owner))
    if not yes:
        exit_on_service_error(lambda: _confirm(owner))
    ended = in_database(lambda session: end_account(session, owner.id))
    _hinting(lambda: remove_analysts_of(settings, owner.id), _AGAIN)
    stored = _hinting(lambda: asyncio.run(erase_stored_owner(settings, owner.id)), _AGAIN)
    ended += in_database(lambda session: delete_account(session, owner.id))
    # What calls in flight stored until then. Such a call that fails by it removes its own picture.
    late = _hinting(lambda: asyncio.run(erase_stored_images(settings, owner.id)), _late_hint(owner))
    counts = ended + stored + Counter(images=late, deliveryAttempts=stored["deliveries"])
    fields = {name: counts[name] for name in _OF_OWNER}
    lines = [f"{owner.email} is removed", *(f"{name}\t{count}" for name, count in fields.items())]
    named = {"id": str(owner.id), "email": owner.email}
    answer(named | fields, as_json, "\n".join(lines))


def _whole_plate(text: str) -> str:
    try:
        return whole_plate(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"the plate {error}", code=error.code) from error


def _check_operator(session: Session, owner: OwnerAccount) -> None:
    """Refuse to remove the first account where the next one would operate the installation."""
    oldest = oldest_accounts(session)
    is_named = bool(load_command_settings(OperatorSettings).operator_accounts)
    if not is_named and len(oldest) > 1 and oldest[0] == owner.id:
        raise InvalidInputError(
            f"{owner.email} operates the installation, and the next account would after it: set"
            " PLATESTREAM_OPERATOR_ACCOUNTS first, for the API and for this command"
        )


def _confirm(owner: OwnerAccount) -> None:
    typed = typer.prompt(f"Type {owner.email} to remove it and all its data for good", err=True)
    if normalised_email(typed) != owner.email:
        raise InvalidInputError("nothing was removed: that is not the same address")


def _hinting(work: Callable[[], _T], hint: str) -> _T:
    """Do it; where a server is away, say so and ``hint``, and end."""

    def hinted() -> _T:
        try:
            return work()
        except TransientError as error:
            fail(f"{error}; {hint}", error)

    return exit_on_service_error(hinted)


def _late_hint(owner: OwnerAccount) -> str:
    # It cannot be repeated: the account is gone.
    return (
        f"{owner.email} is removed, but images stored in its last moments may be left in S3 below"
        f" {RECOGNITION_FOLDER}{owner.id}/ and {SNAPSHOT_FOLDER}{owner.id}/"
    )


def _plate_text(counts: Mapping[str, int]) -> str:
    lines = [
        f"erased: {counts['recognitions']} recognitions, {counts['images']} images, the plate of"
        f" {counts['alertTriggers']} fired alerts, the content of {counts['deliveries']}"
        f" deliveries, {counts['corrections']} corrections, {counts['outbox']} records of the"
        " outbox"
    ]
    if counts["misread"]:
        lines.append(f"among them {counts['misread']} that were read otherwise and corrected to it")
    if counts["alertsNamingIt"]:
        lines.append(
            f"{counts['alertsNamingIt']} alerts have the plate in their list: their owner can"
            " change them"
        )
    return "\n".join(lines)
