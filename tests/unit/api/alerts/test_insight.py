"""Reasons why alerts did or did not trigger, tested without a database."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import msgspec
import pytest
from sqlalchemy.orm import Session

from analytics_sql.recognitions import recognition_row
from analytics_sql.triggers import CooldownQuestion, SuppressingTrigger
from api.adapters.clickhouse import ClickHouseStore
from api.alerts import insight
from api.alerts.backtest import Backtest
from api.alerts.insight import AlertInsight, Outcome
from api.alerts.repository import AlertListing, AlertRepository, AlertRow, new_alert
from api.alerts.schemas import AlertUpdate
from api.alerts.service import all_fields
from api.db.database import Database
from api.db.records import alert_config
from api.db.tables import Owner
from api.errors import ApiError, Dependency, DependencyUnavailableError, ErrorCode
from common.alerting.rule import Condition, Rule, Sighting
from tests.integration.api.application import StandInStore
from tests.records import OWNER, recognition
from tests.unit.api.callers import endless_limits


class _Database:
    """Runs transactions immediately."""

    async def run(self, work: Callable[[Session], AlertListing]) -> AlertListing:
        return work(cast(Session, None))


class _Rows:
    def __init__(self, *plates: str) -> None:
        self._alerts = tuple(_row(number, plate) for number, plate in enumerate(plates))

    def list_alerts(self, session: Session, owner_id: UUID) -> AlertListing:
        assert owner_id == OWNER
        return AlertListing(self._alerts, None)


class _SlowStore(StandInStore):
    """Reports every second alert as suppressed. Later questions are answered sooner."""

    def __init__(self, *, fails_for: UUID | None = None) -> None:
        super().__init__()
        self.count, self.peak, self._waiting = 0, 0, 0
        self._fails_for = fails_for

    async def holding(self, question: CooldownQuestion) -> SuppressingTrigger | None:
        self.count, self._waiting = self.count + 1, self._waiting + 1
        self.peak = max(self.peak, self._waiting)
        try:
            await asyncio.sleep(0.02 / self.count)
        finally:
            self._waiting -= 1
        if question.alert_id == self._fails_for:
            raise DependencyUnavailableError(Dependency.SEARCH)
        number = question.alert_id.int
        return SuppressingTrigger(question.alert_id, question.captured_ms) if number % 2 else None


def _row(number: int, plate: str) -> AlertRow:
    fields = all_fields(AlertUpdate.model_validate({"plates": [plate]}))
    now = datetime.now(UTC)
    alert = new_alert(
        OWNER, fields, id=UUID(int=number), revision=1, created_at=now, notifications_encrypted=""
    )
    return AlertRow(alert_config(alert, Owner(timezone="UTC")), (), 0, None, now)


async def test_rules_are_matched_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = recognition_row(recognition(1))
    insight = _insight(StandInStore(), "ZZ", seen.plate, "ZZ*")
    threads: set[int] = set()
    failures = Rule.failures

    def noted(self: Rule, plate: Sighting) -> tuple[Condition, ...]:
        threads.add(threading.get_ident())
        return failures(self, plate)

    monkeypatch.setattr(Rule, "failures", noted)
    found = await insight.explain(seen)
    assert [(each.alert.id.int, each.outcome, each.unmet) for each in found] == [
        (0, Outcome.NO_MATCH, (Condition.PLATE,)),
        (1, Outcome.NOT_THEN, ()),
        (2, Outcome.NO_MATCH, (Condition.PLATE,)),
    ]
    assert threads
    assert threading.get_ident() not in threads


async def test_cooldowns_are_asked_for_a_few_at_once_and_answered_in_order() -> None:
    seen, store = recognition_row(recognition(1)), _SlowStore()
    found = await _insight(store, *[seen.plate] * 40).explain(seen)
    outcomes = (Outcome.NOT_THEN, Outcome.SUPPRESSED_BY_COOLDOWN)
    assert [(each.alert.id.int, each.outcome) for each in found] == [
        (number, outcomes[number % 2]) for number in range(40)
    ]
    assert (store.count, store.peak) == (40, 8)


async def test_a_cooldown_that_cannot_be_asked_for_ends_the_call() -> None:
    seen, store = recognition_row(recognition(1)), _SlowStore(fails_for=UUID(int=3))
    with pytest.raises(DependencyUnavailableError):
        await _insight(store, *[seen.plate] * 40).explain(seen)
    assert store.count < 40


async def test_an_owner_has_so_much_processor_time_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = recognition_row(recognition(1))
    made = _insight(StandInStore(), *["ZZ"] * 40)
    used = itertools.count()
    # The thread's clock advances by a second each time it is read.
    clock = SimpleNamespace(thread_time=lambda: next(used), monotonic=time.monotonic)
    monkeypatch.setattr(insight, "time", clock)
    assert len(await made.explain(seen)) == 40
    with pytest.raises(ApiError, match="CPU time") as refused:
        await made.explain(seen)
    assert refused.value.code is ErrorCode.RATE_LIMITED
    assert refused.value.retry_after_seconds == 60
    body, span = AlertUpdate.model_validate({"plates": ["AB1"]}), Backtest(0, 1)
    with pytest.raises(ApiError, match="CPU time"):
        await made.test(OWNER, body, span)
    # Another account has its own limit of CPU time.
    monkeypatch.setattr("tests.unit.api.alerts.test_insight.OWNER", UUID(int=9))
    assert len(await made.explain(msgspec.structs.replace(seen, user_id=UUID(int=9)))) == 40


def _insight(store: ClickHouseStore, *plates: str) -> AlertInsight:
    rows, limits = cast(AlertRepository, _Rows(*plates)), endless_limits()
    return AlertInsight(cast(Database, _Database()), rows, store, limits)
