"""Tests an alert on the stored recognitions of a time range."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from analytics_sql.triggers import SpanRow
from api.adapters.clickhouse import ClickHouseStore
from api.errors import ApiError
from common.alerting.cooldown import PastTrigger, PastTriggers, cooldown_ms, decide, scope_of
from common.alerting.rule import Rule, Sighting
from common.alerting.rule_index import RuleIndex

_PAGE_ROWS = 5_000
MAX_ROWS = 200_000
"""Maximum number of recognitions that one call evaluates."""
MAX_SECONDS = 5.0
"""Maximum CPU time of one call for matching recognitions with the rule."""
MAX_SHOWN = 200
"""Maximum number of triggers in a response. All triggers are counted."""


Work = Callable[[Iterator[object], float], Awaitable[float]]
"""Runs at least one step in a thread, until the steps end or have used the given seconds of CPU
time. Returns the seconds used. Raises ApiError (429) if no CPU time is left."""


@dataclass
class BacktestResult:
    """The result of a test, which can be incomplete.

    ``until_ms`` is the end of the evaluated range (exclusive). ``matched`` counts recognitions that
    meet all conditions; ``triggered`` counts matches that no cooldown suppresses.
    """

    until_ms: int
    evaluated: int = 0
    matched: int = 0
    triggered: int = 0
    is_complete: bool = True
    shown: list[SpanRow] = field(default_factory=list)


@dataclass(frozen=True)
class Backtest:
    """The range of capture times of a test (Unix ms, UTC; end exclusive), and the test's limits."""

    from_ms: int
    to_ms: int
    max_rows: int = MAX_ROWS
    max_seconds: float = MAX_SECONDS

    async def run(self, store: ClickHouseStore, rule: Rule, work: Work) -> BacktestResult:
        """Match the recognitions of the range with a rule, oldest first, and return the result.

        If ``max_rows`` or ``max_seconds`` is reached, the result is partial, but covers at least
        one row. Triggers before the range are ignored, although their cooldown may have
        suppressed the first trigger.

        Raises:
            ApiError: 429, the account had no CPU time left for the first row.
            TransientError: ClickHouse is unavailable.
        """
        result, tested, after = BacktestResult(self.to_ms), _TestedRule(rule), None
        span_ms, left = (self.from_ms, self.to_ms), self.max_seconds
        while result.evaluated < self.max_rows:
            rows = await store.span(rule.alert.owner_id, span_ms, after, _PAGE_ROWS)
            before = result.evaluated
            try:
                left -= await work(tested.steps(rows, result), left)
            except ApiError:
                if not result.evaluated:
                    raise
            taken = result.evaluated - before
            if taken == len(rows) < _PAGE_ROWS:
                return result
            after = rows[taken - 1] if taken else after
            if taken < len(rows):
                break
        result.is_complete = after is None
        result.until_ms = self.to_ms if after is None else after.captured_ms
        return result


class _TestedRule:
    """A rule under test, with the cooldowns that its triggers have started."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._index: RuleIndex | None = None
        self._cooldown_ms = cooldown_ms(rule.alert)
        self._triggers: defaultdict[str, PastTriggers] = defaultdict(PastTriggers)

    def steps(self, rows: Sequence[SpanRow], result: BacktestResult) -> Iterator[None]:
        """Match rows with the rule and add them to the result, one row per step."""
        # Creating the index would block the event loop for too long, so this thread creates it.
        self._index = self._index or _index_of(self._rule)
        for row in rows:
            self._match(row, self._index, result)
            yield

    def _match(self, row: SpanRow, index: RuleIndex, result: BacktestResult) -> None:
        result.evaluated += 1
        if not index.matching(self._sighting(row)):
            return
        result.matched += 1
        if self._is_triggered_by(row):
            result.triggered += 1
            if len(result.shown) < MAX_SHOWN:
                result.shown.append(row)

    def _sighting(self, row: SpanRow) -> Sighting:
        owner_id = self._rule.alert.owner_id
        return Sighting(owner_id, row.camera_id, row.plate, row.confidence, row.captured_ms)

    def _is_triggered_by(self, row: SpanRow) -> bool:
        if not self._cooldown_ms:
            return True
        scope = scope_of(self._rule.alert, row.camera_id, row.plate)
        trigger = PastTrigger(row.captured_ms, str(row.id), row.captured_ms)
        decision = decide(self._triggers[scope], trigger, self._cooldown_ms)
        self._triggers[scope] = decision.after
        return decision.is_triggered


def _index_of(rule: Rule) -> RuleIndex:
    index = RuleIndex()
    index.put(rule)
    return index
