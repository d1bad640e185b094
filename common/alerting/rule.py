"""Checks the conditions of one alert."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import structlog

from common.alerting.schedule import Window, window
from common.errors import InvalidInputError
from common.plates.list_cost import list_cost
from common.plates.matching import PlateMatcher, listed_plate
from common.plates.normalise import normalise_plate
from common.records.alerts import AlertConfig, CameraScope, PlateMatchMode
from common.records.recognitions import Recognition

log = structlog.get_logger(__name__)


class Condition(StrEnum):
    """Conditions of an alert, in the order in which they are listed."""

    ENABLED = "enabled"
    PLATE = "plate"
    CAMERA = "camera"
    CONFIDENCE = "confidence"
    SCHEDULE = "schedule"


@dataclass(frozen=True)
class Sighting:
    """The values of a recognition, or of a pass in progress, that a rule checks.

    ``plate`` is normalised. ``captured_ms`` is in Unix ms, UTC.
    """

    owner_id: UUID
    camera_id: UUID
    plate: str
    confidence: float
    captured_ms: int


def sighting_of(recognition: Recognition) -> Sighting:
    """Return the values of a recognition that a rule checks."""
    return Sighting(
        recognition.owner_id,
        recognition.camera_id,
        normalise_plate(recognition.plate),
        recognition.confidence,
        recognition.captured_ms,
    )


@dataclass(frozen=True, eq=False)
class Rule:
    """An alert, prepared by :func:`rule_of`. If ``cameras`` is None, all cameras match."""

    alert: AlertConfig
    matchers: tuple[PlateMatcher, ...]
    cameras: frozenset[UUID] | None
    window: Window | None

    def failures(self, sighting: Sighting) -> tuple[Condition, ...]:
        """Return the conditions that are not met. If there are none, the alert matches.

        The cooldown is not included, because it depends on other recognitions.
        """
        fulfilled = {
            Condition.ENABLED: self.alert.enabled,
            Condition.PLATE: self._wants(sighting.plate),
            Condition.CAMERA: self.cameras is None or sighting.camera_id in self.cameras,
            Condition.CONFIDENCE: sighting.confidence >= self.alert.min_confidence,
            Condition.SCHEDULE: self.window is None or self.window.is_open(sighting.captured_ms),
        }
        return tuple(condition for condition, is_met in fulfilled.items() if not is_met)

    def is_open_to(self, sighting: Sighting) -> bool:
        """Return whether the confidence and schedule conditions are met."""
        if sighting.confidence < self.alert.min_confidence:
            return False
        return self.window is None or self.window.is_open(sighting.captured_ms)

    def _wants(self, plate: str) -> bool:
        match self.alert.plate_match_mode:
            case PlateMatchMode.ANY:
                return True
            case PlateMatchMode.SPECIFIC:
                return self._lists(plate)
            case PlateMatchMode.ALLOWLIST:
                return not self._lists(plate)

    def _lists(self, plate: str) -> bool:
        return any(matcher.matches(plate) for matcher in self.matchers)


def rule_of(alert: AlertConfig) -> Rule:
    """Return the rule of an alert, prepared for matching.

    List entries that cannot match any plate are skipped and logged. The API rejects such entries,
    but older records may contain some.

    Raises:
        InvalidInputError: the schedule is invalid.
    """
    return Rule(
        alert,
        tuple(dict.fromkeys(_matchers(alert))),
        None if alert.camera_scope is CameraScope.ALL else frozenset(alert.camera_ids),
        window(alert.schedule, alert.timezone) if alert.schedule_enabled else None,
    )


def rule_cost(mode: PlateMatchMode, plates: Iterable[str], tolerance: int) -> int:
    """Return the cost of a rule: CPU time in microseconds for the most expensive plate."""
    return 0 if mode is PlateMatchMode.ANY else list_cost(_listed(plates, tolerance))


def _matchers(alert: AlertConfig) -> list[PlateMatcher]:
    if alert.plate_match_mode is PlateMatchMode.ANY:
        return []
    matchers = _listed(alert.plates, alert.match_tolerance)
    if ignored := len(alert.plates) - len(matchers):
        # Log only the number of entries, because an entry is personal data.
        log.warning("alert_plates_ignored", alert_id=str(alert.alert_id), entries=ignored)
    return matchers


def _listed(plates: Iterable[str], tolerance: int) -> list[PlateMatcher]:
    matchers = []
    for entry in plates:
        try:
            matchers.append(listed_plate(entry, tolerance))
        except InvalidInputError:
            # The API rejects such entries. The other entries of an older record must still match.
            continue
    return matchers
