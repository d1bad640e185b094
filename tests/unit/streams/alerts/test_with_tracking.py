"""From readings to resolved triggers: tracking and the alerts stage, with kills in between."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from common.alerting.rule import rule_of, sighting_of
from common.records.alerts import AlertConfig, AlertTrigger, PlateMatchMode, TriggerPhase
from common.records.codec import encode
from common.records.frames import FrameKind
from common.records.recognitions import FrameReadings, Recognition
from streams.alerts.matching import RuleMatcher
from streams.alerts.rules import RuleStore
from streams.alerts.state import ArrivedCandidate
from tests.records import alert
from tests.unit.streams.alerts.world import START_MS
from tests.unit.streams.alerts.world import World as AlertsWorld
from tests.unit.streams.recognition.builders import OWNER, RULES, frame, reading
from tests.unit.streams.recognition.tracking.test_agent import KEY, tracking_of
from tests.unit.streams.recognition.tracking.test_agent import World as TrackingWorld

_READ_AS = ("AB123CD", "AB128CD", "AB9Z3CD", "AB9Z3CO", "XY987ZW")
_ENDS = {TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED, TriggerPhase.WITHDRAWN}

# A text is read several times in a row, or no text is read for a while.
_readings = st.lists(
    st.tuples(st.sampled_from((*_READ_AS, "")), st.integers(1, 14)), max_size=6
).map(lambda runs: [text for text, count in runs for _ in range(count)])
_rules = st.builds(
    lambda plates, minutes: alert(
        1,
        owner_id=OWNER,
        plate_match_mode=PlateMatchMode.SPECIFIC,
        early=True,
        plates=tuple(sorted(plates)),
        cooldown_minutes=minutes,
    ),
    st.sets(st.sampled_from(_READ_AS), min_size=1),
    st.sampled_from([0, 5]),
)


@settings(max_examples=80, deadline=None)
@given(_readings, _readings, _rules, st.data())
async def test_each_early_trigger_is_resolved_once_by_what_passed(
    first: Sequence[str], second: Sequence[str], rule: AlertConfig, data: st.DataObject
) -> None:
    pipeline = _Pipeline(rule)
    frames = _film(first, second)
    kill = data.draw(st.integers(0, len(frames) - 1))
    for number, each in enumerate(frames):
        if number == kill:
            await pipeline.kill_before_the_state_is_written(each)
        await pipeline.take(each)
    for by_phase in pipeline.by_id().values():
        _check(rule, by_phase, {each.id for each in pipeline.recognitions})


def _check(
    rule: AlertConfig, by_phase: dict[TriggerPhase, AlertTrigger], recognitions: set[UUID]
) -> None:
    """Check by a slow and simple model which recognition each trigger names."""
    ends = by_phase.keys() & _ENDS
    assert len(ends) == (TriggerPhase.EARLY in by_phase)
    for phase, trigger in by_phase.items():
        is_there = trigger.recognition.id in recognitions
        is_match = not rule_of(rule).failures(sighting_of(trigger.recognition))
        if phase is TriggerPhase.WITHDRAWN:
            assert not (is_there and is_match)
        elif phase is not TriggerPhase.EARLY:
            assert is_there
            assert is_match
            _check_same_pass(by_phase.get(TriggerPhase.EARLY), trigger.recognition)
        is_same = trigger.early is not None and trigger.early.plate == trigger.recognition.plate
        assert (phase is TriggerPhase.CONFIRMED) == (is_same and phase in _ENDS and is_there)


def _check_same_pass(early: AlertTrigger | None, passed: Recognition) -> None:
    """Check that the pass had not ended when the track of its early trigger began."""
    if early is not None:
        assert early.recognition.first_seen_ms < passed.last_seen_ms + RULES.end_ms


async def test_a_misread_stationary_plate_triggers_once_per_pass() -> None:
    rule = alert(
        1,
        owner_id=OWNER,
        plate_match_mode=PlateMatchMode.SPECIFIC,
        early=True,
        plates=("AB*CD",),
        cooldown_minutes=0,
    )
    pipeline = _Pipeline(rule)
    texts = ["AB123CD"] * 30
    for letter in "EFHJKLMNPRTUVWXYZ":
        texts += [""] * 25 + [f"AB{letter * 3}CD"] * 2 + ["AB123CD"] * 4
    for number, text in enumerate(texts):
        found = [reading(text, 0.86, x=800 + 3 * (number % 6))] if text else []
        await pipeline.take(frame(number, number * 200, found))
    await pipeline.take(frame(len(texts), 1_000_000, kind=FrameKind.TICK))

    by_phase = pipeline.by_id().values()
    standing = [phases for phases in by_phase if TriggerPhase.WITHDRAWN not in phases]
    assert len(standing) == len(pipeline.recognitions)
    assert len(by_phase) > len(standing)


def _film(first: Sequence[str], second: Sequence[str]) -> list[FrameReadings]:
    """Return frames with readings at two positions, followed by a minute without readings."""
    frames = [
        frame(
            number,
            number * 200,
            [
                reading(text, 0.86, x=x + 4 * number, y=500)
                for text, x in ((one, 100), (other, 1000))
                if text
            ],
        )
        for number, (one, other) in enumerate(zip_longest(first, second, fillvalue=""))
    ]
    return [*frames, frame(len(frames), 100_000, kind=FrameKind.TICK)]


class _Pipeline:
    """Tracking and the alerts stage, one record at a time. Each topic is read to its end."""

    def __init__(self, rule: AlertConfig) -> None:
        self._tracked, self._alerts = TrackingWorld(), AlertsWorld()
        self._tracking = tracking_of(self._tracked, RULES)
        rule_store = RuleStore(self._alerts.metrics)
        rule_store.apply([(rule.alert_id, rule)])
        self._matching: RuleMatcher = self._alerts.matching(rule_store)
        self._provisional = self._recognitions = 0

    @property
    def recognitions(self) -> list[Recognition]:
        return list(self._tracked.recognitions)

    async def take(self, read: FrameReadings) -> None:
        await self._tracking.handle(KEY, encode(read))
        await self._match()

    async def kill_before_the_state_is_written(self, read: FrameReadings) -> None:
        before = dict(self._tracked.states)
        await self.take(read)
        self._tracked.states = before

    def by_id(self) -> dict[UUID, dict[TriggerPhase, AlertTrigger]]:
        """Return the triggers by ID and phase. Repeated triggers are equal."""
        by_id: defaultdict[UUID, dict[TriggerPhase, AlertTrigger]] = defaultdict(dict)
        for each in self._alerts.triggers:
            assert by_id[each.id].setdefault(each.phase, each) == each
        return by_id

    async def _match(self) -> None:
        provisional = self._tracked.provisional[self._provisional :]
        recognitions = self._tracked.recognitions[self._recognitions :]
        self._provisional += len(provisional)
        self._recognitions += len(recognitions)
        self._alerts.candidates.clear()
        await self._matching.handle([(each, START_MS) for each in recognitions])
        await self._matching.handle_provisional([(each, START_MS) for each in provisional])
        for each in tuple(self._alerts.candidates):
            await self._alerts.cooldowns.handle([ArrivedCandidate(3, each)])
