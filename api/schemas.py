"""What all JSON bodies have in common: camelCase names, no unknown fields, clean text."""

import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel


class RequestModel(BaseModel):
    """A JSON body: unknown fields are refused by name."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, validate_by_name=False
    )


class ResponseModel(BaseModel):
    """A JSON answer."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


def _clean(text: str) -> str:
    # Cc: control characters (PostgreSQL takes no NUL); Cs: halves of a surrogate pair, which no
    # UTF-8 can hold.
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ValueError("may not hold control characters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("may not be blank")
    return text.strip()


def json_number(value: Any) -> Any:
    """Refuse what JSON does not call a number."""
    # Pydantic would read "5" and true as numbers; JSON has types of its own.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


def _boolean(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def is_absent(value: object) -> bool:
    """Tell whether an optional field has nothing to show and is left out of the answer."""
    return value is None


def iso_utc(moment: datetime) -> str:
    """Return a moment as ISO 8601 in UTC with milliseconds and ``Z``."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


CleanText = Annotated[str, AfterValidator(_clean)]
"""Text without control characters."""

NameText = Annotated[str, AfterValidator(_clean), AfterValidator(_not_blank)]
"""Text that names something: not blank; spaces around it are dropped."""

JsonBoolean = Annotated[bool, BeforeValidator(_boolean)]
Timestamp = Annotated[datetime, PlainSerializer(iso_utc, return_type=str, when_used="json")]
"""A moment, as ISO 8601 in UTC with milliseconds."""
