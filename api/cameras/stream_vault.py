"""Checks, encrypts and masks stream URLs, and derives camera identifiers from stream URLs."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from api.cameras.repository import CameraValues
from api.cameras.schemas import CameraCreate, CameraUpdate, zones_of
from api.errors import invalid_field
from common.errors import InvalidInputError
from common.secrets import SecretBox
from common.urls.files import video_file
from common.urls.streams import (
    MASK,
    StreamScheme,
    StreamUrlRules,
    mask_password,
    parse_stream_url,
    restore_password,
    stream_identifier,
)

FIELD = "rtspUrl"
_IDENTIFIER_DIGITS = 20

_PLAIN = {
    "name": "name",
    "location": "location",
    "enabled": "enabled",
    "sample_fps": "sample_fps",
    "min_plate_width": "min_plate_width_px",
    "timezone": "timezone",
}


@dataclass(frozen=True)
class StoredStream:
    """A stored stream URL: encrypted in full, and masked for display."""

    encrypted: str
    shown: str


class StreamVault:
    """Checks stream URLs against the installation's rules, and encrypts valid URLs."""

    def __init__(self, rules: StreamUrlRules, box: SecretBox) -> None:
        self._rules = rules
        self._box = box

    def store(self, text: str) -> StoredStream:
        """Check a URL and return its stored form.

        Raises:
            ApiError: 400, ``rtspUrl`` is invalid. The message never contains the URL.
        """
        if MASK in text:
            raise invalid_field(
                FIELD,
                "contains ***, which represents a stored password, but no password is stored for "
                "this URL; send the full URL",
            )
        return self._stored(text)

    def replace(self, stored: StoredStream, text: str) -> StoredStream:
        """Return the stored form after an update to ``text``, or ``stored`` if nothing changes.

        :func:`restore_password` replaces masked passwords in ``text`` with the stored passwords.

        Raises:
            ApiError: 400, ``rtspUrl`` is invalid.
        """
        before = self._box.decrypt(stored.encrypted)
        with _faults_as_errors():
            after = restore_password(text, before)
        return stored if after == before else self._stored(after)

    def address(self, text: str, stored: StoredStream | None) -> str:
        """Check a URL, and return it with masked passwords replaced by the passwords in ``stored``.

        Raises:
            ApiError: 400, ``rtspUrl`` is invalid.
        """
        stream = self.store(text) if stored is None else self.replace(stored, text)
        return self._box.decrypt(stream.encrypted)

    def derived_identifier(self, stream: StoredStream) -> str:
        """Derive an identifier from a stream URL. The same stream always gets the same identifier.

        The identifier is a hash, because URLs can be long and should not appear in logs.
        """
        with _faults_as_errors():
            url = parse_stream_url(self._box.decrypt(stream.encrypted), self._rules)
        identifier = stream_identifier(url)
        return "stream-" + hashlib.sha256(identifier.encode()).hexdigest()[:_IDENTIFIER_DIGITS]

    def _stored(self, text: str) -> StoredStream:
        with _faults_as_errors():
            url = parse_stream_url(text, self._rules)
            if url.scheme is StreamScheme.FILE:
                video_file(url.path, self._rules.files_folder)
        return StoredStream(self._box.encrypt(text), mask_password(text))


@contextmanager
def _faults_as_errors() -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise invalid_field(FIELD, str(error)) from error


def new_values(body: CameraCreate, vault: StreamVault) -> CameraValues:
    """Return the values of a new camera.

    Raises:
        ApiError: 400, ``rtspUrl`` is invalid.
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
    """Return ``current`` with the fields that were sent. Without changes, return an equal value.

    Raises:
        ApiError: 400, ``rtspUrl`` is invalid.
    """
    sent = body.model_fields_set
    plain: dict[str, Any] = {
        column: getattr(body, field) for field, column in _PLAIN.items() if field in sent
    }
    if "zones" in sent:
        plain["zones"] = zones_of(body.zones)
    return _with_identity(replace(current, **plain), body, vault)


def _with_identity(values: CameraValues, body: CameraUpdate, vault: StreamVault) -> CameraValues:
    """Return ``values`` with the new URL, and with the identifier that was sent or is derived."""
    sent = body.model_fields_set
    stream = StoredStream(values.stream_url_encrypted, values.stream_url_shown)
    if "rtsp_url" in sent:
        stream = vault.replace(stream, body.rtsp_url)
    # A derived identifier that is sent back unchanged stays derived, and changes with the URL.
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
