"""``platestream owner limits``: the limits of one owner, shown and set."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.accounts.service import owner_by_email
from api.cli.shared import EmailOption, JsonOption, answer, in_database, load_command_settings
from api.outbox.outbox import enqueue_limits
from common.errors import InvalidInputError

if TYPE_CHECKING:
    from api.limits.owner_limits import OwnerLimit

_LARGEST = 1_000_000_000


def owner_limits(
    email: EmailOption,
    sizes: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=SIZE, a limit of this owner's own; may be repeated."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(help="NAME of a limit that shall be the installation's again."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show an owner's limits, and change them; the service goes by them within a few seconds."""
    # What the API's settings import takes longer than the other commands to run.
    from api.limits.owner_limits import installation_limits
    from api.settings import OwnerLimitSettings

    installation = installation_limits(load_command_settings(OwnerLimitSettings))

    def work(session: Session) -> dict[str, int]:
        owner = lock_owner(session, owner_by_email(session, email).id)
        kept = {name: size for name, size in owner.limits.items() if name not in _names(unset)}
        after = kept | _sizes(sizes)
        if after != owner.limits:
            owner.limits = after
            enqueue_limits(session, owner)
        return after

    own = in_database(work)
    lines = [
        f"{limit}\t{own.get(limit, size):,}\t{'own' if limit in own else 'installation'}"
        for limit, size in installation.items()
    ]
    shown = {limit.value: own.get(limit, size) for limit, size in installation.items()}
    answer({"limits": shown, "own": own}, as_json, "\n".join(lines))


def _names(texts: Sequence[str] | None) -> frozenset[str]:
    return frozenset(_limit(text).value for text in texts or ())


def _sizes(texts: Sequence[str] | None) -> dict[str, int]:
    return dict(_size(text) for text in texts or ())


def _size(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not size.isdecimal() or not 1 <= int(size) <= _LARGEST:
        raise InvalidInputError(f"{text}: the size is a whole number from 1 to {_LARGEST:,}")
    return _limit(name).value, int(size)


def _limit(name: str) -> "OwnerLimit":
    from api.limits.owner_limits import OwnerLimit

    try:
        return OwnerLimit(name)
    except ValueError:
        known = ", ".join(OwnerLimit)
        raise InvalidInputError(f"unknown limit {name}; known: {known}") from None
