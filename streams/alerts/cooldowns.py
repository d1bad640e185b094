"""Candidates against the cooldowns: what fires.

What is remembered of a cooldown is written, with Kafka's acknowledgement, before the alert is
told: after a crash between both the candidate comes again, is known as one that fired, and is told
then, with the same id and the same times. What is remembered of a pass that set an alert off early
is written after its cooldown: a crash between both leaves what is then done again as a whole.
What comes early is told before the end of the same pass is written, which would silence it.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

import structlog

from alert_rules.cooldown import CandidateOutcome
from contracts.alert_records import AlertCandidate, AlertTrigger
from contracts.plates import mask_plate
from streams.alerts.deciding import Deciding
from streams.alerts.metrics import AlertMetrics
from streams.alerts.remembered import Arrival, FiringTable, Remembered

log = structlog.get_logger()

Publish = Callable[[Iterable[AlertTrigger]], Awaitable[None]]
"""Publishes triggers in order; returns once Kafka has them."""


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
        for part in _one_word_a_pass(batch):
            await self._handle(part)

    async def _handle(self, batch: Sequence[Arrival]) -> None:
        remembered = Remembered(self._table)
        deciding = Deciding(remembered, late_ms=self._late_ms, now_ms=self._now_ms)
        told: list[tuple[AlertCandidate, AlertTrigger]] = []
        outcomes: list[CandidateOutcome] = []
        for arrival in batch:
            result = deciding.decide(arrival)
            outcomes.append(result.outcome)
            if result.trigger is not None:
                told.append((arrival.candidate, result.trigger))
        await remembered.write()
        await self._publish(trigger for _, trigger in told)
        for outcome in outcomes:
            self._metrics.decided(outcome)
        for candidate, trigger in told:
            self._note(candidate, trigger)

    def _note(self, candidate: AlertCandidate, trigger: AlertTrigger) -> None:
        self._metrics.trigger_published(self._now_ms() - candidate.published_ms)
        log.info(
            "alert_fired",
            alert_id=str(trigger.alert.alert_id),
            recognition_id=str(trigger.recognition.id),
            plate=mask_plate(trigger.recognition.plate),
            is_late=trigger.is_late,
            phase=trigger.phase.value,
        )


def _one_word_a_pass(batch: Sequence[Arrival]) -> Iterator[Sequence[Arrival]]:
    """Return a batch in parts, in order, none of which says of one alert and pass two things."""
    part: list[Arrival] = []
    passes: set[bytes] = set()
    for arrival in batch:
        if arrival.pass_key in passes:
            yield part
            part, passes = [], set()
        part.append(arrival)
        passes.add(arrival.pass_key)
    if part:
        yield part
