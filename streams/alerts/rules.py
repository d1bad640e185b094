"""Holds the rules of config-alerts and their recent versions in memory."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from uuid import UUID

import structlog

from common.alerting.rule import Rule, Sighting, rule_of
from common.alerting.rule_index import RuleIndex
from common.errors import InvalidInputError
from common.records.alerts import AlertConfig
from streams.alerts.metrics import AlertMetrics

log = structlog.get_logger()

_FORMER_SECONDS = 120.0
_MAX_FORMER = 200
_MAX_VERSIONS = 5


class RuleStore:
    """Holds the rules of config-alerts in an index. Not thread-safe."""

    def __init__(
        self, metrics: AlertMetrics, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.index = RuleIndex()
        self._metrics = metrics
        self._clock = clock
        # The first index has the version of each rule before its last change, and the next indexes
        # have older versions. ``_changed`` has the rules in the order of their last changes.
        self._former = tuple(RuleIndex() for _ in range(_MAX_VERSIONS))
        self._changed: OrderedDict[UUID, float] = OrderedDict()

    def former(self, seen: Sighting) -> list[Rule]:
        """Return the earlier versions of recently changed rules that match.

        The caller resolves the early triggers of these versions. A rule that was changed several
        times can occur several times, with the latest version first.
        """
        self._drop_expired()
        return [rule for index in self._former for rule in index.matching(seen)]

    def apply(self, updates: Iterable[tuple[UUID, AlertConfig | None]]) -> None:
        """Apply updates in the order of the topic; None removes a rule."""
        for alert_id, alert in updates:
            self._store_former(alert_id)
            if alert is None:
                self.index.remove(alert_id)
            else:
                self._put(alert)
        self._metrics.rules.set(len(self.index))

    def _store_former(self, alert_id: UUID) -> None:
        before = self.index.get(alert_id)
        if before is not None:
            self._put_former(before)
            self._changed.pop(alert_id, None)
            self._changed[alert_id] = self._clock()
            self._drop_expired()

    def _put_former(self, rule: Rule) -> None:
        versions = [
            rule,
            *(each for index in self._former if (each := index.get(rule.alert.alert_id))),
        ]
        for index, version in zip(self._former, versions, strict=False):
            index.put(version)

    def _drop_expired(self) -> None:
        until = self._clock() - _FORMER_SECONDS
        while self._changed:
            alert_id, changed = next(iter(self._changed.items()))
            if changed >= until and len(self._changed) <= _MAX_FORMER:
                return
            del self._changed[alert_id]
            for index in self._former:
                index.remove(alert_id)

    def _put(self, alert: AlertConfig) -> None:
        try:
            self.index.put(rule_of(alert))
        except InvalidInputError as error:
            # The previous version of the alert must no longer trigger.
            self.index.remove(alert.alert_id)
            self._metrics.rule_faults.inc()
            log.error("alert_rule_invalid", alert_id=str(alert.alert_id), error=str(error))
