"""Erasures in a file, so that a restore of all servers does not bring back what was erased."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from analytics_sql.erasure import NotedErasure
from common.errors import InvalidInputError

_MODE: Final = 0o600


class _Noted(msgspec.Struct, frozen=True, rename="camel"):
    """An erasure; without ``plate_hash`` the whole account. ``before_ms`` is Unix ms, UTC."""

    owner_id: UUID
    before_ms: int
    plate_hash: str | None = None


class _File(msgspec.Struct, frozen=True):
    erasures: list[_Noted]


def read_noted(path: Path) -> list[NotedErasure]:
    """Return the erasures of a file that :func:`add_noted` wrote.

    Raises:
        InvalidInputError: the file cannot be read.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File).erasures
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}", code="unreadable") from error
    return [NotedErasure(each.owner_id, each.plate_hash or "", each.before_ms) for each in found]


def add_noted(path: Path, noted: Sequence[NotedErasure]) -> int:
    """Add erasures to a file that only its owner can read, and return how many are in it.

    The file is replaced as a whole. Erasures that are already in it stay: the databases forget
    theirs after 30 days.

    Raises:
        InvalidInputError: the file cannot be read or written.
    """
    latest: dict[tuple[UUID, str], int] = {}
    for each in [*(read_noted(path) if path.exists() else ()), *noted]:
        key = each.user_id, each.plate_hash
        latest[key] = max(each.before_ms, latest.get(key, 0))
    lines = [_Noted(user, before_ms, text or None) for (user, text), before_ms in latest.items()]
    try:
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.touch(_MODE)
        fresh.write_bytes(msgspec.json.encode(_File(lines)))
        fresh.replace(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error}", code="unwritable") from error
    return len(lines)
