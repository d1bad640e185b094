"""Recognitions against the rules: what an alert may fire for. Without state of its own.

A pass that is told of before it is over sets off the rules that may fire early. When it is over it
says what it had been told of as. The rules that this had set off, and that what passed in the end
does not, are then found once more in the same way, so that what they told can be settled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from alert_rules.rule import Rule, SeenPlate, seen_plate
from contracts.alert_records import AlertCandidate, AlertSighting, CandidateKind, SightingKind
from contracts.alerts import AlertConfig, PlateMatchMode
from contracts.early import EarlyAlerts
from contracts.errors import InvalidInputError
from contracts.ids import may_be_captured
from contracts.plates import normalise_plate
from contracts.recognitions import Recognition
from contracts.records import decode
from streams.alerts.metrics import AlertMetrics
from streams.alerts.rules import RuleKeeper

EARLY_WITHIN_MS = 15_000
"""A sighting that lay on its topic for longer fires nothing, as an alert is early no more then: as
settings stand no track is longer, and its recognition fires, or has. Where tracks may be longer
(``PLATESTREAM_TRACKING_LONGEST_SECONDS``) the recognition fires all the same, only later."""

Publish = Callable[[Iterable[AlertCandidate]], Awaitable[None]]
"""Publishes candidates in order; returns once Kafka has them."""


@dataclass(frozen=True)
class Published:
    """A recognition, and when it was put on its topic (Unix ms, UTC)."""

    recognition: Recognition
    published_ms: int


@dataclass(frozen=True)
class Sighted:
    """What was told of a pass beside its recognition, and when (Unix ms, UTC)."""

    told: AlertSighting
    published_ms: int


def read_recognition(value: bytes) -> Recognition:
    """Return the recognition that a message holds.

    Raises:
        InvalidInputError: it holds none, or one whose id is of another time.
    """
    return _checked(decode(Recognition, value))


def read_sighting(value: bytes) -> AlertSighting:
    """Return the sighting that a message holds.

    Raises:
        InvalidInputError: it holds none, or one whose id is of another time.
    """
    told = decode(AlertSighting, value)
    _checked(told.recognition)
    return told


def _checked(recognition: Recognition) -> Recognition:
    if not may_be_captured(recognition.id, recognition.captured_ms):
        raise InvalidInputError("the id is of another time", code="id_of_other_time")
    return recognition


class Matching:
    """Finds the rules that recognitions set off, and passes that are not over."""

    def __init__(
        self,
        keeper: RuleKeeper,
        publish: Publish,
        metrics: AlertMetrics,
        *,
        early: EarlyAlerts,
        now_ms: Callable[[], int],
    ) -> None:
        """Take the rules, the way on, and which rules may fire early."""
        self._keeper = keeper
        self._publish = publish
        self._metrics = metrics
        self._early = early
        self._now_ms = now_ms

    async def handle(self, batch: Sequence[Published]) -> None:
        """Publish a candidate for each rule that each recognition sets off. Safe to do again.

        A recognition that was published before an alert was made does not set it off.

        Raises:
            TransientError: Kafka is away.
        """
        found: list[AlertCandidate] = []
        for each in batch:
            found += self._of_recognition(each)
            # Lists that no index helps with take long: the worker must stay alive meanwhile.
            await asyncio.sleep(0)
        await self._publish(found)
        self._metrics.recognitions_matched(len(batch))

    async def handle_sightings(self, batch: Sequence[Sighted]) -> None:
        """Publish a candidate for each rule that a pass sets off early, or had. Safe to do again.

        Raises:
            TransientError: Kafka is away.
        """
        found: list[AlertCandidate] = []
        for each in batch:
            found += self._of_sighting(each)
            await asyncio.sleep(0)
        await self._publish(found)

    def _of_recognition(self, each: Published) -> Iterator[AlertCandidate]:
        seen, fired = each.recognition, set[UUID]()
        for rule in self._set_off(seen_plate(seen), each.published_ms):
            fired.add(rule.alert.alert_id)
            yield AlertCandidate(
                alert=rule.alert,
                recognition=seen,
                published_ms=each.published_ms,
                may_be_early=self._may_be_early(rule.alert),
            )
        yield from self._settling(seen, seen, each.published_ms, fired)

    def _of_sighting(self, each: Sighted) -> Iterator[AlertCandidate]:
        seen = each.told.recognition
        if each.told.kind is SightingKind.SETTLED:
            yield from self._settling(seen, each.told.came_out, each.published_ms, set())
        elif self._now_ms() - each.published_ms <= EARLY_WITHIN_MS:
            for rule in self._set_off(seen_plate(seen), each.published_ms):
                if self._may_be_early(rule.alert):
                    yield AlertCandidate(
                        alert=rule.alert,
                        recognition=seen,
                        published_ms=each.published_ms,
                        kind=CandidateKind.EARLY,
                        may_be_early=True,
                    )

    def _settling(
        self, seen: Recognition, passed: Recognition | None, published_ms: int, fired: set[UUID]
    ) -> Iterator[AlertCandidate]:
        """Find what the plates that a pass was told of as had set off, beside ``fired``."""
        found: dict[UUID, AlertConfig] = {}
        for told in _told_of(seen):
            for rule in self._set_off_or_was(told, published_ms):
                if rule.alert.alert_id not in fired:
                    found.setdefault(rule.alert.alert_id, rule.alert)
        if not found:
            return
        passes = () if passed is None else self._set_off_or_was(seen_plate(passed), published_ms)
        set_off = {rule.alert.alert_id for rule in passes}
        for alert in found.values():
            yield AlertCandidate(
                alert=alert,
                recognition=seen,
                published_ms=published_ms,
                kind=CandidateKind.SETTLING,
                may_be_early=self._may_be_early(alert),
                came_out=None if passed is seen else passed,
                is_set_off=alert.alert_id in set_off,
            )

    def _set_off_or_was(self, seen: SeenPlate, published_ms: int) -> Iterator[Rule]:
        """Find rules as they are, and those as they were that were changed a moment ago."""
        yield from self._set_off(seen, published_ms)
        yield from self._keeper.former(seen)

    def _set_off(self, seen: SeenPlate, published_ms: int) -> Iterator[Rule]:
        for rule in self._keeper.book.matching(seen):
            # A worker that lags, or a new group's first, reads what is older than the alert.
            if rule.alert.created_ms <= published_ms:
                yield rule

    def _may_be_early(self, alert: AlertConfig) -> bool:
        match self._early:
            case EarlyAlerts.OFF:
                return False
            case EarlyAlerts.SPECIFIC:
                return alert.plate_match_mode is PlateMatchMode.SPECIFIC
            case EarlyAlerts.ALL:
                return True


def _told_of(seen: Recognition) -> Iterator[SeenPlate]:
    for each in seen.sighted:
        plate = normalise_plate(each.plate)
        yield SeenPlate(seen.owner_id, seen.camera_id, plate, each.confidence, each.captured_ms)
