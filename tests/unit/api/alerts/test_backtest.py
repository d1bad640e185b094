"""Tests of alerts on past recognitions, and trigger counts while ClickHouse is unavailable."""

import asyncio
from collections.abc import Iterator
from uuid import UUID

import pytest

from analytics_sql.triggers import SpanRow, TriggerCount
from api.alerts import backtest
from api.alerts.backtest import Backtest, BacktestResult
from api.alerts.insight_schemas import AlertTest
from api.alerts.service import TriggerHistory
from api.errors import ApiError, ErrorCode
from common.alerting.rule import rule_of
from common.errors import MisconfiguredError, TransientError
from common.plates.matching import PlateMatcher
from common.records.alerts import CooldownScope, PlateMatchMode
from tests.integration.api.application import StandInStore
from tests.records import OWNER, alert

_MINUTE_MS = 60_000
_START_MS = 1_795_000_000_000


class _Store(StandInStore):
    """Contains rows one minute apart, and trigger counts. Raises ``fault`` if it is set."""

    def __init__(self, *plates: str) -> None:
        super().__init__()
        self.rows = [
            SpanRow(UUID(int=at), UUID(int=1), "Gate", plate, 0.9, _START_MS + at * _MINUTE_MS)
            for at, plate in enumerate(plates)
        ]
        self.spans = 0
        self.counts = {alert(1).alert_id: TriggerCount(3, _START_MS)}
        self.fault: Exception | None = None
        self.counted = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def span(
        self, owner_id: UUID, span_ms: tuple[int, int], after: SpanRow | None, limit: int
    ) -> tuple[SpanRow, ...]:
        self.spans += 1
        assert owner_id == OWNER
        start = 0 if after is None else self.rows.index(after) + 1
        return tuple(self.rows[start : start + limit])

    async def trigger_counts(self, owner_id: UUID) -> dict[UUID, TriggerCount]:
        self.counted += 1
        await self.answers.wait()
        if self.fault is not None:
            raise self.fault
        return self.counts


async def _work(steps: Iterator[object], seconds: float) -> float:
    """Perform steps of one second each until ``seconds`` are used. Return the seconds used."""
    used = 0.0
    for _ in steps:
        used += 1
        if used >= seconds:
            break
    return used


async def _run(store: _Store, **rule: object) -> BacktestResult:
    span = Backtest(_START_MS, _START_MS + 1000 * _MINUTE_MS, max_rows=40, max_seconds=1000)
    return await span.run(store, rule_of(alert(1, **rule)), _work)


async def test_the_cooldown_counts_from_trigger_to_trigger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtest, "_PAGE_ROWS", 4)
    store = _Store(*["AB1", "XY2"] * 6)
    replay = await _run(store)
    assert (replay.evaluated, replay.matched, replay.triggered) == (12, 12, 3)
    assert [row.captured_ms for row in replay.shown] == [
        _START_MS + minute * _MINUTE_MS for minute in (0, 5, 10)
    ]
    assert replay.is_complete
    assert store.spans == 4


async def test_conditions_and_scopes_are_those_of_the_stage() -> None:
    store = _Store(*["AB1", "XY2"] * 6)
    listed = await _run(store, plate_match_mode=PlateMatchMode.SPECIFIC, plates=("xy*",))
    assert (listed.matched, listed.triggered) == (6, 2)
    each = await _run(store, cooldown_scope=CooldownScope.PLATE)
    assert (each.matched, each.triggered) == (12, 4)
    free = await _run(store, cooldown_minutes=0)
    assert free.triggered == 12


async def test_a_span_of_too_many_rows_says_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backtest, "_PAGE_ROWS", 20)
    monkeypatch.setattr(backtest, "MAX_SHOWN", 5)
    replay = await _run(_Store(*["AB1"] * 100), cooldown_minutes=0)
    assert (replay.evaluated, replay.triggered, len(replay.shown)) == (40, 40, 5)
    assert (replay.is_complete, replay.until_ms) == (False, _START_MS + 39 * _MINUTE_MS)


