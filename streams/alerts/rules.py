"""The rules as config-alerts tells them, in the memory of this process."""

import asyncio
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import structlog
from mode import Service

from alert_rules.rule import rule_of
from alert_rules.rule_book import RuleBook
from contracts.errors import InvalidInputError
from contracts.records import AlertConfig
from contracts.topic_feed import TopicFeed
from streams.alerts.metrics import AlertMetrics

log = structlog.get_logger()


class RuleKeeper:
    """Keeps a book as the topic says. Lives on one event loop."""

    def __init__(self, metrics: AlertMetrics) -> None:
        """Begin without rules."""
        self.book = RuleBook()
        self._metrics = metrics

    def post(self, news: Iterable[tuple[UUID, AlertConfig | None]]) -> None:
        """Take news in the order of the topic; None forgets a rule."""
        for alert_id, alert in news:
            if alert is None:
                self.book.remove(alert_id)
            else:
                self._put(alert)
        self._metrics.rules_known(len(self.book))

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
