"""Fake dependencies of the alerts stage."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from common.errors import TransientError
from common.records.alerts import AlertCandidate, AlertTrigger
from streams.alerts.decisions import CandidateHandler
from streams.alerts.matching import RuleMatcher
from streams.alerts.metrics import AlertMetrics
from streams.alerts.rules import RuleStore
from streams.runtime.tables import DurableTable

START_MS = 1_795_000_000_000


class World(DurableTable):
    """The table and the topics, with the operations on them in order."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = AlertMetrics(self.registry)
        self.now_ms = START_MS
        self.table: dict[bytes, bytes] = {}
        self.done: list[str] = []
        self.failing: set[str] = set()
        self.candidates: list[AlertCandidate] = []
        self.triggers: list[AlertTrigger] = []
        self.cooldowns = CandidateHandler(
            self,
            self.publish_triggers,
            self.metrics,
            late_ms=60_000,
            now_ms=lambda: self.now_ms,
        )

    def get(self, key: bytes, /) -> bytes | None:
        return self.table.get(key)

    def items(self) -> list[tuple[bytes, bytes]]:
        return list(self.table.items())

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        self._fail_if("table")
        if b"|pass " in key:
            self._fail_if("passes")
        assert partition is not None and key.startswith(b"%d|" % partition)
        self.done.append("table")
        if value is None:
            del self.table[key]
        else:
            self.table[key] = value

    async def publish_triggers(self, triggers: Iterable[AlertTrigger]) -> None:
        self._fail_if("alerts")
        for each in triggers:
            self.done.append("alert")
            self.triggers.append(each)

    async def publish_candidates(self, candidates: Iterable[AlertCandidate]) -> None:
        self.candidates.extend(candidates)

    def outcomes(self, outcome: str) -> float | None:
        name = "platestream_alerts_decisions_total"
        return self.registry.get_sample_value(name, {"outcome": outcome})

    def _fail_if(self, what: str) -> None:
        if what in self.failing:
            raise TransientError(f"{what} is unavailable")

    def matching(self, rule_store: RuleStore, *, early: bool = True) -> RuleMatcher:
        return RuleMatcher(
            rule_store,
            self.publish_candidates,
            self.metrics,
            early=early,
            now_ms=lambda: self.now_ms,
        )
