"""A camera's stream address on its way in: checked, encrypted, masked, turned to an identifier."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from api.cameras.repository import CameraValues
from api.cameras.schemas import CameraCreate, CameraUpdate, zones_of
from api.errors import ApiError, invalid_field
from common.errors import InvalidInputError
from common.secrets import SecretBox
from common.urls.files import video_file
from common.urls.streams import (
    MASK,
    StreamScheme,
    StreamUrl,
    StreamUrlRules,
    mask_password,
    parse_stream_url,
    restore_password,
    stream_identifier,
)

FIELD = "rtspUrl"
MOTION_FIELD = "motionUrl"
_IDENTIFIER_DIGITS = 20


@dataclass(frozen=True)
class StoredStream:
    """A stream address as it is kept: encrypted whole, and masked for showing."""

    encrypted: str
    shown: str


class StreamVault:
    """Checks stream addresses by the operator's rules and encrypts them."""

    def __init__(self, rules: StreamUrlRules, box: SecretBox) -> None:
        self._rules = rules
        self._box = box

    def store(self, text: str, field: str = FIELD) -> StoredStream:
        """Check an address and return it as it is kept.

        Raises:
            ApiError: 400 on ``field``; the sentence never repeats the address.
        """
        if MASK in text:
            raise invalid_field(
                field,
                "*** stands for a stored password, and none is stored for this address: send it.",
            )
        return self._stored(text, field)

    def replace(self, kept: StoredStream, text: str, field: str = FIELD) -> StoredStream:
        """Return what is kept after an update to ``text``: ``kept`` itself where nothing changed.

        Passwords that ``text`` masks are those of ``kept``, as :func:`restore_password` says.

        Raises:
            ApiError: 400 on ``field``.
        """
        before = self._box.decrypt(kept.encrypted)
        try:
            after = restore_password(text, before)
        except InvalidInputError as error:
            raise _refused(error, field) from error
        return kept if after == before else self._stored(after, field)

    def motion(
        self, kept: StoredStream | None, text: str | None, main: StoredStream
    ) -> StoredStream | None:
        """Return what is kept of a motion stream's address; None stands for none.

        Raises:
            ApiError: 400 on ``motionUrl``, also where it is the camera's own stream, ``main``, or
                one of the two is not live.
        """
        if text is None:
            return None
        field = MOTION_FIELD
        stream = self.store(text, field) if kept is None else self.replace(kept, text, field)
        if not self._parsed(stream, field).is_live:
            raise invalid_field(field, "must be live: RTSP, or HTTP other than a playlist.")
        self.require_fit(stream, main)
        return stream

    def require_fit(self, motion: StoredStream, main: StoredStream) -> None:
        """Refuse a motion stream that would be decoded for nothing: it is the camera's own, or that
        is one which cannot rest.

        Raises:
            ApiError: 400 on ``motionUrl``.
        """
        url = self._parsed(main, FIELD)
        if stream_identifier(self._parsed(motion, MOTION_FIELD)) == stream_identifier(url):
            raise invalid_field(
                MOTION_FIELD, "is the camera's own stream: give its second, smaller one."
            )
        if not url.is_live:
            raise invalid_field(
                MOTION_FIELD,
                "serves a live camera only: all of a playlist or a file (rtspUrl) is decoded.",
            )

    def address(self, text: str, kept: StoredStream | None) -> str:
        """Return an address in the clear, checked; passwords that it masks are those of ``kept``.

        Raises:
            ApiError: 400 on ``rtspUrl``.
        """
        stream = self.store(text) if kept is None else self.replace(kept, text)
        return self._box.decrypt(stream.encrypted)

    def derived_identifier(self, stream: StoredStream) -> str:
        """Return the identifier of a camera that was given none: one for each stream.

        A hash, since an address may be long and is nobody's business in a log.
        """
        identifier = stream_identifier(self._parsed(stream, FIELD))
        return "stream-" + hashlib.sha256(identifier.encode()).hexdigest()[:_IDENTIFIER_DIGITS]

    def _stored(self, text: str, field: str) -> StoredStream:
        try:
            url = parse_stream_url(text, self._rules)
            if url.scheme is StreamScheme.FILE:
                video_file(url.path, self._rules.files_folder)
        except InvalidInputError as error:
            raise _refused(error, field) from error
        return StoredStream(self._box.encrypt(text), mask_password(text))

    def _parsed(self, stream: StoredStream, field: str) -> StreamUrl:
        try:
            return parse_stream_url(self._box.decrypt(stream.encrypted), self._rules)
        except InvalidInputError as error:
            raise _refused(error, field) from error


def _refused(error: InvalidInputError, field: str) -> ApiError:
    return invalid_field(field, str(error))


def new_values(body: CameraCreate, vault: StreamVault) -> CameraValues:
    """Return the values of a new camera.

    Raises:
        ApiError: 400 on ``rtspUrl`` or ``motionUrl``.
    """
    stream = vault.store(body.rtsp_url)
    motion = vault.motion(None, body.motion_url, stream)
    return CameraValues(
        name=body.name,
        location=body.location,
        enabled=body.enabled,
        identifier=body.identifier or vault.derived_identifier(stream),
        identifier_derived=body.identifier is None,
        stream_url_encrypted=stream.encrypted,
        stream_url_shown=stream.shown,
        motion_url_encrypted=None if motion is None else motion.encrypted,
        motion_url_shown=None if motion is None else motion.shown,
        sample_fps=body.sample_fps,
        min_plate_width_px=body.min_plate_width,
        zones=zones_of(body.zones),
        timezone=body.timezone,
    )


def edited_values(current: CameraValues, body: CameraUpdate, vault: StreamVault) -> CameraValues:
    """Return ``current`` with the fields that were sent; equal to it where nothing changes.

    Raises:
        ApiError: 400 on ``rtspUrl`` or ``motionUrl``.
    """
    sent = body.model_fields_set
    plain: dict[str, Any] = {
        column: getattr(body, field) for field, column in _PLAIN.items() if field in sent
    }
    if "zones" in sent:
        plain["zones"] = zones_of(body.zones)
    return _with_motion(_with_identity(replace(current, **plain), body, vault), body, vault)


def _with_motion(values: CameraValues, body: CameraUpdate, vault: StreamVault) -> CameraValues:
    """Apply the new address of the motion stream, or compare the old one with the new main one."""
    main = StoredStream(values.stream_url_encrypted, values.stream_url_shown)
    kept = None
    if values.motion_url_encrypted is not None and values.motion_url_shown is not None:
        kept = StoredStream(values.motion_url_encrypted, values.motion_url_shown)
    if "motion_url" in body.model_fields_set:
        kept = vault.motion(kept, body.motion_url, main)
    elif kept is not None and "rtsp_url" in body.model_fields_set:
        vault.require_fit(kept, main)
    return replace(
        values,
        motion_url_encrypted=None if kept is None else kept.encrypted,
        motion_url_shown=None if kept is None else kept.shown,
    )


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
