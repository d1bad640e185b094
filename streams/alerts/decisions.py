"""Decides which candidates trigger their alert, based on cooldowns and past early triggers.

The state of a cooldown is written, and acknowledged by Kafka, before the trigger is published. If
the process crashes in between, the candidate is read again and recognised as already triggered, and
the trigger is published with the same id and times. If a pass had an early trigger, the state of
the pass is written after the cooldown; after a crash in between, the whole decision is repeated.
A pass is marked as ended after its early triggers are published. After that, none can follow.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
import structlog

from common.alerting.cooldown import (
    CandidateOutcome,
    Decision,
    PastTrigger,
    PastTriggers,
    cooldown_ms,
    decide,
    with_trigger,
    without,
)
from common.alerting.early import PassAction, PassState, decide_pass, kept_until_ms
from common.plates.normalise import mask_plate, normalise_plate
from common.records.alerts import (
    AlertCandidate,
    AlertTrigger,
    CandidateKind,
    EarlyTrigger,
    TriggerPhase,
)
from common.records.ids import trigger_id
from streams.alerts.metrics import AlertMetrics
from streams.alerts.state import ArrivedCandidate, StateBuffer
from streams.runtime.tables import DurableTable

log = structlog.get_logger()

Publish = Callable[[Iterable[AlertTrigger]], Awaitable[None]]
"""Publishes triggers in order. Returns once Kafka has stored the triggers."""

_RESOLVED: Final = {
    TriggerPhase.CONFIRMED: CandidateOutcome.CONFIRMED,
    TriggerPhase.CORRECTED: CandidateOutcome.CORRECTED,
    TriggerPhase.WITHDRAWN: CandidateOutcome.WITHDRAWN,
}


class CandidateHandler:
    """Decides on batches of candidates, writes the resulting state, and publishes triggers."""

    def __init__(
        self,
        table: DurableTable,
        publish: Publish,
        metrics: AlertMetrics,
        *,
        late_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """A trigger is late if it is decided more than ``late_ms`` after the capture."""
        self._table = table
        self._publish = publish
        self._metrics = metrics
        self._late_ms = late_ms
        self._now_ms = now_ms

    async def handle(self, batch: Sequence[ArrivedCandidate]) -> None:
        """Decide on candidates in order, and publish their triggers. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable.
        """
        for part in _one_candidate_a_pass(batch):
            await self._handle(part)

    async def _handle(self, batch: Sequence[ArrivedCandidate]) -> None:
        buffer = StateBuffer(self._table)
        decider = Decider(buffer, late_ms=self._late_ms, now_ms=self._now_ms)
        published: list[tuple[AlertCandidate, AlertTrigger]] = []
        outcomes: list[CandidateOutcome] = []
        for arrival in batch:
            result = decider.decide(arrival)
            outcomes.append(result.outcome)
            if result.trigger is not None:
                published.append((arrival.candidate, result.trigger))
        await buffer.write()
        await self._publish(trigger for _, trigger in published)
        for outcome in outcomes:
            self._metrics.decisions.labels(outcome.value).inc()
        for candidate, trigger in published:
            self._log(candidate, trigger)

    def _log(self, candidate: AlertCandidate, trigger: AlertTrigger) -> None:
        age_ms = max(0, self._now_ms() - candidate.published_ms)
        self._metrics.trigger_age.observe(age_ms / 1000)
        log.info(
            "alert_triggered",
            alert_id=str(trigger.alert.alert_id),
            recognition_id=str(trigger.recognition.id),
            plate=mask_plate(trigger.recognition.plate),
            is_late=trigger.is_late,
            phase=trigger.phase.value,
        )


def _one_candidate_a_pass(
    batch: Sequence[ArrivedCandidate],
) -> Iterator[Sequence[ArrivedCandidate]]:
    """Yield a batch in parts, in order, each with at most one candidate per alert and pass."""
    part: list[ArrivedCandidate] = []
    passes: set[bytes] = set()
    for arrival in batch:
        if arrival.pass_key in passes:
            yield part
            part, passes = [], set()
        part.append(arrival)
        passes.add(arrival.pass_key)
    if part:
        yield part


@dataclass(frozen=True)
class DecidedCandidate:
    """The outcome of a candidate and, if the alert triggers, the trigger to publish."""

    outcome: CandidateOutcome
    trigger: AlertTrigger | None = None


class Decider:
    """Decides on the candidates of one batch, in order."""

    def __init__(self, buffer: StateBuffer, *, late_ms: int, now_ms: Callable[[], int]) -> None:
        """A trigger is late if it is decided more than ``late_ms`` after the capture."""
        self._buffer = buffer
        self._late_ms = late_ms
        self._now_ms = now_ms

    def decide(self, arrival: ArrivedCandidate) -> DecidedCandidate:
        """Return the outcome of a candidate; store state changes in the buffer."""
        candidate = arrival.candidate
        if not _may_have_triggered_early(candidate):
            return self._apply_cooldown(arrival, self._new_trigger(candidate), TriggerPhase.FINAL)
        state = self._buffer.pass_state(arrival)
        decided = decide_pass(state, candidate.kind, _plate(candidate))
        if decided.phase is not None and state is not None:
            return self._resolve(arrival, state, decided.phase)
        if decided.action is PassAction.APPLY_COOLDOWN:
            return self._decide_by_cooldown(arrival, state)
        if decided.action is PassAction.CLOSE and candidate.may_be_early:
            self._store_pass(arrival, None, self._new_trigger(candidate))
        return DecidedCandidate(CandidateOutcome.RESOLVED)

    def _decide_by_cooldown(
        self, arrival: ArrivedCandidate, state: PassState | None
    ) -> DecidedCandidate:
        is_early = arrival.candidate.kind is CandidateKind.EARLY
        phase = TriggerPhase.EARLY if is_early else TriggerPhase.FINAL
        is_repeated = state is not None and state.phase is phase
        trigger = state.trigger if state and is_repeated else self._new_trigger(arrival.candidate)
        result = self._apply_cooldown(arrival, trigger, phase)
        if result.trigger is not None and not is_repeated and arrival.candidate.may_be_early:
            decided = msgspec.structs.replace(
                trigger, decided_ms=result.trigger.decided_ms, is_late=result.trigger.is_late
            )
            self._store_pass(arrival, phase, decided)
        elif result.trigger is None and not is_early and arrival.candidate.may_be_early:
            # The suppression is final, so an early candidate that arrives later must not trigger.
            self._store_pass(arrival, None, trigger)
        return result

    def _apply_cooldown(
        self, arrival: ArrivedCandidate, trigger: PastTrigger, phase: TriggerPhase
    ) -> DecidedCandidate:
        decision = self._decision(arrival, trigger)
        if not decision.is_triggered or decision.trigger is None:
            return DecidedCandidate(decision.outcome)
        return DecidedCandidate(
            decision.outcome, trigger_record(arrival.candidate, decision.trigger, phase)
        )

    def _decision(self, arrival: ArrivedCandidate, trigger: PastTrigger) -> Decision:
        length_ms = cooldown_ms(arrival.candidate.alert)
        if not length_ms:
            # Without a cooldown, nothing is suppressed, so no state is needed.
            return Decision(CandidateOutcome.TRIGGERED, trigger, PastTriggers())
        key = arrival.key(arrival.scope)
        decision = decide(self._buffer.past_triggers(key), trigger, length_ms)
        self._buffer.store_past_triggers(arrival.partition, key, decision.after)
        return decision

    def _resolve(
        self, arrival: ArrivedCandidate, state: PassState, phase: TriggerPhase
    ) -> DecidedCandidate:
        if state.phase is phase:
            return DecidedCandidate(
                CandidateOutcome.REPEATED, _resolved_trigger(arrival.candidate, state, phase)
            )
        scope = arrival.scope if phase is TriggerPhase.CORRECTED else state.scope
        after = msgspec.structs.replace(state, phase=phase, scope=scope, resolved_ms=self._now_ms())
        if phase is TriggerPhase.WITHDRAWN or scope != state.scope:
            self._revoke(arrival, state)
        if phase is TriggerPhase.CORRECTED and scope != state.scope:
            self._suppress_others(arrival, after)
        self._buffer.store_pass(arrival, after)
        return DecidedCandidate(
            _RESOLVED[phase], _resolved_trigger(arrival.candidate, after, phase)
        )

    def _revoke(self, arrival: ArrivedCandidate, state: PassState) -> None:
        key = arrival.key(state.scope)
        after = without(self._buffer.past_triggers(key), state.trigger)
        self._buffer.store_past_triggers(arrival.partition, key, after)

    def _suppress_others(self, arrival: ArrivedCandidate, state: PassState) -> None:
        length_ms = cooldown_ms(arrival.candidate.alert)
        if length_ms:
            key = arrival.key(state.scope)
            after = with_trigger(self._buffer.past_triggers(key), state.trigger, length_ms)
            self._buffer.store_past_triggers(arrival.partition, key, after)

    def _store_pass(
        self, arrival: ArrivedCandidate, phase: TriggerPhase | None, trigger: PastTrigger
    ) -> None:
        state = PassState(
            phase=phase,
            plate=normalise_plate(arrival.candidate.recognition.plate),
            scope=arrival.scope,
            trigger=trigger,
            kept_until_ms=kept_until_ms(trigger.decided_ms),
        )
        self._buffer.store_pass(arrival, state)

    def _new_trigger(self, candidate: AlertCandidate) -> PastTrigger:
        now_ms, captured_ms = self._now_ms(), candidate.recognition.captured_ms
        return PastTrigger(
            captured_ms,
            str(candidate.recognition.id),
            now_ms,
            is_late=now_ms - captured_ms > self._late_ms,
        )


def trigger_record(
    candidate: AlertCandidate, trigger: PastTrigger, phase: TriggerPhase
) -> AlertTrigger:
    """Return the record of a trigger that is not resolved yet or needs no resolution."""
    return _trigger(candidate, trigger, phase, trigger.decided_ms, None)


def _resolved_trigger(
    candidate: AlertCandidate, state: PassState, phase: TriggerPhase
) -> AlertTrigger:
    return _trigger(candidate, state.trigger, phase, state.resolved_ms, state.early)


def _trigger(
    candidate: AlertCandidate,
    trigger: PastTrigger,
    phase: TriggerPhase,
    decided_ms: int,
    early: EarlyTrigger | None,
) -> AlertTrigger:
    alert = candidate.alert
    return AlertTrigger(
        id=trigger_id(trigger.captured_ms, alert.alert_id, UUID(trigger.recognition_id)),
        owner_id=alert.owner_id,
        alert=alert,
        recognition=candidate.passed,
        decided_ms=decided_ms,
        is_late=trigger.is_late,
        phase=phase,
        early=early,
    )


def _may_have_triggered_early(candidate: AlertCandidate) -> bool:
    return candidate.kind is not CandidateKind.FINAL or bool(
        candidate.recognition.provisional_plates
    )


def _plate(candidate: AlertCandidate) -> str | None:
    if candidate.kind is CandidateKind.RESOLVED and not candidate.is_match:
        return None
    return normalise_plate(candidate.passed.plate)
