"""Derives IDs from their cause, so that a replay gives the same IDs."""

import hashlib
from uuid import UUID

NIL_UUID = UUID(int=0)
"""Camera ID of recognitions from image calls."""

MAX_PASS_MS = 600_000
"""Upper bound of a track's maximum duration."""

_MAX_UNIX_MS = (1 << 48) - 1


def derived_uuid(unix_ms: int, *parts: str) -> UUID:
    """Return a UUIDv8: 48 bits of Unix time in milliseconds, then a hash of ``parts``.

    The same arguments give the same ID on every machine. IDs sort by time as text and as bytes (but
    not in ClickHouse, which compares the second half first).

    Raises:
        ValueError: ``unix_ms`` is negative or does not fit into 48 bits.

    **Source:** RFC 9562, section 5.8 (UUID version 8).
    """
    if not 0 <= unix_ms <= _MAX_UNIX_MS:
        raise ValueError(f"unix_ms out of range: {unix_ms}")
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    tail = int.from_bytes(digest[:10], "big")
    value = unix_ms << 80 | tail
    value = value & ~(0xF << 76) | 0x8 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)


def uuid_unix_ms(identifier: UUID) -> int:
    """Return the Unix milliseconds in the first 48 bits of a time-ordered UUID (v7 or v8)."""
    return identifier.int >> 80


def recognition_id(first_seen_ms: int, camera_id: UUID, track: str) -> UUID:
    """Return the ID of a track's recognition, which is known from the first frame on.

    ``first_seen_ms`` is the capture time (Unix ms, UTC) of that frame, and ``track`` is the name of
    the track within the camera (see ``streams.recognition``).
    """
    return derived_uuid(first_seen_ms, "recognition", str(camera_id), track)


def may_be_captured(recognition: UUID, captured_ms: int) -> bool:
    """Return whether a recognition with this ID can have this capture time (Unix ms, UTC).

    The frame whose reading won belongs to the pass, which is not longer than :data:`MAX_PASS_MS`.
    """
    return abs(captured_ms - uuid_unix_ms(recognition)) <= MAX_PASS_MS


def missed_pass_id(first_seen_ms: int, camera_id: UUID, track: str) -> UUID:
    """Return the ID of the outcome of a track without a recognition.

    ``first_seen_ms`` is the capture time (Unix ms, UTC) of the track's first frame.
    """
    return derived_uuid(first_seen_ms, "missed pass", str(camera_id), track)


def image_call_id(at_ms: int, call_id: UUID) -> UUID:
    """Return the ID of the outcome of an image call that was answered at ``at_ms`` (Unix ms)."""
    return derived_uuid(at_ms, "image call", str(call_id))


def trigger_id(captured_ms: int, alert_id: UUID, recognition_id: UUID) -> UUID:
    """Return the ID of an alert's trigger by a recognition captured at ``captured_ms``."""
    return derived_uuid(captured_ms, "trigger", str(alert_id), str(recognition_id))


def event_id(unix_ms: int, event: str, cause: str) -> UUID:
    """Return the ID of an event for clients. ``cause`` identifies the cause."""
    return derived_uuid(unix_ms, event, cause)


def delivery_id(event: UUID, endpoint: str) -> UUID:
    """Return the ID of the delivery of an event to an endpoint."""
    return derived_uuid(uuid_unix_ms(event), "delivery", str(event), endpoint)
