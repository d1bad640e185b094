"""Recognitions against the rules: what an alert may fire for. Without state of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from alert_rules.rule import sighting
from alert_rules.rule_book import RuleBook
from contracts.alert_records import AlertCandidate
from contracts.errors import InvalidInputError
from contracts.ids import uuid_unix_ms
from contracts.records import Recognition, decode
from streams.alerts.metrics import AlertMetrics

Publish = Callable[[Iterable[AlertCandidate]], Awaitable[None]]
"""Publishes candidates in order; returns once Kafka has them."""


@dataclass(frozen=True)
class Published:
    """A recognition, and when it was put on its topic (Unix ms, UTC)."""

    recognition: Recognition
    published_ms: int


def read_recognition(value: bytes) -> Recognition:
    """Return the recognition that a message holds.

    Raises:
        InvalidInputError: it holds none, or one whose id is of another time.
    """
    recognition = decode(Recognition, value)
    if uuid_unix_ms(recognition.id) != recognition.captured_ms:
        raise InvalidInputError("the id does not begin with capturedMs", code="id_of_other_time")
    return recognition


class Matching:
    """Finds the rules that recognitions set off."""

    def __init__(self, book: RuleBook, publish: Publish, metrics: AlertMetrics) -> None:
        """Take the rules and the way on."""
        self._book = book
        self._publish = publish
        self._metrics = metrics

    async def handle(self, batch: Sequence[Published]) -> None:
        """Publish a candidate for each rule that each recognition sets off. Safe to do again.

        A recognition that was published before an alert was made does not set it off.

        Raises:
            TransientError: Kafka is away.
        """
        found: list[AlertCandidate] = []
        for each in batch:
            found += self._candidates(each)
            # Lists that no index helps with take long: the worker must stay alive meanwhile.
            await asyncio.sleep(0)
        await self._publish(found)
        self._metrics.recognitions_matched(len(batch))

    def _candidates(self, each: Published) -> Iterator[AlertCandidate]:
        for rule in self._book.matching(sighting(each.recognition)):
            # A worker that lags, or a new group's first, reads what is older than the alert.
            if rule.alert.created_ms > each.published_ms:
                continue
            yield AlertCandidate(
                alert=rule.alert,
                recognition=each.recognition,
                published_ms=each.published_ms,
            )
