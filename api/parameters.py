"""How numbers and ids are written in paths and queries: as JSON and RFC 9562 write them.

Python reads more as a number or a UUID than anybody means by one: ``1_0``, `` 5``, ``+5``, ``٣``.
"""

import re
from typing import Any
from uuid import UUID

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def whole_number(value: Any) -> Any:
    """Refuse a text that is no whole number. As a validator it stands after ``Field``."""
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("must be a whole number, for example 50")
    return value


def number(value: Any) -> Any:
    """Refuse a text that is no number. As a validator it stands after ``Field``."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError("must be a number, for example 0.5")
    return value


def uuid_text(value: Any) -> Any:
    """Refuse what is no UUID of five groups of hexadecimal digits."""
    if not isinstance(value, UUID) and not (isinstance(value, str) and _UUID.fullmatch(value)):
        raise ValueError(f"must be a UUID, for example {UUID(int=0)}")
    return value
