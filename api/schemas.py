"""Defines the base classes of all JSON bodies, and types of their fields."""

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeVar
from zoneinfo import available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from api.security.credentials import (
    MAX_PASSWORD_CHARACTERS,
    MIN_PASSWORD_CHARACTERS,
    password_fault,
)
from api.validation.fields import field_check, validation_rules
from common.timestamps import iso_utc
from common.urls.outbound import MAX_OUTBOUND_URL_LENGTH, parse_outbound_url

_T = TypeVar("_T")

MAX_NAMES = 200
"""Maximum number of fields of a JSON object. Valid objects have fewer than a quarter as many."""

# Control characters (PostgreSQL accepts no NUL), and halves of surrogate pairs, which UTF-8 cannot
# encode. Checking the characters of 1 MB one by one would block the event loop for 0.3 s.
_UNCLEAN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_BREAKS = str.maketrans("", "", "\t\n\r")


def few_names(value: Any) -> Any:
    """Reject an object with far too many fields, so that the response does not list each field."""
    if isinstance(value, dict) and len(value) > MAX_NAMES:
        raise ValueError(f"must have at most {MAX_NAMES} fields")
    return value


class RequestModel(BaseModel):
    """Base class of request bodies. Each unknown field is rejected with an error that names it.

    Read-only fields (``shown_only``, named as in JSON) are ignored, so that clients can change a
    response and send it back.
    """

    shown_only: ClassVar[frozenset[str]] = frozenset()

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, validate_by_name=False
    )

    @model_validator(mode="before")
    @classmethod
    def _settable_names(cls, value: Any) -> Any:
        value = few_names(value)
        if isinstance(value, dict) and not cls.shown_only.isdisjoint(value):
            return {name: one for name, one in value.items() if name not in cls.shown_only}
        return value


class QueryModel(BaseModel):
    """Base class of query parameters."""

    model_config = ConfigDict(frozen=True)


class ResponseModel(BaseModel):
    """Base class of response bodies."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        frozen=True,
        from_attributes=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


def _clean(text: str) -> str:
    if _UNCLEAN.search(text):
        raise ValueError("must not contain control characters")
    return text


def _clean_lines(text: str) -> str:
    _clean(text.translate(_LINE_BREAKS))
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text.strip()


def without_repeats(values: list[_T]) -> list[_T]:
    """Return the values without duplicates, in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def json_number(value: Any) -> Any:
    """Reject a value that is not a JSON number.

    This validator must follow ``Field``; otherwise, the OpenAPI schema lacks the bounds.
    """
    # Pydantic alone would accept "5" and true as numbers.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


def _boolean(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _fit_password(password: str) -> str:
    if fault := password_fault(password):
        raise ValueError(fault)
    return password


def _known_timezone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("must be an IANA time zone, for example Europe/Lisbon")
    return name


def _outbound_address(text: str) -> str:
    return parse_outbound_url(text, validation_rules().outbound).text


def _short(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def is_absent(value: object) -> bool:
    """Return whether an optional field has no value and is left out of the response."""
    return value is None


CleanText = Annotated[str, AfterValidator(_clean)]
"""Text without control characters."""

FreeText = Annotated[str, AfterValidator(_clean_lines)]
"""Text that can contain line breaks and tabs, but no other control characters."""

NameText = Annotated[str, AfterValidator(_clean), AfterValidator(_not_blank)]
"""A name, which must not be blank. Surrounding spaces are removed."""

NewPassword = Annotated[
    str,
    Field(min_length=MIN_PASSWORD_CHARACTERS, max_length=MAX_PASSWORD_CHARACTERS),
    AfterValidator(_fit_password),
]
"""A new password. The most common passwords are rejected."""

TimeZone = Annotated[str, AfterValidator(_known_timezone), Field(examples=["Europe/Lisbon"])]
"""The IANA name of a time zone."""

OutboundAddress = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_OUTBOUND_URL_LENGTH,
        description="Public `http` or `https` URL.",
        examples=["https://receiver.example.com/plates"],
    ),
    AfterValidator(field_check(_outbound_address)),
]
"""A URL to which the service sends requests."""

ShortNumber = Annotated[
    float,
    PlainSerializer(_short, return_type=int | float, when_used="json"),
    WithJsonSchema({"type": "number"}, mode="serialization"),
]
"""A number that is usually an integer, written as 5, not 5.0, for clients that parse integers."""

JsonBoolean = Annotated[bool, BeforeValidator(_boolean)]
Timestamp = Annotated[
    datetime,
    PlainSerializer(iso_utc, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
"""A time in UTC, in ISO 8601 format with milliseconds."""
