"""Matches recognitions with the rules of alerts, without any state.

A pass that is reported before its end is matched with the rules that can trigger early. The final
recognition lists the provisional plates under which the pass was reported. Rules that match one of
these plates, but not the final plate, are found again in the same way, so that their early triggers
can be resolved.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from uuid import UUID

from common.alerting.rule import Rule, Sighting, sighting_of
from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate
from common.records.alerts import (
    AlertCandidate,
    AlertConfig,
    CandidateKind,
    ProvisionalKind,
    ProvisionalRecognition,
    by_reference,
)
from common.records.codec import decode
from common.records.ids import may_be_captured
from common.records.recognitions import Recognition
from streams.alerts.metrics import AlertMetrics
from streams.alerts.rules import RuleStore

EARLY_WITHIN_MS = 15_000
"""A provisional recognition that is older than this triggers nothing. No track lasts that long, so
the final recognition has already triggered the alert or will soon do so."""

Publish = Callable[[Iterable[AlertCandidate]], Awaitable[None]]
"""Publishes candidates in order. Returns once Kafka has stored the candidates."""


def read_recognition(value: bytes) -> Recognition:
    """Decode and return a recognition.

    Raises:
        InvalidInputError: the value cannot be decoded, or the id does not match the capture time.
    """
    return _checked(decode(Recognition, value))


def read_provisional(value: bytes) -> ProvisionalRecognition:
    """Decode and return a provisional recognition.

    Raises:
        InvalidInputError: the value cannot be decoded, or the id does not match the capture time.
    """
    report = decode(ProvisionalRecognition, value)
    _checked(report.recognition)
    return report


def _checked(recognition: Recognition) -> Recognition:
    if not may_be_captured(recognition.id, recognition.captured_ms):
        raise InvalidInputError("the ID does not match the capture time", code="id_of_other_time")
    return recognition


class RuleMatcher:
    """Finds the rules that final and provisional recognitions match."""

    def __init__(
        self,
        rules: RuleStore,
        publish: Publish,
        metrics: AlertMetrics,
        *,
        early: bool,
        now_ms: Callable[[], int],
    ) -> None:
        """``early``: whether rules that set `early` can trigger before the end of a pass."""
        self._rules = rules
        self._publish = publish
        self._metrics = metrics
        self._early = early
        self._now_ms = now_ms

    async def handle(self, batch: Sequence[tuple[Recognition, int]]) -> None:
        """Publish a candidate for each rule that a recognition matches. Safe to repeat.

        ``batch`` contains pairs of a recognition and its publication time (Unix ms, UTC).

        A recognition that was published before an alert was created does not match the alert.

        Raises:
            TransientError: Kafka is unavailable.
        """
        found: list[AlertCandidate] = []
        for seen, published_ms in batch:
            found += self._of_recognition(seen, published_ms)
            # Matching long lists without an index takes time, and the worker must stay responsive.
            await asyncio.sleep(0)
        await self._publish(found)
        self._metrics.recognitions.inc(len(batch))

    async def handle_provisional(self, batch: Sequence[tuple[ProvisionalRecognition, int]]) -> None:
        """Publish the candidates for early triggers and for their resolutions. Safe to repeat.

        Raises:
            TransientError: Kafka is unavailable.
        """
        found: list[AlertCandidate] = []
        for report, published_ms in batch:
            found += self._of_provisional(report, published_ms)
            await asyncio.sleep(0)
        await self._publish(found)

    def _of_recognition(
        self, recognition: Recognition, published_ms: int
    ) -> Iterator[AlertCandidate]:
        matched = set[UUID]()
        for rule in self._matches(sighting_of(recognition), published_ms):
            matched.add(rule.alert.alert_id)
            yield AlertCandidate(
                alert=by_reference(rule.alert),
                recognition=recognition,
                published_ms=published_ms,
                may_be_early=self._may_be_early(rule.alert),
            )
        yield from self._resolved(recognition, recognition, published_ms, matched)

    def _of_provisional(
        self, report: ProvisionalRecognition, published_ms: int
    ) -> Iterator[AlertCandidate]:
        recognition = report.recognition
        if report.kind is ProvisionalKind.RESOLVED:
            yield from self._resolved(recognition, report.final_recognition, published_ms, set())
        elif self._now_ms() - published_ms <= EARLY_WITHIN_MS:
            for rule in self._matches(sighting_of(recognition), published_ms):
                if self._may_be_early(rule.alert):
                    yield AlertCandidate(
                        alert=by_reference(rule.alert),
                        recognition=recognition,
                        published_ms=published_ms,
                        kind=CandidateKind.EARLY,
                        may_be_early=True,
                    )

    def _resolved(
        self,
        recognition: Recognition,
        passed: Recognition | None,
        published_ms: int,
        matched: set[UUID],
    ) -> Iterator[AlertCandidate]:
        """Yield a candidate for each rule, except ``matched``, that matched a provisional plate."""
        found: dict[UUID, AlertConfig] = {}
        for plate in _provisional_plates(recognition):
            for rule in self._matches_or_matched(plate, published_ms):
                if rule.alert.alert_id not in matched:
                    found.setdefault(rule.alert.alert_id, rule.alert)
        if not found:
            return
        final = (
            () if passed is None else self._matches_or_matched(sighting_of(passed), published_ms)
        )
        final_matches = {rule.alert.alert_id for rule in final}
        for alert in found.values():
            yield AlertCandidate(
                alert=by_reference(alert),
                recognition=recognition,
                published_ms=published_ms,
                kind=CandidateKind.RESOLVED,
                may_be_early=self._may_be_early(alert),
                final_recognition=None if passed is recognition else passed,
                is_match=alert.alert_id in final_matches,
            )

    def _matches_or_matched(self, sighting: Sighting, published_ms: int) -> Iterator[Rule]:
        """Yield the matching rules, and the matching earlier versions of recently changed rules."""
        yield from self._matches(sighting, published_ms)
        yield from self._rules.former(sighting)

    def _matches(self, sighting: Sighting, published_ms: int) -> Iterator[Rule]:
        for rule in self._rules.index.matching(sighting):
            # A lagging worker, or the first of a new group, reads records older than the rule.
            if rule.alert.created_ms <= published_ms:
                yield rule

    def _may_be_early(self, alert: AlertConfig) -> bool:
        return self._early and alert.early


def _provisional_plates(recognition: Recognition) -> Iterator[Sighting]:
    for each in recognition.provisional_plates:
        plate = normalise_plate(each.plate)
        yield Sighting(
            recognition.owner_id, recognition.camera_id, plate, each.confidence, each.captured_ms
        )
