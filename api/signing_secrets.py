"""Defines the fields of signing secrets, and the request body that rotates a secret."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from api.schemas import CleanText, RequestModel, json_number
from api.security.credentials import MAX_SECRET_CHARACTERS
from common.urls.streams import MASK

NOTHING_HIDDEN = f"must not be {MASK}, which represents a stored, hidden value"
_WEEK_HOURS = 168


def _not_hidden(value: str) -> str:
    if value == MASK:
        raise ValueError(NOTHING_HIDDEN)
    return value


Secret = Annotated[
    CleanText,
    Field(
        min_length=1,
        max_length=MAX_SECRET_CHARACTERS,
        description="Signing secret. Generated if omitted.",
        examples=["whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE="],
    ),
]

NewSecret = Annotated[Secret, AfterValidator(_not_hidden)]

OverlapHours = Annotated[float, Field(ge=0, le=_WEEK_HOURS), BeforeValidator(json_number)]


class RotateSecret(RequestModel):
    """Replaces the signing secret. The previous secret also signs for a limited time."""

    secret: NewSecret | None = Field(default=None, description="Signing secret; null: generated.")
    overlap_hours: OverlapHours = Field(
        default=24,
        description="Hours during which deliveries are also signed with the previous secret.",
        examples=[24],
    )
