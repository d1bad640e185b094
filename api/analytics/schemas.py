"""Response body for an account's analytics."""

import datetime as dt

from pydantic import Field

from api.recognitions.schemas import RecognitionBody
from api.schemas import ResponseModel


class AnalyticsStats(ResponseModel):
    """Key figures of an account."""

    # The alias is explicit, because the alias generator would return total30D.
    total30d: int = Field(
        alias="total30d",
        ge=0,
        description="Recognitions in the last 30 × 24 hours.",
        examples=[48211],
    )
    active_cameras: int = Field(ge=0, description="Number of enabled cameras.", examples=[12])
    active_api_keys: int = Field(
        ge=0, description="Number of API keys that are enabled and not expired.", examples=[3]
    )
    success_rate: float = Field(
        ge=0,
        le=100,
        description="Percentage of passes and image calls that produced an accepted reading; "
        "0 if there were none.",
        examples=[97.4],
    )


class DailyEntry(ResponseModel):
    """Recognitions on a calendar day in the account's time zone."""

    date: dt.date = Field(description="Day in the account's time zone.", examples=["2026-11-21"])
    count: int = Field(ge=0, description="Number of recognitions.", examples=[42])


class HourlyEntry(ResponseModel):
    """Recognitions in an hour of the day in the account's time zone, summed over all days."""

    hour: int = Field(ge=0, le=23, description="Hour in the account's time zone.", examples=[17])
    count: int = Field(ge=0, description="Number of recognitions.", examples=[42])


class PlateEntry(ResponseModel):
    """Recognitions of a plate, and the time of the latest recognition."""

    plate: str = Field(description="Plate, upper case, without separators.", examples=["AB12CDE"])
    count: int = Field(ge=1, description="Number of recognitions.", examples=[42])
    last_seen_at: str = Field(
        json_schema_extra={"format": "date-time"},
        description="Time of the latest recognition (UTC).",
    )


class CameraEntry(ResponseModel):
    """Recognitions of a camera, under the camera's current name."""

    camera_id: str = Field(json_schema_extra={"format": "uuid"}, description="ID of the camera.")
    camera_name: str = Field(description="Latest name of the camera.", examples=["Gate north"])
    count: int = Field(ge=1, description="Number of recognitions.", examples=[42])


class AnalyticsBody(ResponseModel):
    """Analytics for the last 30 × 24 hours."""

    stats: AnalyticsStats = Field(description="Totals.")
    daily_chart: tuple[DailyEntry, ...] = Field(
        min_length=30,
        max_length=31,
        description="One entry per day, oldest first, including days without recognitions.",
    )
    hourly_chart: tuple[HourlyEntry, ...] = Field(
        min_length=24,
        max_length=24,
        description="One entry per hour of the day, starting at 0, including hours without "
        "recognitions.",
    )
    heat_map: tuple[tuple[int, ...], ...] = Field(
        min_length=7,
        max_length=7,
        description="Recognitions by weekday (rows, Monday first) and hour of the day (columns).",
        examples=[[[0] * 24] * 7],
    )
    top_plates: tuple[PlateEntry, ...] = Field(
        max_length=10, description="Most frequent plates, in descending order."
    )
    camera_chart: tuple[CameraEntry, ...] = Field(
        description="Cameras with recognitions, busiest first."
    )
    recent: tuple[RecognitionBody, ...] = Field(
        max_length=10,
        description="Most recent recognitions, newest first. Image fields are storage keys.",
    )
