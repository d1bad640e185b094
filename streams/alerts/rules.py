"""The rules as config-alerts tells them, in the memory of this process."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import structlog
from mode import Service

from alert_rules.rule import Rule, SeenPlate, rule_of
from alert_rules.rule_book import RuleBook
from contracts.alerts import AlertConfig
from contracts.errors import InvalidInputError
from contracts.topic_feed import TopicFeed
from streams.alerts.metrics import AlertMetrics

log = structlog.get_logger()


_FORMER_SECONDS = 120.0
_MOST_FORMER = 200
_MOST_VERSIONS = 5


class RuleKeeper:
    """Keeps a book as the topic says. Lives on one event loop."""

    def __init__(
        self, metrics: AlertMetrics, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin without rules."""
        self.book = RuleBook()
        self._metrics = metrics
        self._clock = clock
        # As they were before each of their changes, the last one in the first book; and when they
        # were changed last, the latest last.
        self._former = tuple(RuleBook() for _ in range(_MOST_VERSIONS))
        self._changed: OrderedDict[UUID, float] = OrderedDict()

    def former(self, seen: SeenPlate) -> list[Rule]:
        """Return the rules that were changed a moment ago and would have been set off before.

        What they fired for early is settled by them as they were. A rule that was changed more than
        once may be among them more than once, the latest first.
        """
        self._drop_long_gone()
        return [rule for book in self._former for rule in book.matching(seen)]

    def post(self, news: Iterable[tuple[UUID, AlertConfig | None]]) -> None:
        """Take news in the order of the topic; None forgets a rule."""
        for alert_id, alert in news:
            self._remember(alert_id)
            if alert is None:
                self.book.remove(alert_id)
            else:
                self._put(alert)
        self._metrics.rules_known(len(self.book))

    def _remember(self, alert_id: UUID) -> None:
        before = self.book.get(alert_id)
        if before is not None:
            self._put_former(before)
            self._changed.pop(alert_id, None)
            self._changed[alert_id] = self._clock()
            self._drop_long_gone()

    def _put_former(self, rule: Rule) -> None:
        versions = [rule, *(each for b in self._former if (each := b.get(rule.alert.alert_id)))]
        for book, version in zip(self._former, versions, strict=False):
            book.put(version)

    def _drop_long_gone(self) -> None:
        until = self._clock() - _FORMER_SECONDS
        while self._changed:
            alert_id, changed = next(iter(self._changed.items()))
            if changed >= until and len(self._changed) <= _MOST_FORMER:
                return
            del self._changed[alert_id]
            for book in self._former:
                book.remove(alert_id)

    def _put(self, alert: AlertConfig) -> None:
        try:
            self.book.put(rule_of(alert))
        except InvalidInputError as error:
            # As it was it must not fire on.
            self.book.remove(alert.alert_id)
            self._metrics.rule_fault()
            log.error("alert_unusable", alert_id=str(alert.alert_id), error=str(error))


class RuleFeed(Service):
    """Follows the rules for as long as the app runs."""

    def __init__(self, feed: TopicFeed[AlertConfig], **options: Any) -> None:
        """Take what is to be started and ended."""
        super().__init__(**options)
        self._feed = feed

    async def on_start(self) -> None:
        """Read all rules; a worker that knows only some must not take partitions."""
        self._feed.start()
        await self._feed.wait_until_caught_up()

    async def on_stop(self) -> None:
        """Follow no more."""
        await asyncio.to_thread(self._feed.stop)
