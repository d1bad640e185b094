"""Encodes the records on the topics as JSON. Records are frozen and have a version.

A reader only accepts the version it was built for. Any other version raises
:class:`~common.errors.UnknownRecordVersionError`, and a stage sends the message to its dead-letter
topic. New optional fields do not change the version, because readers ignore unknown fields.
"""

from typing import ClassVar, TypeVar

import msgspec

from common.errors import InvalidInputError, UnknownRecordVersionError


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of records on topics. Each subclass sets ``VERSION``."""

    VERSION: ClassVar[int] = 1
    version: int = 1


class DeadLetter(Record, frozen=True, kw_only=True):
    """Record on the dead-letter topic: a message that a stage can never process, and the reason."""

    stage: str
    topic: str
    partition: int
    offset: int
    code: str
    reason: str
    at_ms: int
    key: bytes | None = None
    value: bytes | None = None


class _Versioned(msgspec.Struct):
    version: int


_R = TypeVar("_R", bound=Record)
_encoder = msgspec.json.Encoder()
_version_decoder = msgspec.json.Decoder(_Versioned)
_decoders: dict[type[Record], msgspec.json.Decoder[Record]] = {}


def encode(record: Record) -> bytes:
    """Return a record as UTF-8 JSON, the form on topics."""
    return _encoder.encode(record)


def decode(record_type: type[_R], data: bytes) -> _R:
    """Return the record in ``data``.

    Raises:
        UnknownRecordVersionError: the version is missing, or unknown to this release.
        InvalidInputError: the data is not JSON, or not a valid record of this type.
    """
    _check_version(record_type, data)
    decoder = _decoders.setdefault(record_type, msgspec.json.Decoder(record_type))
    try:
        record = decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise InvalidInputError(
            f"not a valid {record_type.__name__}: {error}", code="unreadable_record"
        ) from error
    assert isinstance(record, record_type)
    return record


def _check_version(record_type: type[Record], data: bytes) -> None:
    try:
        version = _version_decoder.decode(data).version
    except msgspec.ValidationError as error:
        raise UnknownRecordVersionError(
            f"{record_type.__name__} has no valid version: {error}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"invalid JSON: {error}", code="unreadable_record") from error
    if version != record_type.VERSION:
        raise UnknownRecordVersionError(
            f"{record_type.__name__} has version {version}; this release reads version "
            f"{record_type.VERSION}"
        )
