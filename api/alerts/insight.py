"""Explains alerts and tests alerts on past recognitions, with the code of the alerts stage."""

import asyncio
import math
import time
from collections.abc import Iterator, Mapping, Sequence
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
    TriggerCursor,
)
from api.accounts.repository import require_owner
from api.adapters.clickhouse import ClickHouseStore
from api.alerts.backtest import Backtest, BacktestResult
from api.alerts.repository import AlertRepository, AlertRow, new_alert
from api.alerts.schemas import AlertUpdate
from api.alerts.service import all_fields, check_cameras
from api.db.database import Database
from api.db.records import alert_config
from api.errors import require_found
from api.limits.fair_queue import QueueLimits
from api.limits.fair_threads import FairThreads, TimeBudget
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.validation.fields import from_unix_ms
from common.alerting.cooldown import cooldown_ms
from common.alerting.rule import Condition, Rule, Sighting, rule_cost, rule_of
from common.records.alerts import AlertConfig, CooldownScope, TriggerPhase
from common.records.ids import NIL_UUID

# An account uses at most one thread. Each waiting call holds 5,000 recognitions in memory.
_LIMITS = QueueLimits(at_once=2, waiting=20, each=1)
_WAIT_SECONDS = 10.0
# Maximum number of concurrent ClickHouse queries per call. An account can have 200 alerts.
_MAX_QUERIES = 8
_TOO_MANY = "Too many alert tests or explanations are running. Try again shortly."
_SLICE_SECONDS = 0.05
"""Length of a turn. Turns are short, so that one account's tests do not delay other accounts."""
_BUDGET_SECONDS = 10.0
_USED_UP = (
    f"The account's alert tests and explanations have used their {_BUDGET_SECONDS:g} s of CPU "
    "time per minute. Try again later."
)


class Outcome(StrEnum):
    """Outcome of a recognition for an alert."""

    TRIGGERED = "fired"
    NO_MATCH = "not_set_off"
    """The recognition does not meet the alert's current conditions."""
    SUPPRESSED_BY_COOLDOWN = "held_back"
    """The conditions are met, but another recognition triggered the alert within the cooldown."""
    WITHDRAWN = "withdrawn"
    """An early trigger, caused by another reading of the same pass, was withdrawn."""
    NOT_THEN = "not_then"
    """The conditions are met now, but were not when evaluated, or processing has not finished."""


@dataclass(frozen=True)
class Explanation:
    """The outcome of a recognition for an alert, and the reason.

    ``unmet`` are the alert's current conditions that the recognition does not meet.
    """

    alert: AlertRow
    outcome: Outcome
    unmet: tuple[Condition, ...]
    trigger: RecognitionTrigger | None = None
    suppressed_by: SuppressingTrigger | None = None


