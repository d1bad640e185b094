"""``/api/analytics``."""

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from analytics_sql.recognitions import RecognitionRow
from analytics_sql.traffic.analytics import CameraCount, PlateCount
from api.analytics.models import Overview
from api.analytics.service import Analytics
from api.deps import Caller, service
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.recognitions.schemas import RecognitionBody, recognition_body
from api.schemas import ResponseModel
from api.security.actions import Action
from api.security.permissions import Scope, requires
from common.timestamps import format_timestamp


class AnalyticsStats(ResponseModel):
    """Numbers at a glance."""

    # Spelt out: the rule for names would make it total30D.
    total30d: int = Field(
        alias="total30d", ge=0, description="Recognitions of the last 30 × 24 hours."
    )
    active_cameras: int = Field(ge=0, description="Cameras that are enabled.")
    active_api_keys: int = Field(ge=0, description="Keys that are enabled and have not expired.")
    success_rate: float = Field(
        ge=0,
        le=100,
        description="Per cent of plate passes and image calls that ended in an accepted reading; "
        "0 when nothing was seen.",
    )


class DailyEntry(ResponseModel):
    """A calendar day in the account's time zone."""

    date: date
    count: int = Field(ge=0)


class HourlyEntry(ResponseModel):
    """An hour of the clock in the account's time zone, over all days."""

    hour: int = Field(ge=0, le=23)
    count: int = Field(ge=0)


class PlateEntry(ResponseModel):
    """A plate and when it was last seen."""

    plate: str
    count: int = Field(ge=1)
    last_seen_at: str = Field(json_schema_extra={"format": "date-time"})


class CameraEntry(ResponseModel):
    """A camera under its present name."""

    camera_id: str = Field(json_schema_extra={"format": "uuid"})
    camera_name: str
    count: int = Field(ge=1)


class AnalyticsBody(ResponseModel):
    """The last 30 × 24 hours up to now."""

    stats: AnalyticsStats
    daily_chart: list[DailyEntry] = Field(
        min_length=30, max_length=31, description="Every day, oldest first, with zeros."
    )
    hourly_chart: list[HourlyEntry] = Field(
        min_length=24, max_length=24, description="Every hour, 0 first, with zeros."
    )
    heat_map: list[list[int]] = Field(
        min_length=7,
        max_length=7,
        description="Recognitions of each weekday, Monday first, by the hours of the clock.",
    )
    top_plates: list[PlateEntry] = Field(max_length=10, description="The most frequent first.")
    camera_chart: list[CameraEntry] = Field(description="All cameras with any, the busiest first.")
    recent: list[RecognitionBody] = Field(
        max_length=10, description="The newest first. Image fields are storage keys here."
    )


def analytics_body(overview: Overview) -> AnalyticsBody:
    """Return the JSON form of an overview."""
    return AnalyticsBody(
        stats=AnalyticsStats(
            total30d=overview.total,
            active_cameras=overview.inventory.active_cameras,
            active_api_keys=overview.inventory.active_api_keys,
            success_rate=overview.passes.success_percent,
        ),
        daily_chart=[DailyEntry(date=day.day, count=day.recognitions) for day in overview.days],
        hourly_chart=[HourlyEntry(hour=h.hour, count=h.recognitions) for h in overview.hours],
        heat_map=[list(day) for day in overview.heat_map],
        top_plates=[_plate(plate) for plate in overview.plates],
        camera_chart=[_camera(camera) for camera in overview.cameras],
        recent=[_recognition(found) for found in overview.recent],
    )


def _plate(plate: PlateCount) -> PlateEntry:
    return PlateEntry(
        plate=plate.plate,
        count=plate.recognitions,
        last_seen_at=format_timestamp(plate.last_ms),
    )


def _camera(camera: CameraCount) -> CameraEntry:
    return CameraEntry(
        camera_id=str(camera.camera_id),
        camera_name=camera.camera_name,
        count=camera.recognitions,
    )


def _recognition(found: RecognitionRow) -> RecognitionBody:
    return recognition_body(found, photo_url=found.photo_key, crop_url=found.crop_key)


router = APIRouter(route_class=GuardedRoute, tags=["Analytics"])

AnalyticsDep = Annotated[Analytics, Depends(service(Analytics))]


@router.get("/api/analytics", summary="The last 30 days at a glance", responses=error_responses())
@requires(Scope.ANALYTICS_READ, notes=Action.ANALYTICS_VIEWED)
async def get_analytics(analytics: AnalyticsDep, caller: Caller) -> AnalyticsBody:
    """Return counts over the last 30 × 24 hours, in days and hours of the account's time zone."""
    return analytics_body(await analytics.overview(caller.owner_id))
