"""Each early trigger is resolved once, by the actual pass, for any order of messages."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import TransientError
from common.records.alerts import (
    AlertConfig,
    AlertTrigger,
    PlateMatchMode,
    ProvisionalKind,
    ProvisionalRecognition,
    TriggerPhase,
)
from common.records.ids import recognition_id
from common.records.recognitions import ProvisionalPlate, Recognition
from streams.alerts.rules import RuleStore
from streams.alerts.state import ArrivedCandidate
from tests.records import alert, recognition
from tests.unit.streams.alerts.world import START_MS, World

_TEN_MINUTES_MS = 600_000
_ENDS = (TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED, TriggerPhase.WITHDRAWN)


@dataclass(frozen=True)
class Plate:
    """The plate of a pass, and its confidence."""

    text: str
    confidence: float


@dataclass(frozen=True)
class Story:
    """A pass: its provisional plates, and its end (``is_other``: under another ID).

    ``order`` is the order of its messages, including repeats; the highest number is the end. Before
    each message, the dependency in ``failing`` is unavailable once.
    """

    provisional_plates: tuple[Plate, ...]
    end: Plate | None
    is_other: bool
    listed: frozenset[str]
    min_confidence: float
    cooldown_minutes: int
    order: tuple[int, ...]
    failing: tuple[str, ...]

    def is_matched_by(self, plate: Plate) -> bool:
        """Return whether the plate matches the alert, by a slow and simple model."""
        return plate.text in self.listed and plate.confidence >= self.min_confidence


_plates = st.builds(Plate, st.sampled_from(["AB1", "AB2", "ZZ9"]), st.sampled_from([0.6, 0.9]))


@st.composite
def _stories(draw: st.DrawFn) -> Story:
    provisional_plates = draw(
        st.lists(_plates, min_size=1, max_size=3, unique_by=lambda each: each.text)
    )
    messages = range(len(provisional_plates) + 1)
    early = draw(st.lists(st.sampled_from(messages), max_size=6))
    order = (*early, *messages, *draw(st.lists(st.sampled_from(messages), max_size=3)))
    unavailable = st.sampled_from(["", "table", "passes", "alerts"])
    return Story(
        provisional_plates=tuple(provisional_plates),
        end=draw(st.none() | _plates),
        is_other=draw(st.booleans()),
        listed=draw(st.sets(st.sampled_from(["AB1", "AB2", "ZZ9"])).map(frozenset)),
        min_confidence=draw(st.sampled_from([0.5, 0.9])),
        cooldown_minutes=draw(st.sampled_from([0, 5])),
        order=order,
        failing=tuple(draw(st.lists(unavailable, min_size=len(order), max_size=len(order)))),
    )


@settings(max_examples=200, deadline=None)
@given(_stories())
async def test_the_triggers_of_a_pass_are_those_of_a_slow_model(story: Story) -> None:
    stage = _Stage(_rule(story), story)
    for number, failing in zip(story.order, story.failing, strict=True):
        await stage.take(number, failing)
    assert stage.triggers() == _expected(story)
    assert stage.names_only_what_was_published()


def _expected(story: Story) -> list[tuple[TriggerPhase, str]]:
    """Return the phase and plate of the triggers that the pass must have, without repeats."""
    before = story.order[: story.order.index(len(story.provisional_plates))]
    early = next(
        (
            story.provisional_plates[number]
            for number in before
            if story.is_matched_by(story.provisional_plates[number])
        ),
        None,
    )
    end = story.end if story.end is not None and story.is_matched_by(story.end) else None
    if early is None:
        is_own = end is not None and not story.is_other
        return [(TriggerPhase.FINAL, end.text)] if is_own and end else []
    first = (TriggerPhase.EARLY, early.text)
    if end is None:
        shown = story.end.text if story.end else story.provisional_plates[-1].text
        return [first, (TriggerPhase.WITHDRAWN, shown)]
    is_same = end.text == early.text
    return [first, (TriggerPhase.CONFIRMED if is_same else TriggerPhase.CORRECTED, end.text)]


def _rule(story: Story) -> AlertConfig:
    return alert(
        1,
        plate_match_mode=PlateMatchMode.SPECIFIC,
        early=True,
        plates=tuple(sorted(story.listed)),
        min_confidence=story.min_confidence,
        cooldown_minutes=story.cooldown_minutes,
    )


class _Stage:
    """The whole alerts stage without Kafka. Its topics contain the records of a story."""

    def __init__(self, rule: AlertConfig, story: Story) -> None:
        self._world = World()
        rule_store = RuleStore(self._world.metrics)
        rule_store.apply([(rule.alert_id, rule)])
        self._matching = self._world.matching(rule_store)
        self._story = story
        self._id = _seen(Plate("", 1), "pass", START_MS).id

    async def take(self, number: int, failing: str) -> None:
        """Process a message, and repeat the message after a failure."""
        self._world.failing = {failing}
        try:
            await self._do(number)
        except TransientError:
            self._world.failing = set()
            await self._do(number)

    def triggers(self) -> list[tuple[TriggerPhase, str]]:
        """Return the phase and plate of the pass's triggers. Repeated triggers are equal."""
        by_id: defaultdict[UUID, dict[TriggerPhase, AlertTrigger]] = defaultdict(dict)
        for each in self._world.triggers:
            assert by_id[each.id].setdefault(each.phase, each) == each
        own = [phases for phases in by_id.values() if self._is_own(next(iter(phases.values())))]
        assert len(own) <= 1
        return [(phase, each.recognition.plate) for phases in own for phase, each in phases.items()]

    def names_only_what_was_published(self) -> bool:
        """Return whether each final or resolved trigger names a published recognition."""
        published = {each.id: each for each in self._published()}
        return all(
            published.get(each.recognition.id) == each.recognition
            for each in self._world.triggers
            if each.phase in (TriggerPhase.FINAL, TriggerPhase.CONFIRMED, TriggerPhase.CORRECTED)
        )

    def _is_own(self, first: AlertTrigger) -> bool:
        return first.recognition.id == self._id

    def _published(self) -> list[Recognition]:
        end, provisional_plates = (
            self._story.end,
            self._provisional_plates(len(self._story.provisional_plates)),
        )
        if end is None:
            return []
        if self._story.is_other:
            # A much earlier pass of the same vehicle, whose cooldown has expired.
            return [_seen(end, "other", START_MS - _TEN_MINUTES_MS)]
        return [_seen(end, "pass", START_MS, provisional_plates)]

    async def _do(self, number: int) -> None:
        self._world.candidates.clear()
        if number < len(self._story.provisional_plates):
            seen = _seen(
                self._story.provisional_plates[number],
                "pass",
                START_MS,
                self._provisional_plates(number),
            )
            await self._report_provisional(
                ProvisionalRecognition(kind=ProvisionalKind.AGREED, recognition=seen)
            )
        else:
            await self._end()
        for each in tuple(self._world.candidates):
            await self._world.cooldowns.handle([ArrivedCandidate(3, each)])

    async def _end(self) -> None:
        published = self._published()
        await self._matching.handle([(each, START_MS) for each in published])
        if published and not self._story.is_other:
            return
        provisional_plates = self._provisional_plates(len(self._story.provisional_plates))
        seen = _seen(self._story.provisional_plates[-1], "pass", START_MS, provisional_plates)
        final_recognition = published[0] if published else None
        await self._report_provisional(
            ProvisionalRecognition(
                kind=ProvisionalKind.RESOLVED, recognition=seen, final_recognition=final_recognition
            )
        )

    async def _report_provisional(self, provisional: ProvisionalRecognition) -> None:
        await self._matching.handle_provisional([(provisional, START_MS)])

    def _provisional_plates(self, count: int) -> tuple[ProvisionalPlate, ...]:
        return tuple(
            ProvisionalPlate(plate=each.text, confidence=each.confidence, captured_ms=START_MS)
            for each in self._story.provisional_plates[:count]
        )


def _seen(
    plate: Plate, track: str, captured_ms: int, provisional_plates: Sequence[ProvisionalPlate] = ()
) -> Recognition:
    made = recognition(1, captured_ms=captured_ms)
    return msgspec.structs.replace(
        made,
        id=recognition_id(captured_ms, made.camera_id, track),
        plate=plate.text,
        confidence=plate.confidence,
        provisional_plates=tuple(provisional_plates),
    )
