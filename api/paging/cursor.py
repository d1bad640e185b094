"""Signs cursors (``nextKey``), so that a position in a list is only valid for the same list."""

import base64
import binascii
import hashlib
import hmac
import struct
from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol
from uuid import UUID

from analytics_sql.recognitions import RecognitionCursor
from api.errors import ApiError, ErrorCode, FieldFault

_VERSION = 1
_POSITION = struct.Struct(">Bq16s")
_SEAL_BYTES = 16


class Filter(Protocol):
    """The filter of a list request, which must be a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


class CursorSealer:
    """Signs and verifies cursors with the installation's secret keys."""

    def __init__(self, keys: str) -> None:
        """``keys`` is the comma-separated setting. The first key signs; all keys verify."""
        # A separate key is derived from the secret for each purpose.
        self._keys: Sequence[bytes] = [
            hmac.digest(key.strip().encode(), b"platestream list cursor", "sha256")
            for key in keys.split(",")
        ]

    def seal(self, wanted: Filter, position: RecognitionCursor) -> str:
        """Return the cursor that continues after ``position`` in the list of ``wanted``."""
        packed = _POSITION.pack(_VERSION, position.captured_ms, position.id.bytes)
        return _text(packed + _seal(self._keys[0], wanted, packed))

    def position(self, wanted: Filter, last_key: str | None) -> RecognitionCursor | None:
        """Return the position in the parameter ``lastKey``, or None for the start of the list.

        Raises:
            ApiError: 400, the cursor is invalid or belongs to a different list.
        """
        position = None if last_key is None else self.open(wanted, last_key)
        if position is None and last_key is not None:
            fault = FieldFault("lastKey", "is not a valid cursor for this list and these filters")
            raise ApiError(ErrorCode.INVALID_CURSOR, fields=(fault,))
        return position

    def open(self, wanted: Filter, cursor: str) -> RecognitionCursor | None:
        """Return the position of a cursor, or None if it is invalid or belongs to another list."""
        data = _bytes(cursor)
        if data is None or len(data) != _POSITION.size + _SEAL_BYTES:
            return None
        position, given = data[: _POSITION.size], data[_POSITION.size :]
        seals = [_seal(key, wanted, position) for key in self._keys]
        # Several base64 texts decode to the same bytes. Only the canonical text is accepted.
        if not any(hmac.compare_digest(seal, given) for seal in seals) or _text(data) != cursor:
            return None
        version, captured_ms, identifier = _POSITION.unpack(position)
        if version != _VERSION:
            return None
        return RecognitionCursor(captured_ms, UUID(bytes=identifier))


def _seal(key: bytes, wanted: Filter, position: bytes) -> bytes:
    return hmac.digest(key, _fingerprint(wanted) + position, "sha256")[:_SEAL_BYTES]


def _fingerprint(wanted: Filter) -> bytes:
    values = [getattr(wanted, field.name) for field in fields(wanted)]
    return hashlib.sha256(repr(values).encode()).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
