"""JSON of an account's last thirty days."""

import datetime as dt

from pydantic import Field

from api.recognitions.schemas import RecognitionBody
from api.schemas import ResponseModel


class AnalyticsStats(ResponseModel):
    """Numbers at a glance."""

    # Spelt out: the rule for names would make it total30D.
    total30d: int = Field(
        alias="total30d",
        ge=0,
        description="Recognitions of the last 30 × 24 hours.",
        examples=[48211],
    )
    active_cameras: int = Field(ge=0, description="Cameras that are enabled.", examples=[12])
    active_api_keys: int = Field(
        ge=0, description="Keys that are enabled and have not expired.", examples=[3]
    )
    success_rate: float = Field(
        ge=0,
        le=100,
        description="Per cent of plate passes and image calls that ended in an accepted reading; "
        "0 when nothing was seen.",
        examples=[97.4],
    )


class DailyEntry(ResponseModel):
    """A calendar day in the account's time zone."""

    date: dt.date = Field(
        description="The day, in the account's time zone.", examples=["2026-11-21"]
    )
    count: int = Field(ge=0, description="Recognitions.", examples=[42])


class HourlyEntry(ResponseModel):
    """An hour of the clock in the account's time zone, over all days."""

    hour: int = Field(
        ge=0, le=23, description="The hour of the day, in the account's time zone.", examples=[17]
    )
    count: int = Field(ge=0, description="Recognitions.", examples=[42])


class PlateEntry(ResponseModel):
    """A plate and when it was last seen."""

    plate: str = Field(description="Upper case, without separators.", examples=["AB12CDE"])
    count: int = Field(ge=1, description="Recognitions.", examples=[42])
    last_seen_at: str = Field(
        json_schema_extra={"format": "date-time"}, description="Its latest recognition; UTC."
    )


class CameraEntry(ResponseModel):
    """A camera under its present name."""

    camera_id: str = Field(json_schema_extra={"format": "uuid"}, description="Id of the camera.")
    camera_name: str = Field(description="The camera's name at that time.", examples=["Gate north"])
    count: int = Field(ge=1, description="Recognitions.", examples=[42])


class AnalyticsBody(ResponseModel):
    """The last 30 × 24 hours up to now."""

    stats: AnalyticsStats = Field(description="Totals.")
    daily_chart: tuple[DailyEntry, ...] = Field(
        min_length=30, max_length=31, description="Every day, oldest first, with zeros."
    )
    hourly_chart: tuple[HourlyEntry, ...] = Field(
        min_length=24, max_length=24, description="Every hour, 0 first, with zeros."
    )
    heat_map: tuple[tuple[int, ...], ...] = Field(
        min_length=7,
        max_length=7,
        description="Recognitions of each weekday, Monday first, by the hours of the clock.",
        examples=[[[0] * 24] * 7],
    )
    top_plates: tuple[PlateEntry, ...] = Field(
        max_length=10, description="The most frequent first."
    )
    camera_chart: tuple[CameraEntry, ...] = Field(
        description="All cameras with any, the busiest first."
    )
    recent: tuple[RecognitionBody, ...] = Field(
        max_length=10, description="The newest first. Image fields are storage keys here."
    )
