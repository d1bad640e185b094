"""From what a client sent to the values of a camera."""

from dataclasses import replace
from typing import Any

from api.cameras.models import CameraValues
from api.cameras.schemas import CameraCreate, CameraUpdate, zones_of
from api.cameras.streams import StoredStream, StreamVault


def new_values(body: CameraCreate, vault: StreamVault) -> CameraValues:
    """Return the values of a new camera.

    Raises:
        ApiError: 400 on ``rtspUrl``.
    """
    stream = vault.store(body.rtsp_url)
    return CameraValues(
        name=body.name,
        location=body.location,
        enabled=body.enabled,
        identifier=body.identifier or vault.derived_identifier(stream),
        identifier_derived=body.identifier is None,
        stream_url_encrypted=stream.encrypted,
        stream_url_shown=stream.shown,
        sample_fps=body.sample_fps,
        min_plate_width_px=body.min_plate_width,
        zones=zones_of(body.zones),
        timezone=body.timezone,
    )


def edited_values(current: CameraValues, body: CameraUpdate, vault: StreamVault) -> CameraValues:
    """Return ``current`` with the fields that were sent; equal to it where nothing changes.

    Raises:
        ApiError: 400 on ``rtspUrl``.
    """
    sent = body.model_fields_set
    plain: dict[str, Any] = {
        column: getattr(body, field) for field, column in _PLAIN.items() if field in sent
    }
    if "zones" in sent:
        plain["zones"] = zones_of(body.zones)
    return _with_identity(replace(current, **plain), body, vault)


def _with_identity(values: CameraValues, body: CameraUpdate, vault: StreamVault) -> CameraValues:
    """Apply the new address and identifier; a derived identifier follows the address."""
    sent = body.model_fields_set
    stream = StoredStream(values.stream_url_encrypted, values.stream_url_shown)
    if "rtsp_url" in sent:
        stream = vault.replace(stream, body.rtsp_url)
    # One that is sent back as it was read is no wish to keep it when the address changes.
    is_chosen = "identifier" in sent and body.identifier != values.identifier
    derived = body.identifier is None if is_chosen else values.identifier_derived
    identifier = body.identifier or values.identifier
    return replace(
        values,
        stream_url_encrypted=stream.encrypted,
        stream_url_shown=stream.shown,
        identifier=vault.derived_identifier(stream) if derived else identifier,
        identifier_derived=derived,
    )


_PLAIN = {
    "name": "name",
    "location": "location",
    "enabled": "enabled",
    "sample_fps": "sample_fps",
    "min_plate_width": "min_plate_width_px",
    "timezone": "timezone",
}