class AlertInsight:
    """Explains and tests alerts, without changing anything."""

    def __init__(
        self, database: Database, rows: AlertRepository, store: ClickHouseStore, limits: OwnerLimits
    ) -> None:
        self._database = database
        self._rows = rows
        self._store = store
        self._limits = limits
        self._threads = FairThreads(
            "alerts", _LIMITS, wait_seconds=_WAIT_SECONDS, too_many=_TOO_MANY
        )
        self._budget = TimeBudget(_BUDGET_SECONDS, _USED_UP)

    async def explain(self, recognition: RecognitionRow) -> tuple[Explanation, ...]:
        """Return, for each alert of the account, whether a recognition triggered the alert and why.

        Raises:
            ApiError: 429, too many calls are waiting, or the account's CPU time is used up.
            TransientError: PostgreSQL or ClickHouse is unavailable.
        """
        owner_id, captured_ms = recognition.user_id, recognition.captured_ms
        listing, triggers = await asyncio.gather(
            self._database.run(lambda session: self._rows.list_alerts(session, owner_id)),
            self._store.triggers_for(owner_id, recognition.id, captured_ms),
        )
        by_alert = {each.alert_id: each for each in triggers}
        unmet: list[tuple[Condition, ...]] = []
        await self._work(owner_id, _unmet(listing.alerts, recognition, unmet))
        found: list[Explanation] = []
        pairs = list(zip(listing.alerts, unmet, strict=True))
        for start in range(0, len(pairs), _MAX_QUERIES):
            found += await asyncio.gather(
                *(
                    self._explain(alert, recognition, why, by_alert.get(alert.id))
                    for alert, why in pairs[start : start + _MAX_QUERIES]
                )
            )
        return tuple(found)

    async def list_triggers(
        self, owner_id: UUID, alert_id: UUID, after: TriggerCursor | None, limit: int
    ) -> tuple[AlertConfig, FiredPage]:
        """Return an alert and its triggers, newest first, starting after ``after``.

        Raises:
            ApiError: 404, the account has no such alert.
            TransientError: PostgreSQL or ClickHouse is unavailable.
        """
        alert = await self._database.run(
            lambda session: self._rows.find(session, owner_id, alert_id)
        )
        config = require_found(alert).config
        return config, await self._store.fired_for(owner_id, alert_id, after, limit)

    async def test(self, owner_id: UUID, body: AlertUpdate, backtest: Backtest) -> BacktestResult:
        """Return the recognitions that would have triggered an alert.

        Raises:
            ApiError: 400, a camera is not in the account; 409, the plate list exceeds the account's
                limit; 429, too many calls are waiting, or the account's CPU time is used up.
            TransientError: PostgreSQL or ClickHouse is unavailable.
        """
        self._budget.require(owner_id)
        config, own_limits = await self._database.run(
            lambda session: _rule_to_test(session, owner_id, body)
        )
        rules: list[Rule] = []
        await self._work(owner_id, self._prepared(config, own_limits, rules))
        return await backtest.run(
            self._store, rules[0], lambda steps, seconds: self._work(owner_id, steps, seconds)
        )

    async def close(self) -> None:
        """Wait until running work has finished."""
        await asyncio.to_thread(self._threads.close)

    async def _work(
        self, owner_id: UUID, steps: Iterator[object], seconds: float = math.inf
    ) -> float:
        """Run steps in short turns until the steps end or have used ``seconds`` of CPU time.

        Return the seconds used.

        Raises:
            ApiError: 429, too many calls are waiting, or the account's CPU time is used up.
        """
        used, is_done = 0.0, False
        while not is_done:
            is_done, more = await self._threads.run(
                owner_id, self._work_slice, owner_id, steps, seconds - used
            )
            used += more
            is_done = is_done or used >= seconds
        return used

    def _work_slice(
        self, owner_id: UUID, steps: Iterator[object], seconds: float
    ) -> tuple[bool, float]:
        """Run steps for one turn. Return whether the steps have ended, and the seconds used."""
        # The budget is checked within the turn, because an account has only one turn at a time.
        self._budget.require(owner_id)
        began, until = time.thread_time(), time.monotonic() + _SLICE_SECONDS
        try:
            for _ in steps:
                if time.monotonic() >= until or time.thread_time() - began >= seconds:
                    return False, time.thread_time() - began
            return True, time.thread_time() - began
        finally:
            self._budget.spend(owner_id, time.thread_time() - began)

    def _prepared(
        self, config: AlertConfig, own: Mapping[str, int], rules: list[Rule]
    ) -> Iterator[None]:
        """Check the cost of an alert's rule, then append the rule to ``rules``."""
        cost = rule_cost(config.plate_match_mode, config.plates, config.match_tolerance)
        self._limits.require(OwnerLimit.RULE_COST, config.owner_id, own, cost)
        yield
        rules.append(rule_of(config))

    async def _explain(
        self,
        alert: AlertRow,
        row: RecognitionRow,
        unmet: tuple[Condition, ...],
        trigger: RecognitionTrigger | None,
    ) -> Explanation:
        if trigger is not None:
            is_withdrawn = trigger.phase is TriggerPhase.WITHDRAWN
            outcome = Outcome.WITHDRAWN if is_withdrawn else Outcome.TRIGGERED
            return Explanation(alert, outcome, unmet, trigger=trigger)
        if unmet:
            return Explanation(alert, Outcome.NO_MATCH, unmet)
        holding = await self._holding(alert.config, row)
        if holding is not None:
            return Explanation(alert, Outcome.SUPPRESSED_BY_COOLDOWN, (), suppressed_by=holding)
        return Explanation(alert, Outcome.NOT_THEN, ())

    async def _holding(self, alert: AlertConfig, row: RecognitionRow) -> SuppressingTrigger | None:
        length_ms = cooldown_ms(alert)
        if not length_ms:
            return None
        scope = alert.cooldown_scope
        query = CooldownQuestion(
            user_id=row.user_id,
            alert_id=alert.alert_id,
            captured_ms=row.captured_ms,
            cooldown_ms=length_ms,
            plate=None if scope is CooldownScope.ALERT else row.plate,
            camera_id=row.camera_id if scope is CooldownScope.PLATE_CAMERA else None,
        )
        return await self._store.holding(query)


def _unmet(
    alerts: Sequence[AlertRow], row: RecognitionRow, unmet: list[tuple[Condition, ...]]
) -> Iterator[None]:
    """Append the unmet conditions of each alert, one alert per step."""
    sighting = _sighting(row)
    for alert in alerts:
        unmet.append(rule_of(alert.config).failures(sighting))
        yield


def _rule_to_test(
    session: Session, owner_id: UUID, body: AlertUpdate
) -> tuple[AlertConfig, Mapping[str, int]]:
    """Return the alert to test, and the account's own limits."""
    # A disabled alert is tested as if it were enabled.
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
    owner = require_owner(session, owner_id)
    return alert_config(alert, owner), dict(owner.limits)


def _sighting(row: RecognitionRow) -> Sighting:
    return Sighting(row.user_id, row.camera_id, row.plate, row.confidence, row.captured_ms)
