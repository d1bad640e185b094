"""The rules as config-alerts tells them, in the memory of this process."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import structlog
from mode import Service

from alert_rules.rule import Rule, Sighting, rule_of
from alert_rules.rule_book import RuleBook
from contracts.errors import InvalidInputError
from contracts.records import AlertConfig
from contracts.topic_feed import TopicFeed
from streams.alerts.metrics import AlertMetrics

log = structlog.get_logger()


_FORMER_SECONDS = 120.0
_MOST_FORMER = 200


class RuleKeeper:
    """Keeps a book as the topic says. Lives on one event loop."""

    def __init__(
        self, metrics: AlertMetrics, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin without rules."""
        self.book = RuleBook()
        self._metrics = metrics
        self._clock = clock
        # As they were last before a change, and when that was, the latest last.
        self._former = RuleBook()
        self._changed: OrderedDict[UUID, float] = OrderedDict()

    def former(self, seen: Sighting) -> list[Rule]:
        """Return the rules that were changed a moment ago and would have been set off before.

        What they fired for early is settled by them as they were.
        """
        self._drop_long_gone()
        return list(self._former.matching(seen))

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
            self._former.put(before)
            self._changed.pop(alert_id, None)
            self._changed[alert_id] = self._clock()
            self._drop_long_gone()

    def _drop_long_gone(self) -> None:
        until = self._clock() - _FORMER_SECONDS
        while self._changed:
            alert_id, changed = next(iter(self._changed.items()))
            if changed >= until and len(self._changed) <= _MOST_FORMER:
                return
            del self._changed[alert_id]
            self._former.remove(alert_id)

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
