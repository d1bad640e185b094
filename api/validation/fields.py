"""Validates values from clients: numbers, IDs, date-times, email addresses.

Numbers and UUIDs are checked more strictly than by Python, which parses ``1_0``, `` 5`` and ``٣``.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from pydantic import PlainValidator, WithJsonSchema

from api.settings import ApiSettings
from common.errors import InvalidInputError
from common.urls.camera_settings import stream_url_rules
from common.urls.outbound import OutboundRules
from common.urls.streams import StreamUrlRules

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def whole_number(value: Any) -> Any:
    """Reject text that is not an integer. This validator must follow ``Field``."""
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("must be an integer, for example 50")
    return value


def number(value: Any) -> Any:
    """Reject text that is not a number. This validator must follow ``Field``."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError("must be a number, for example 0.5")
    return value


def uuid_text(value: Any) -> Any:
    """Reject a value that is not a UUID of five groups of hexadecimal digits."""
    if not isinstance(value, UUID) and not (isinstance(value, str) and _UUID.fullmatch(value)):
        raise ValueError(f"must be a UUID, for example {UUID(int=0)}")
    return value


def field_check(check: Callable[[str], str | None]) -> Callable[[str], str]:
    """Return ``check`` as a validator that converts InvalidInputError to a fault of the field.

    If ``check`` returns None, the text is unchanged.
    """

    def checked(text: str) -> str:
        try:
            found = check(text)
        except InvalidInputError as error:
            raise ValueError(str(error)) from error
        return text if found is None else found

    return checked


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DATE_TIME = re.compile(r"\d{4}-?\d\d-?\d\d[Tt ]\d\d", re.ASCII)


def instant_ms(value: Any) -> int:
    """Return an ISO 8601 date-time (UTC if without offset) as Unix milliseconds, rounded up.

    Raises:
        ValueError: ``value`` is not an ISO 8601 date-time.
    """
    text = str(value)
    if not _DATE_TIME.match(text):
        raise ValueError("must be an ISO 8601 date-time, for example 2026-11-21T08:00:00Z")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ValueError(
            "must be an ISO 8601 date-time, for example 2026-11-21T08:00:00Z (encode + as %2B)"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return -((_EPOCH - moment) // _MILLISECOND)


def from_unix_ms(unix_ms: int) -> datetime:
    """Return the time (UTC) of Unix milliseconds.

    Raises:
        OverflowError: the time is not within the years 1 to 9999.
    """
    return _EPOCH + unix_ms * _MILLISECOND


def from_unix_ms_if_any(unix_ms: int | None) -> datetime | None:
    """Return the time (UTC) of Unix milliseconds, or None if ``unix_ms`` is None."""
    return None if unix_ms is None else from_unix_ms(unix_ms)


def to_unix_ms(moment: datetime) -> int:
    """Return a time as Unix milliseconds, rounded to the nearest millisecond."""
    return round((moment - _EPOCH) / _MILLISECOND)


def _instant(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a string with an ISO 8601 date-time")
    try:
        return from_unix_ms(instant_ms(value))
    except OverflowError as error:
        raise ValueError("must be a date in the years 1 to 9999") from error


QueryInstant = Annotated[
    int, PlainValidator(instant_ms), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A query parameter: an ISO 8601 date-time, converted to Unix ms."""

BodyInstant = Annotated[
    datetime, PlainValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A body field: an ISO 8601 date-time, converted to UTC."""


MAX_EMAIL_CHARACTERS = 254

_LOCAL_PART = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_MAX_LOCAL_CHARACTERS = 64


def check_email_address(text: str) -> str:
    """Return ``text`` if it is an email address to which the internet can deliver.

    Quoted local parts, address literals and non-ASCII letters are rejected: few servers accept
    such addresses, and an address must not be able to inject message headers.

    Raises:
        ValueError: ``text`` is not a valid address.

    **Source:** RFC 5321, sections 4.1.2 and 4.5.3.
    """
    local, _, domain = text.rpartition("@")
    labels = domain.split(".")
    is_address = (
        len(text) <= MAX_EMAIL_CHARACTERS
        and len(local) <= _MAX_LOCAL_CHARACTERS
        and _LOCAL_PART.match(local) is not None
        and len(labels) > 1
        and all(_LABEL.match(label) for label in labels)
        and not labels[-1].isdigit()
    )
    if not is_address:
        raise ValueError("is not a valid email address")
    return text


PLATES_PER_ALERT = 1000


@dataclass(frozen=True)
class ValidationRules:
    """The server administrator's rules for stream URLs and outbound URLs.

    FastAPI validates bodies without a context, so the route guard sets the rules in a context
    variable. One response then reports all faults of a body, including faults of URLs.
    """

    streams: StreamUrlRules = StreamUrlRules()
    outbound: OutboundRules = OutboundRules()


def operator_rules(settings: ApiSettings) -> ValidationRules:
    """Return the rules that the settings define."""
    return ValidationRules(
        streams=stream_url_rules(settings),
        outbound=OutboundRules(settings.webhook_allowed_networks),
    )


_STRICTEST = ValidationRules()
_RULES: ContextVar[ValidationRules] = ContextVar("validation_rules", default=_STRICTEST)


def validation_rules() -> ValidationRules:
    """Return the rules of the current request, or the strictest rules outside a request."""
    return _RULES.get()


@contextmanager
def validating_by(rules: ValidationRules) -> Iterator[None]:
    """Apply ``rules`` to bodies that are validated within the block."""
    token = _RULES.set(rules)
    try:
        yield
    finally:
        _RULES.reset(token)


def future(moment: datetime | None) -> datetime | None:
    """Return ``moment`` if it is in the future, otherwise None."""
    return moment if moment is not None and moment > datetime.now(UTC) else None
