"""What an alert would have fired for in a span of time: the rows of ClickHouse, by its rule."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from alert_rules.cooldown import Firing, Firings, cooldown_ms, decide, scope_of
from alert_rules.rule import Rule, Sighting
from analytics_sql.trigger_queries import SpanRow

_PAGE_ROWS = 5_000
MOST_ROWS = 200_000
"""Recognitions that one call looks at."""
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
    """A span of capture time, from inclusive, to exclusive (Unix ms, UTC)."""

    from_ms: int
    to_ms: int
    most_rows: int = MOST_ROWS

    async def run(self, store: SpanStore, rule: Rule) -> Replay:
        """Hold all recognitions of the span against a rule, oldest first.

        The alert has never fired before the span: its first firing may be one that a cooldown
        from before would have held back.

        Raises:
            TransientError: ClickHouse is away.
        """
        replay, trial, after = Replay(self.to_ms), _Trial(rule), None
        span_ms = (self.from_ms, self.to_ms)
        while replay.evaluated < self.most_rows:
            rows = await store.span(rule.alert.owner_id, span_ms, after, _PAGE_ROWS)
            # Thousands of rows take long enough to hold up every other call.
            await asyncio.to_thread(trial.take, rows, replay)
            if len(rows) < _PAGE_ROWS:
                return replay
            after = rows[-1]
        replay.is_complete = after is None
        replay.until_ms = self.to_ms if after is None else after.captured_ms
        return replay


class _Trial:
    """A rule with the cooldowns that it has begun."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._cooldown_ms = cooldown_ms(rule.alert)
        self._firings: defaultdict[str, Firings] = defaultdict(Firings)

    def take(self, rows: Iterable[SpanRow], replay: Replay) -> None:
        """Hold rows against the rule and note what comes of them."""
        for row in rows:
            replay.evaluated += 1
            if self._rule.failures(self._sighting(row)):
                continue
            replay.matched += 1
            if self._fires(row):
                replay.fired += 1
                if len(replay.shown) < MOST_SHOWN:
                    replay.shown.append(row)

    def _sighting(self, row: SpanRow) -> Sighting:
        owner_id = self._rule.alert.owner_id
        return Sighting(owner_id, row.camera_id, row.plate, row.confidence, row.captured_ms)

    def _fires(self, row: SpanRow) -> bool:
        if not self._cooldown_ms:
            return True
        scope = scope_of(self._rule.alert, row.camera_id, row.plate)
        firing = Firing(row.captured_ms, str(row.id), row.captured_ms)
        decision = decide(self._firings[scope], firing, self._cooldown_ms)
        self._firings[scope] = decision.after
        return decision.fires
