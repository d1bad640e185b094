"""Explanations of alerts, and trials of them on past recognitions, by the stage's own rules."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from sqlalchemy.orm import Session

from analytics_sql.recognitions import RecognitionRow
from analytics_sql.triggers import (
    CooldownQuestion,
    FiredPage,
    RecognitionTrigger,
    SuppressingTrigger,
    TriggerPlace,
)
from api.accounts.repository import require_owner
from api.adapters.background import BoundedThreadPool
from api.alerts.backtest import Backtest, BacktestResult
from api.alerts.repository import AlertRepository, AlertRow, new_alert
from api.alerts.schemas import AlertUpdate
from api.alerts.service import TriggerStore, all_fields, check_cameras
from api.db.database import Database
from api.db.records import alert_config
from api.errors import found
from api.validation.fields import from_unix_ms
from common.alerting.cooldown import cooldown_ms
from common.alerting.rule import Condition, SeenPlate, rule_of
from common.records.alerts import AlertConfig, CooldownScope, TriggerPhase
from common.records.ids import NIL_UUID

_CONCURRENCY = 2
# Questions to ClickHouse of all calls together: each is short, and an owner may have 200 alerts.
_MAX_QUESTIONS = 8
_QUEUE_SLOTS = 20
_TOO_MANY = "Too many alerts are tried or explained at once; wait, then try again."


class Outcome(StrEnum):
    """The outcome of a recognition for an alert."""

    TRIGGERED = "fired"
    NO_MATCH = "not_set_off"
    """It does not meet the alert's conditions as they are now."""
    SUPPRESSED_BY_COOLDOWN = "held_back"
    """It meets them, and the alert triggered for another one within the cooldown."""
    WITHDRAWN = "withdrawn"
    """It triggered early, for another reading of the same pass, and that was taken back."""
    NOT_THEN = "not_then"
    """It meets them, but did not when it came, or is still on its way."""


@dataclass(frozen=True)
class Explanation:
    """The outcome of a recognition for an alert, and the reason.

    ``unmet`` are the conditions of the alert as it is now that the recognition does not meet.
    """

    alert: AlertRow
    outcome: Outcome
    unmet: tuple[Condition, ...]
    trigger: RecognitionTrigger | None = None
    suppressed_by: SuppressingTrigger | None = None


class AlertInsight:
    """Looks at alerts; changes nothing."""

    def __init__(self, database: Database, rows: AlertRepository, store: TriggerStore) -> None:
        self._database = database
        self._rows = rows
        self._store = store
        self._threads = BoundedThreadPool(
            "alerts", concurrency=_CONCURRENCY, slots=_QUEUE_SLOTS, too_many=_TOO_MANY
        )
        self._room = asyncio.Semaphore(_MAX_QUESTIONS)

    async def explain(self, recognition: RecognitionRow) -> tuple[Explanation, ...]:
        """Return for each alert of the recognition's owner why it triggered or did not.

        Raises:
            ApiError: 429, too many ask at once.
            TransientError: PostgreSQL or ClickHouse is unavailable.
        """
        owner_id, captured_ms = recognition.user_id, recognition.captured_ms
        listing, triggers = await asyncio.gather(
            self._database.run(lambda session: self._rows.all_of(session, owner_id)),
            self._store.triggers_for(owner_id, recognition.id, captured_ms),
        )
        by_alert = {each.alert_id: each for each in triggers}
        # Long lists take seconds, in which no other call would be answered.
        with self._threads.slot():
            unmet = await self._threads.run(_all_unmet, listing.alerts, recognition)
        return await _in_order(
            self._explain(alert, recognition, why, by_alert.get(alert.id))
            for alert, why in zip(listing.alerts, unmet, strict=True)
        )

    async def fired_for(
        self, owner_id: UUID, alert_id: UUID, after: TriggerPlace | None, limit: int
    ) -> tuple[AlertConfig, FiredPage]:
        """Return an alert and what it triggered for, newest first, from behind ``after``.

        Raises:
            ApiError: 404.
            TransientError: PostgreSQL or ClickHouse is unavailable.
        """
        alert = await self._database.run(
            lambda session: self._rows.find(session, owner_id, alert_id)
        )
        config = found(alert).config
        return config, await self._store.fired_for(owner_id, alert_id, after, limit)

    async def test(self, owner_id: UUID, body: AlertUpdate, backtest: Backtest) -> BacktestResult:
        """Return what an alert would have triggered for.

        Raises:
            ApiError: 400, a camera is not the owner's; 429, too many ask at once.
            TransientError: PostgreSQL or ClickHouse is unavailable.
        """
        config = await self._database.run(lambda session: _rule_to_test(session, owner_id, body))
        with self._threads.slot():
            return await backtest.run(self._store, rule_of(config), self._threads)

    async def close(self) -> None:
        """Let what is under way end."""
        await self._threads.close()

    async def _explain(
        self,
        alert: AlertRow,
        seen: RecognitionRow,
        unmet: tuple[Condition, ...],
        trigger: RecognitionTrigger | None,
    ) -> Explanation:
        if trigger is not None:
            is_withdrawn = trigger.phase is TriggerPhase.WITHDRAWN
            outcome = Outcome.WITHDRAWN if is_withdrawn else Outcome.TRIGGERED
            return Explanation(alert, outcome, unmet, trigger=trigger)
        if unmet:
            return Explanation(alert, Outcome.NO_MATCH, unmet)
        holding = await self._holding(alert.config, seen)
        if holding is not None:
            return Explanation(alert, Outcome.SUPPRESSED_BY_COOLDOWN, (), suppressed_by=holding)
        return Explanation(alert, Outcome.NOT_THEN, ())

    async def _holding(self, alert: AlertConfig, seen: RecognitionRow) -> SuppressingTrigger | None:
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
    return [rule_of(alert.config).failures(plate) for alert in alerts]


def _rule_to_test(session: Session, owner_id: UUID, body: AlertUpdate) -> AlertConfig:
    # Whether it is switched on says nothing of what it would do.
    fields = {**all_fields(body), "enabled": True}
    check_cameras(session, owner_id, fields["camera_ids"])
    alert = new_alert(
        owner_id,
        fields,
        id=NIL_UUID,
        revision=0,
        created_at=from_unix_ms(0),
        notifications_encrypted="",
    )
    return alert_config(alert, require_owner(session, owner_id))


def _seen_plate(row: RecognitionRow) -> SeenPlate:
    return SeenPlate(row.user_id, row.camera_id, row.plate, row.confidence, row.captured_ms)
