"""Why alerts fired or did not, and what an alert would have fired for: the stage's own rules."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from sqlalchemy.orm import Session

from alert_rules.cooldown import cooldown_ms
from alert_rules.rule import Condition, SeenPlate, rule_of
from analytics_sql.recognitions import RecognitionRow
from analytics_sql.trigger_queries import CooldownQuestion, Fired, HoldingTrigger
from api.accounts.repository import require_owner
from api.alerts.backtest import Backtest, Replay
from api.alerts.config import rule_config
from api.alerts.edits import new_values
from api.alerts.history import TriggerStore
from api.alerts.models import AlertRow
from api.alerts.repository import AlertRepository
from api.alerts.schemas import AlertUpdate
from api.alerts.service import check_cameras
from api.db.engine import Database
from api.threads import FewThreads
from contracts.alerts import AlertConfig, CooldownScope
from contracts.early import TriggerPhase

_AT_ONCE = 2
# Questions to ClickHouse of all calls together: each is short, and an owner may have 200 alerts.
_QUESTIONS_AT_ONCE = 8
_PLACES = 20
_TOO_MANY = "Too many alerts are tried or explained at once; wait, then try again."


class Outcome(StrEnum):
    """What came of a recognition and an alert."""

    FIRED = "fired"
    NOT_SET_OFF = "not_set_off"
    """It does not meet the alert's conditions as they are now."""
    HELD_BACK = "held_back"
    """It meets them, and the alert fired for another one within the cooldown."""
    WITHDRAWN = "withdrawn"
    """It fired early, for another reading of the same pass, and that was taken back."""
    NOT_THEN = "not_then"
    """It meets them, but did not when it came, or is still on its way."""


@dataclass(frozen=True)
class Explanation:
    """What came of a recognition and an alert, and why.

    ``unmet`` are the conditions of the alert as it is now that the recognition does not meet.
    """

    alert: AlertRow
    outcome: Outcome
    unmet: tuple[Condition, ...]
    fired: Fired | None = None
    held_back_by: HoldingTrigger | None = None


class AlertInsight:
    """Looks at alerts; changes nothing."""

    def __init__(self, database: Database, rows: AlertRepository, store: TriggerStore) -> None:
        """Take where alerts and what they fired for are."""
        self._database = database
        self._rows = rows
        self._store = store
        self._threads = FewThreads("alerts", at_once=_AT_ONCE, places=_PLACES, too_many=_TOO_MANY)
        self._room = asyncio.Semaphore(_QUESTIONS_AT_ONCE)

    async def explain(self, recognition: RecognitionRow) -> tuple[Explanation, ...]:
        """Return for each alert of the recognition's owner why it fired or did not.

        Raises:
            ApiError: 429, too many ask at once.
            TransientError: PostgreSQL or ClickHouse is away.
        """
        owner_id, captured_ms = recognition.user_id, recognition.captured_ms
        book, fired = await asyncio.gather(
            self._database.run(lambda session: self._rows.all_of(session, owner_id)),
            self._store.fired_for(owner_id, recognition.id, captured_ms),
        )
        by_alert = {each.alert_id: each for each in fired}
        # Long lists take seconds, in which no other call would be answered.
        with self._threads.place():
            unmet = await self._threads.run(_all_unmet, book.alerts, recognition)
        return await _in_order(
            self._explain(alert, recognition, why, by_alert.get(alert.id))
            for alert, why in zip(book.alerts, unmet, strict=True)
        )

    async def replay(self, owner_id: UUID, body: AlertUpdate, backtest: Backtest) -> Replay:
        """Return what an alert would have fired for.

        Raises:
            ApiError: 400, a camera is not the owner's; 429, too many ask at once.
            TransientError: PostgreSQL or ClickHouse is away.
        """
        config = await self._database.run(lambda session: _tested(session, owner_id, body))
        with self._threads.place():
            return await backtest.run(self._store, rule_of(config), self._threads)

    async def close(self) -> None:
        """Let what is under way end."""
        await self._threads.close()

    async def _explain(
        self,
        alert: AlertRow,
        seen: RecognitionRow,
        unmet: tuple[Condition, ...],
        fired: Fired | None,
    ) -> Explanation:
        if fired is not None:
            is_withdrawn = fired.phase is TriggerPhase.WITHDRAWN
            outcome = Outcome.WITHDRAWN if is_withdrawn else Outcome.FIRED
            return Explanation(alert, outcome, unmet, fired=fired)
        if unmet:
            return Explanation(alert, Outcome.NOT_SET_OFF, unmet)
        holding = await self._holding(_config(alert), seen)
        if holding is not None:
            return Explanation(alert, Outcome.HELD_BACK, (), held_back_by=holding)
        return Explanation(alert, Outcome.NOT_THEN, ())

    async def _holding(self, alert: AlertConfig, seen: RecognitionRow) -> HoldingTrigger | None:
        length_ms = cooldown_ms(alert)
        if not length_ms:
            return None
        scope = alert.cooldown_scope
        question = CooldownQuestion(
            user_id=seen.user_id,
            alert_id=alert.alert_id,
            captured_ms=seen.captured_ms,
            cooldown_ms=length_ms,
            plate=None if scope is CooldownScope.ALERT else seen.plate,
            camera_id=seen.camera_id if scope is CooldownScope.PLATE_CAMERA else None,
        )
        async with self._room:
            return await self._store.holding(question)


async def _in_order(
    explained: Iterable[Coroutine[None, None, Explanation]],
) -> tuple[Explanation, ...]:
    """Await them together; the first that fails ends the others and is raised as it is."""
    fault: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in explained]
    except ExceptionGroup as faults:
        fault = faults.exceptions[0]
    # Outside of the handler, so that what caused it stays its cause.
    if fault is not None:
        raise fault
    return tuple(task.result() for task in tasks)


def _all_unmet(alerts: Sequence[AlertRow], seen: RecognitionRow) -> list[tuple[Condition, ...]]:
    plate = _seen_plate(seen)
    return [rule_of(_config(alert)).failures(plate) for alert in alerts]


def _config(row: AlertRow) -> AlertConfig:
    return rule_config(row.values, row.id, row.owner_id, row.owner_timezone)


def _tested(session: Session, owner_id: UUID, body: AlertUpdate) -> AlertConfig:
    # Whether it is switched on says nothing of what it would do.
    values = replace(new_values(body), enabled=True)
    check_cameras(session, owner_id, values.camera_ids)
    owner = require_owner(session, owner_id)
    return rule_config(values, UUID(int=0), owner_id, owner.timezone)


def _seen_plate(row: RecognitionRow) -> SeenPlate:
    return SeenPlate(row.user_id, row.camera_id, row.plate, row.confidence, row.captured_ms)
