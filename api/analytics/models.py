"""An owner's thirty days, before they are JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from analytics_sql.recognitions import RecognitionRow
from analytics_sql.traffic.analytics import CameraCount, PlateCount


@dataclass(frozen=True)
class Inventory:
    """An owner's things. ``camera_names`` by id; ``timezone`` is an IANA name."""

    timezone: str
    camera_names: Mapping[UUID, str]
    active_cameras: int
    active_api_keys: int


@dataclass(frozen=True)
class DayCount:
    """Recognitions of a calendar day in the owner's time zone."""

    day: date
    recognitions: int


@dataclass(frozen=True)
class HourCount:
    """Recognitions of an hour of the clock (0 to 23) in the owner's time zone, of all days."""

    hour: int
    recognitions: int


@dataclass(frozen=True)
class PassTally:
    """Counts of passes, and of those that ended in an accepted reading."""

    accepted: int
    seen: int

    @property
    def success_percent(self) -> float:
        """100 × accepted ÷ seen, 0 to 100; 0 where nothing was seen."""
        return 100 * self.accepted / self.seen if self.seen else 0.0


@dataclass(frozen=True)
class Overview:
    """All that the resource shows; charts as described in :mod:`api.analytics.service`."""

    total: int
    inventory: Inventory
    passes: PassTally
    days: tuple[DayCount, ...]
    hours: tuple[HourCount, ...]
    heat_map: tuple[tuple[int, ...], ...]
    plates: tuple[PlateCount, ...]
    cameras: tuple[CameraCount, ...]
    recent: tuple[RecognitionRow, ...]
