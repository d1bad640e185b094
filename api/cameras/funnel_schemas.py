"""JSON of a camera's funnel, and its query parameters."""

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from api.cameras.funnel import FunnelHour
from api.schemas import ResponseModel, Timestamp
from api.validation.fields import QueryInstant, from_unix_ms


class FunnelQuery(BaseModel):
    """The query parameters of a funnel."""

    model_config = ConfigDict(frozen=True)

    from_ms: QueryInstant | None = Field(
        default=None, alias="from", description="The hour of this moment is the first."
    )
    to_ms: QueryInstant | None = Field(
        default=None, alias="to", description="Before this moment (exclusive)."
    )


class FunnelHourBody(ResponseModel):
    """An hour of a camera."""

    start: Timestamp = Field(description="When the hour begins; UTC.")
    counts: dict[str, int] = Field(
        description="What was counted in it, by name.",
        examples=[{"read": 310, "found": 44, "reported": 11}],
    )
    usual: int | None = Field(
        ge=0,
        description="Vehicles it reports in this hour of the week; null: too few to say so.",
        examples=[26],
    )


class CameraFunnel(ResponseModel):
    """How far a camera's frames and vehicles came, oldest hour first."""

    hours: list[FunnelHourBody] = Field(description="Hours that touch the span.")


def funnel_body(hours: tuple[FunnelHour, ...]) -> CameraFunnel:
    """Return the JSON form of a funnel."""
    return CameraFunnel(
        hours=[
            FunnelHourBody(
                start=from_unix_ms(hour.start_ms),
                counts=msgspec.structs.asdict(hour.counts),
                usual=hour.usual,
            )
            for hour in hours
        ]
    )
