"""What an alert would have fired for in a span of time: the rows of ClickHouse, by its rule."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol
from uuid import UUID

from alert_rules.cooldown import Firing, Firings, cooldown_ms, decide, scope_of
from alert_rules.rule import Rule, SeenPlate
from alert_rules.rule_book import RuleBook
from analytics_sql.trigger_queries import SpanRow
from api.threads import FewThreads

_PAGE_ROWS = 5_000
MOST_ROWS = 200_000
"""Recognitions that one call looks at."""
MOST_SECONDS = 5.0
"""For which one call compares them with the rule."""
MOST_SHOWN = 200
"""Firings that an answer lists; all are counted."""


class SpanStore(Protocol):
    """Where recognitions are."""

    async def span(
        self, owner_id: UUID, span_ms: tuple[int, int], after: SpanRow | None, limit: int
    ) -> tuple[SpanRow, ...]:
        """Return the owner's recognitions of a span, oldest first, from behind ``after``."""


@dataclass
class Replay:
    """What came of it so far.

    ``matched`` fulfil all conditions, ``fired`` of them are not held back by the cooldown.
    ``until_ms`` is up to where the recognitions were looked at (Unix ms, exclusive).
    """

    until_ms: int
    evaluated: int = 0
    matched: int = 0
    fired: int = 0
    is_complete: bool = True
    shown: list[SpanRow] = field(default_factory=list)


@dataclass(frozen=True)
class Backtest:
    """A span of capture time, from inclusive, to exclusive (Unix ms, UTC), and how much is done."""

    from_ms: int
    to_ms: int
    most_rows: int = MOST_ROWS
    most_seconds: float = MOST_SECONDS

    async def run(self, store: SpanStore, rule: Rule, threads: FewThreads) -> Replay:
        """Hold all recognitions of the span against a rule, oldest first.

        What is found so far is returned once the rows or the seconds are used up; one row is looked
        at even so. The alert has never fired before the span: its first firing may be one that a
        cooldown from before would have held back.

        Raises:
            TransientError: ClickHouse is away.
        """
        replay, trial, after = Replay(self.to_ms), _Trial(rule, self.most_seconds), None
        span_ms = (self.from_ms, self.to_ms)
        while replay.evaluated < self.most_rows:
            rows = await store.span(rule.alert.owner_id, span_ms, after, _PAGE_ROWS)
            # Thousands of rows take long enough to hold up every other call.
            taken = await threads.run(trial.take, rows, replay)
            if taken == len(rows) < _PAGE_ROWS:
                return replay
            after = rows[taken - 1]
            if taken < len(rows):
                break
        replay.is_complete = after is None
        replay.until_ms = self.to_ms if after is None else after.captured_ms
        return replay


class _Trial:
    """A rule with the cooldowns that it has begun."""

    def __init__(self, rule: Rule, seconds: float) -> None:
        self._rule = rule
        self._seconds = seconds
        self._book: RuleBook | None = None
        self._cooldown_ms = cooldown_ms(rule.alert)
        self._firings: defaultdict[str, Firings] = defaultdict(Firings)

    def take(self, rows: Sequence[SpanRow], replay: Replay) -> int:
        """Hold rows against the rule and note what comes of them; return how many.

        Fewer than all where the seconds, over all calls, are used up.
        """
        began = monotonic()
        # The index takes a while to make, too long for the thread that makes the trial.
        self._book = self._book or _book_of(self._rule)
        before = replay.evaluated
        for row in rows:
            self._take(row, self._book, replay)
            if monotonic() - began >= self._seconds:
                break
        self._seconds -= monotonic() - began
        return replay.evaluated - before

    def _take(self, row: SpanRow, book: RuleBook, replay: Replay) -> None:
        replay.evaluated += 1
        if not book.matching(self._seen_plate(row)):
            return
        replay.matched += 1
        if self._fires(row):
            replay.fired += 1
            if len(replay.shown) < MOST_SHOWN:
                replay.shown.append(row)

    def _seen_plate(self, row: SpanRow) -> SeenPlate:
        owner_id = self._rule.alert.owner_id
        return SeenPlate(owner_id, row.camera_id, row.plate, row.confidence, row.captured_ms)

    def _fires(self, row: SpanRow) -> bool:
        if not self._cooldown_ms:
            return True
        scope = scope_of(self._rule.alert, row.camera_id, row.plate)
        firing = Firing(row.captured_ms, str(row.id), row.captured_ms)
        decision = decide(self._firings[scope], firing, self._cooldown_ms)
        self._firings[scope] = decision.after
        return decision.fires


def _book_of(rule: Rule) -> RuleBook:
    book = RuleBook()
    book.put(rule)
    return book
