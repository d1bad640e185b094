"""Made-up neighbours of the alerts stage."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry

from contracts.alert_records import AlertCandidate, AlertTrigger
from contracts.early import EarlyAlerts
from contracts.errors import TransientError
from streams.alerts.cooldowns import Cooldowns
from streams.alerts.matching import Matching
from streams.alerts.metrics import AlertMetrics
from streams.alerts.rules import RuleKeeper

START_MS = 1_795_000_000_000


class World:
    """The table and the topics, with what was done to them in order."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = AlertMetrics(self.registry)
        self.now_ms = START_MS
        self.table: dict[bytes, bytes] = {}
        self.done: list[str] = []
        self.failing: set[str] = set()
        self.candidates: list[AlertCandidate] = []
        self.triggers: list[AlertTrigger] = []
        self.cooldowns = Cooldowns(
            self, self.tell, self.metrics, late_ms=60_000, now_ms=lambda: self.now_ms
        )

    def get(self, key: bytes, /) -> bytes | None:
        return self.table.get(key)

    def items(self) -> list[tuple[bytes, bytes]]:
        return list(self.table.items())

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        self._fail_if("table")
        if b"|pass " in key:
            self._fail_if("passes")
        assert key.startswith(b"%d|" % partition)
        self.done.append("table")
        if value is None:
            del self.table[key]
        else:
            self.table[key] = value

    async def tell(self, triggers: Iterable[AlertTrigger]) -> None:
        self._fail_if("alerts")
        for each in triggers:
            self.done.append("alert")
            self.triggers.append(each)

    async def suggest(self, candidates: Iterable[AlertCandidate]) -> None:
        self.candidates.extend(candidates)

    def outcomes(self, outcome: str) -> float | None:
        name = "platestream_alerts_decisions_total"
        return self.registry.get_sample_value(name, {"outcome": outcome})

    def _fail_if(self, what: str) -> None:
        if what in self.failing:
            raise TransientError(f"{what} is away")

    def matching(self, keeper: RuleKeeper, early: EarlyAlerts = EarlyAlerts.SPECIFIC) -> Matching:
        return Matching(keeper, self.suggest, self.metrics, early=early, now_ms=lambda: self.now_ms)
