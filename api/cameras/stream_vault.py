"""Checks, encrypts and masks stream URLs, and derives camera identifiers from stream URLs."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlsplit

from api.cameras.repository import CameraValues
from api.cameras.schemas import CameraCreate, CameraTest, CameraUpdate, zones_of
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
_MAX_LOGIN_CHARACTERS = 127
"""FFmpeg cuts longer user names and passwords (with the colon, percent-encoded) in RTSP URLs."""
_TWICE = "contains a user name or password; remove them, or omit username and password"

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

    def store(self, body: CameraCreate | CameraTest) -> StoredStream:
        """Check the URL of a new camera and return its stored form.

        Raises:
            ApiError: 400, a field is invalid. The message never contains the URL.
        """
        text = _with_login(body.rtsp_url, body)
        if MASK in text:
            raise invalid_field(
                FIELD,
                "contains ***, which represents a stored password, but no password is stored for "
                "this URL; send the full URL",
            )
        return self._stored(text)

    def replace(self, stored: StoredStream, body: CameraUpdate | CameraTest) -> StoredStream:
        """Return the stored form after an update, or ``stored`` if nothing changes.

        :func:`restore_password` replaces masked passwords in the URL with the stored passwords.

        Raises:
            ApiError: 400, a field is invalid.
        """
        if not (body.rtsp_url or body.username or body.password):
            return stored
        before = self._box.decrypt(stored.encrypted)
        after = _with_login(body.rtsp_url or before, body)
        with _faults_as_errors():
            after = restore_password(after, before)
        return stored if after == before else self._stored(after)

    def address(self, body: CameraTest, stored: StoredStream | None) -> str:
        """Check a URL, and return it with masked passwords replaced by the passwords in ``stored``.

        Raises:
            ApiError: 400, a field is invalid.
        """
        stream = self.store(body) if stored is None else self.replace(stored, body)
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


def _with_login(url: str, body: CameraUpdate | CameraTest) -> str:
    """Return ``url`` with the user name and password of ``body``, percent-encoded.

    They replace stored and masked ones, but no others that were sent in the URL.
    """
    if not (body.username or body.password):
        return url
    parts = urlsplit(url)
    info, _, host = parts.netloc.rpartition("@")
    user, _, password = info.partition(":")
    if body.rtsp_url and password != MASK and (password or (user and body.username)):
        raise invalid_field(FIELD, _TWICE)
    if ":" in body.username:
        raise invalid_field("username", "must not contain a colon")
    if not (user or body.username):
        raise invalid_field("username", "is required, because the stream URL has no user name")
    if password and not body.password:
        raise invalid_field("password", "is required, because the stream URL has a password")
    login = f"{quote(body.username, safe='') or user}:{quote(body.password, safe='')}"
    if len(login) > _MAX_LOGIN_CHARACTERS:
        raise invalid_field("password", "is too long together with the user name")
    return parts._replace(netloc=f"{login}@{host}").geturl()


def new_values(body: CameraCreate, vault: StreamVault) -> CameraValues:
    """Return the values of a new camera.

    Raises:
        ApiError: 400, a field is invalid.
    """
    stream = vault.store(body)
    return CameraValues(
        identifier=body.identifier or vault.derived_identifier(stream),
        identifier_derived=body.identifier is None,
        stream_url_encrypted=stream.encrypted,
        stream_url_shown=stream.shown,
        zones=zones_of(body.zones),
        **{column: getattr(body, field) for field, column in _PLAIN.items()},
    )


def edited_values(current: CameraValues, body: CameraUpdate, vault: StreamVault) -> CameraValues:
    """Return ``current`` with the fields that were sent. Without changes, return an equal value.

    Raises:
        ApiError: 400, a field is invalid.
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
    stream = vault.replace(stream, body)
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
