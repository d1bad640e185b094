"""The time from the end of a vehicle's pass to its alert. No I/O."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar
from uuid import UUID

from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.codec import Record
from common.records.frames import FrameKind
from common.records.recognitions import FrameReadings

_R = TypeVar("_R", bound=Record)
_END_MS = 2_000


@dataclass(frozen=True)
class Dated(Generic[_R]):
    """A record, and the time when the record reached its topic (Unix ms)."""

    at_ms: int
    record: _R


def alert_delays_seconds(
    readings: Iterable[Dated[FrameReadings]],
    triggers: Iterable[Dated[AlertTrigger]],
    *,
    since_ms: int,
    until_ms: int,
) -> list[float]:
    """Return the delay of each alert for a pass that ended in a time range, shortest first."""
    by_camera: defaultdict[UUID, list[Dated[FrameReadings]]] = defaultdict(list)
    for each in readings:
        by_camera[each.record.camera_id].append(each)
    delays: dict[UUID, float] = {}
    for trigger in triggers:
        if trigger.record.phase is TriggerPhase.EARLY or trigger.record.id in delays:
            continue
        seen = trigger.record.recognition
        over_ms = min(
            (
                each.at_ms
                for each in by_camera[seen.camera_id]
                if each.record.kind is FrameKind.END
                or each.record.captured_ms - seen.last_seen_ms >= _END_MS
            ),
            default=None,
        )
        if over_ms is not None and since_ms <= over_ms <= until_ms:
            delays[trigger.record.id] = max(0, trigger.at_ms - over_ms) / 1000
    return sorted(delays.values())


def percentile_95(values: list[float]) -> float:
    """Return the 95th percentile of sorted values, or 0 if there are none."""
    return values[ceil(0.95 * len(values)) - 1] if values else 0.0
