"""Delay of alerts, from the sending or end of a pass until the receiver gets the alert. No I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from common.records.webhooks import EventName
from tests.services.receiver import Received

_TRIGGERED = EventName.ALERT_TRIGGERED


@dataclass(frozen=True)
class Lateness:
    """Seconds from each recognition to the first arrival of its alert, in ascending order."""

    what: str
    seconds: tuple[float, ...]
    missing: int

    @property
    def worst(self) -> float:
        return self.seconds[-1] if self.seconds else 0.0

    def __str__(self) -> str:
        """Return the count, the median and the maximum."""
        middle = self.seconds[len(self.seconds) // 2] if self.seconds else 0.0
        return (
            f"{len(self.seconds)} alerts {self.what}: half within {middle:.1f} s, all within "
            + (f"{self.worst:.1f} s" + (f", {self.missing} MISSING" if self.missing else ""))
        )


def of_sent(sent_at: Mapping[UUID, float], received: Sequence[Received], alert: str) -> Lateness:
    """Return the lateness for recognitions that were sent at these times (monotonic s)."""
    arrivals = _arrivals(received, alert)
    late = [arrivals[str(one)] - at for one, at in sent_at.items() if str(one) in arrivals]
    return Lateness("of what was sent", tuple(sorted(late)), len(sent_at) - len(late))


def of_seen(
    cameras: Iterable[str],
    received: Sequence[Received],
    alert: str,
    *,
    unix_offset_seconds: float,
    since: float,
) -> Lateness:
    """Return the lateness for passes of cameras that ended after ``since`` (Unix s).

    ``unix_offset_seconds`` converts the receiver's monotonic time to Unix time.
    """
    mine, late = set(cameras), []
    seen: set[str] = set()
    for request in _triggers(received, alert):
        recognition = request.json["data"]["recognition"]
        if recognition["cameraId"] not in mine or recognition["id"] in seen:
            continue
        seen.add(recognition["id"])
        last = recognition.get("lastSeenAt", recognition["timestamp"])
        last_seconds = datetime.fromisoformat(last).timestamp()
        if last_seconds >= since:
            late.append(request.at_seconds + unix_offset_seconds - last_seconds)
    return Lateness("of cameras", tuple(sorted(late)), 0)


def _arrivals(received: Sequence[Received], alert: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for request in _triggers(received, alert):
        found.setdefault(request.json["data"]["recognition"]["id"], request.at_seconds)
    return found


def _triggers(received: Sequence[Received], alert: str) -> Iterable[Received]:
    for request in received:
        if request.headers.get("x-event-type") != _TRIGGERED:
            continue
        if request.json["data"]["alert"]["name"] == alert:
            yield request
