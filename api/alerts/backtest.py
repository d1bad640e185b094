"""Trials of an alert on the recognitions of a span of time, which ClickHouse holds."""

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
"""Recognitions that one call looks at."""
MAX_SECONDS = 5.0
"""Processor time for which one call compares them with the rule."""
MAX_SHOWN = 200
"""Triggers that an answer lists; all are counted."""


Work = Callable[[Iterator[object], float], Awaitable[float]]
"""Does steps in a thread until they end or have used so many seconds of a processor, at least one
step. Returns the seconds used. Raises ApiError (429) if the caller may use no more."""


@dataclass
class BacktestResult:
    """The result of a trial so far.

    ``matched`` fulfil all conditions, ``triggered`` of them are not suppressed by the cooldown.
    ``until_ms`` is up to where the recognitions were looked at (Unix ms, exclusive).
    """

    until_ms: int
    evaluated: int = 0
    matched: int = 0
    triggered: int = 0
    is_complete: bool = True
    shown: list[SpanRow] = field(default_factory=list)


@dataclass(frozen=True)
class Backtest:
    """A span of capture time, from inclusive, to exclusive (Unix ms, UTC), and how much is done."""

    from_ms: int
    to_ms: int
    max_rows: int = MAX_ROWS
    max_seconds: float = MAX_SECONDS

    async def run(self, store: ClickHouseStore, rule: Rule, work: Work) -> BacktestResult:
        """Hold all recognitions of the span against a rule, oldest first.

        What is found so far is returned once the rows or the seconds are used up; one row is looked
        at even so. The alert has never triggered before the span: its first trigger may be one that
        a cooldown from before would have suppressed.

        Raises:
            ApiError: 429, no row was looked at because ``work`` raised it.
            TransientError: ClickHouse is unavailable.
        """
        replay, trial, after = BacktestResult(self.to_ms), _RuleTrial(rule), None
        span_ms, left = (self.from_ms, self.to_ms), self.max_seconds
        while replay.evaluated < self.max_rows:
            rows = await store.span(rule.alert.owner_id, span_ms, after, _PAGE_ROWS)
            before = replay.evaluated
            try:
                left -= await work(trial.steps(rows, replay), left)
            except ApiError:
                if not replay.evaluated:
                    raise
            taken = replay.evaluated - before
            if taken == len(rows) < _PAGE_ROWS:
                return replay
            after = rows[taken - 1] if taken else after
            if taken < len(rows):
                break
        replay.is_complete = after is None
        replay.until_ms = self.to_ms if after is None else after.captured_ms
        return replay


class _RuleTrial:
    """A rule with the cooldowns that it has begun."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._index: RuleIndex | None = None
        self._cooldown_ms = cooldown_ms(rule.alert)
        self._triggers: defaultdict[str, PastTriggers] = defaultdict(PastTriggers)

    def steps(self, rows: Sequence[SpanRow], replay: BacktestResult) -> Iterator[None]:
        """Hold rows against the rule and note the result, one row a step."""
        # Creating the index takes too long for the event loop.
        self._index = self._index or _index_of(self._rule)
        for row in rows:
            self._match(row, self._index, replay)
            yield

    def _match(self, row: SpanRow, index: RuleIndex, replay: BacktestResult) -> None:
        replay.evaluated += 1
        if not index.matching(self._sighting(row)):
            return
        replay.matched += 1
        if self._is_triggered_by(row):
            replay.triggered += 1
            if len(replay.shown) < MAX_SHOWN:
                replay.shown.append(row)

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