async def test_a_trial_that_takes_too_long_says_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backtest, "_PAGE_ROWS", 4)
    store, rule = _Store(*["AB1"] * 10), rule_of(alert(1, cooldown_minutes=0))
    span_ms = (_START_MS, _START_MS + 1000 * _MINUTE_MS)
    in_time = await Backtest(*span_ms, max_seconds=60).run(store, rule, _work)
    assert (in_time.triggered, in_time.is_complete, in_time.until_ms) == (10, True, span_ms[1])

    late = await Backtest(*span_ms, max_seconds=6).run(store, rule, _work)
    assert (late.evaluated, late.triggered, late.is_complete) == (6, 6, False)
    assert late.until_ms == store.rows[5].captured_ms
    rest = await Backtest(late.until_ms, span_ms[1], max_seconds=0).run(store, rule, _work)
    assert (rest.evaluated, rest.is_complete) == (1, False)


async def test_a_trial_whose_owner_has_no_time_left_says_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backtest, "_PAGE_ROWS", 4)
    left = 6

    async def work(steps: Iterator[object], seconds: float) -> float:
        nonlocal left
        for _ in steps:
            left -= 1
            if not left:
                raise ApiError(ErrorCode.RATE_LIMITED)
        return 0

    store, rule = _Store(*["AB1"] * 10), rule_of(alert(1, cooldown_minutes=0))
    span = Backtest(_START_MS, _START_MS + 1000 * _MINUTE_MS)
    replay = await span.run(store, rule, work)
    assert (replay.evaluated, replay.is_complete) == (6, False)
    assert replay.until_ms == store.rows[5].captured_ms

    async def refused(steps: Iterator[object], seconds: float) -> float:
        raise ApiError(ErrorCode.RATE_LIMITED)

    with pytest.raises(ApiError):
        await span.run(store, rule, refused)


async def test_a_long_list_is_not_compared_entry_by_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    plates = tuple(f"AB{number:04}CD" for number in range(1_000))
    compared: list[str] = []
    matches = PlateMatcher.matches

    def counted(self: PlateMatcher, plate: str) -> bool:
        compared.append(plate)
        return matches(self, plate)

    monkeypatch.setattr(PlateMatcher, "matches", counted)
    replay = await _run(
        _Store(*["XY98765"] * 20, "AB0007CDE"),
        plate_match_mode=PlateMatchMode.SPECIFIC,
        plates=plates,
        match_tolerance=1,
    )
    assert (replay.evaluated, replay.matched) == (21, 1)
    assert len(compared) < 100


@pytest.mark.parametrize(
    ("start", "end", "path"),
    [
        ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "from"),
        ("2026-01-01T00:00:00Z", "2026-02-01T00:00:01Z", "to"),
    ],
)
def test_spans_that_are_empty_or_too_long_are_refused(start: str, end: str, path: str) -> None:
    body = AlertTest.model_validate({"alert": {}, "from": start, "to": end})
    with pytest.raises(ApiError) as caught:
        body.backtest()
    assert [fault.path for fault in caught.value.fields] == [path]


def test_a_span_before_all_times_is_empty() -> None:
    body = AlertTest.model_validate(
        {"alert": {}, "from": "0001-01-01T00:00:00Z", "to": "0001-01-02T00:00:00Z"}
    )
    assert body.backtest() == Backtest(0, 0)


@pytest.mark.parametrize(
    "fault",
    [TransientError("unavailable"), MisconfiguredError("no table"), KeyError("x")],
    ids=repr,
)
async def test_counts_of_the_last_time_are_shown_while_clickhouse_is_unavailable(
    fault: Exception,
) -> None:
    store = _Store()
    history = TriggerHistory(store, now_ms=lambda: 7)
    store.fault = fault
    assert (await history.get_counts(OWNER)).read_ms is None
    store.fault = None
    known = await history.get_counts(OWNER)
    assert (known.counts, known.read_ms) == (store.counts, 7)
    store.fault = fault
    assert await history.get_counts(OWNER) == known
    assert (await history.get_counts(UUID(int=5))).counts == {}


async def test_a_slow_answer_is_there_for_the_next_call() -> None:
    store = _Store()
    history = TriggerHistory(store, wait_seconds=0.01)
    store.answers.clear()
    assert (await history.get_counts(OWNER)).read_ms is None
    assert (await history.get_counts(OWNER)).read_ms is None
    assert store.counted == 1
    store.answers.set()
    assert (await history.get_counts(OWNER)).counts == store.counts
    store.answers.clear()
    assert (await history.get_counts(OWNER)).counts == store.counts
    await history.close()
