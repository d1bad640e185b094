"""Candidates against the cooldowns: what fires.

What is remembered of a cooldown is written, with Kafka's acknowledgement, before the alert is
told: after a crash between both the candidate comes again, is known as one that fired, and is told
then, with the same id and the same times.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from alert_rules.cooldown import Decision, Firing, Firings, Outcome, cooldown_ms, decide, scope_of
from contracts.alert_records import AlertCandidate
from contracts.errors import UnknownRecordVersionError
from contracts.ids import trigger_id
from contracts.plates import mask_plate, normalise_plate
from contracts.records import AlertTrigger, decode, encode
from streams.alerts.metrics import AlertMetrics

log = structlog.get_logger()

Publish = Callable[[Iterable[AlertTrigger]], Awaitable[None]]
"""Publishes triggers in order; returns once Kafka has them."""


class FiringTable(Protocol):
    """Encoded :class:`Firings` by cooldown."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return what is remembered of a cooldown, None at first."""

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write what is to be remembered; returns once Kafka has it."""


@dataclass(frozen=True)
class Arrival:
    """A candidate, and the partition that it came on."""

    partition: int
    candidate: AlertCandidate


class Cooldowns:
    """Decides which candidates fire."""

    def __init__(
        self,
        table: FiringTable,
        publish: Publish,
        metrics: AlertMetrics,
        *,
        late_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """``late_ms`` after its capture a plate is told of as late."""
        self._table = table
        self._publish = publish
        self._metrics = metrics
        self._late_ms = late_ms
        self._now_ms = now_ms

    async def handle(self, batch: Sequence[Arrival]) -> None:
        """Decide on candidates, in order, and tell what fires. Safe to do again.

        Raises:
            TransientError: Kafka is away.
        """
        changed: dict[bytes, tuple[int, Firings]] = {}
        told: list[tuple[AlertCandidate, Firing]] = []
        outcomes: list[Outcome] = []
        for arrival in batch:
            decision = self._decide(arrival, changed)
            outcomes.append(decision.outcome)
            if decision.fires and decision.firing is not None:
                told.append((arrival.candidate, decision.firing))
        await asyncio.gather(*map(self._remember, changed.items()))
        await self._publish(trigger_of(candidate, firing) for candidate, firing in told)
        for outcome in outcomes:
            self._metrics.decided(outcome)
        for candidate, firing in told:
            self._note(candidate, firing)

    def _decide(self, arrival: Arrival, changed: dict[bytes, tuple[int, Firings]]) -> Decision:
        candidate = arrival.candidate
        length_ms = cooldown_ms(candidate.alert)
        firing = self._firing(candidate)
        if not length_ms:
            # Nothing is held back, and so nothing needs to be remembered.
            return Decision(Outcome.FIRED, firing, Firings())
        key = cooldown_key(arrival)
        before = changed[key][1] if key in changed else self._remembered(key)
        decision = decide(before, firing, length_ms)
        if decision.after is not before:
            changed[key] = (arrival.partition, decision.after)
        return decision

    def _firing(self, candidate: AlertCandidate) -> Firing:
        now_ms, captured_ms = self._now_ms(), candidate.recognition.captured_ms
        return Firing(
            captured_ms,
            str(candidate.recognition.id),
            now_ms,
            is_late=now_ms - captured_ms > self._late_ms,
        )

    def _remembered(self, key: bytes) -> Firings:
        data = self._table.get(key)
        if data is None:
            return Firings()
        try:
            return decode(Firings, data)
        except UnknownRecordVersionError:
            # Written by another release: the alert may fire once more than its cooldown says.
            log.warning("cooldown_dropped", key=key.decode(errors="replace").split("|")[1])
            return Firings()

    async def _remember(self, change: tuple[bytes, tuple[int, Firings]]) -> None:
        key, (partition, firings) = change
        await self._table.put(key, encode(firings), partition=partition)

    def _note(self, candidate: AlertCandidate, firing: Firing) -> None:
        self._metrics.trigger_published(self._now_ms() - candidate.published_ms)
        log.info(
            "alert_fired",
            alert_id=str(candidate.alert.alert_id),
            recognition_id=str(candidate.recognition.id),
            plate=mask_plate(candidate.recognition.plate),
            is_late=firing.is_late,
        )


def cooldown_key(arrival: Arrival) -> bytes:
    """Return the table's key: partition, alert, and what the cooldown holds back within it."""
    alert, recognition = arrival.candidate.alert, arrival.candidate.recognition
    scope = scope_of(alert, recognition.camera_id, normalise_plate(recognition.plate))
    return f"{arrival.partition}|{alert.alert_id}|{scope}".encode()


def trigger_of(candidate: AlertCandidate, firing: Firing) -> AlertTrigger:
    """Return the record of a firing."""
    alert, recognition = candidate.alert, candidate.recognition
    return AlertTrigger(
        id=trigger_id(recognition.captured_ms, alert.alert_id, recognition.id),
        owner_id=alert.owner_id,
        alert=alert,
        recognition=recognition,
        decided_ms=firing.decided_ms,
        is_late=firing.is_late,
    )
