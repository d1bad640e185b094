"""Why alerts fired or did not, without a database."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast
from uuid import UUID

import pytest
from sqlalchemy.orm import Session

from alert_rules.rule import Condition, Rule, Sighting
from analytics_sql.recognitions import recognition_row
from api.alerts.edits import new_values
from api.alerts.insight import AlertInsight, Outcome
from api.alerts.models import AlertBook, AlertRow
from api.alerts.repository import AlertRepository
from api.alerts.schemas import AlertUpdate
from api.db.engine import Database
from tests.integration.api.application import StandInStore
from tests.records import OWNER, recognition


class _Database:
    """Does at once what it is asked."""

    async def run(self, work: Callable[[Session], AlertBook]) -> AlertBook:
        return work(cast(Session, None))


class _Rows:
    """Holds alerts."""

    def __init__(self, *plates: str) -> None:
        self._alerts = tuple(_row(number, plate) for number, plate in enumerate(plates))

    def all_of(self, session: Session, owner_id: UUID) -> AlertBook:
        assert owner_id == OWNER
        return AlertBook(self._alerts, None)


def _row(number: int, plate: str) -> AlertRow:
    values = new_values(AlertUpdate.model_validate({"plates": [plate]}))
    return AlertRow(UUID(int=number), OWNER, "UTC", 1, values, 0, None, datetime.now(UTC))


async def test_rules_are_asked_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = recognition_row(recognition(1))
    insight = AlertInsight(
        cast(Database, _Database()),
        cast(AlertRepository, _Rows("ZZ", seen.plate, "ZZ*")),
        StandInStore(),
    )
    threads: set[int] = set()
    failures = Rule.failures

    def noted(self: Rule, sighting: Sighting) -> tuple[Condition, ...]:
        threads.add(threading.get_ident())
        return failures(self, sighting)

    monkeypatch.setattr(Rule, "failures", noted)
    found = await insight.explain(seen)
    assert [(each.alert.id.int, each.outcome, each.unmet) for each in found] == [
        (0, Outcome.NOT_SET_OFF, (Condition.PLATE,)),
        (1, Outcome.NOT_THEN, ()),
        (2, Outcome.NOT_SET_OFF, (Condition.PLATE,)),
    ]
    assert threads
    assert threading.get_ident() not in threads
