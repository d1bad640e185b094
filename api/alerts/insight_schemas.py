"""Request and response bodies for explanations, triggers and tests of alerts."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BeforeValidator, Field

from analytics_sql.recognitions import RecognitionCursor
from analytics_sql.rows import LAST_STORABLE_MS
from analytics_sql.triggers import FiredFor, FiredPage, SpanRow, TriggerCursor
from api.alerts.backtest import MAX_ROWS, MAX_SECONDS, MAX_SHOWN, Backtest, BacktestResult
from api.alerts.insight import Explanation, Outcome
from api.alerts.schemas import AlertUpdate
from api.errors import invalid_field
from api.paging.cursor import CursorSealer
from api.paging.lists import ListFilter, NextKey
from api.schemas import QueryModel, RequestModel, ResponseModel, Timestamp
from api.validation.fields import BodyInstant, from_unix_ms, to_unix_ms, whole_number
from common.alerting.rule import Condition
from common.records.alerts import AlertConfig, TriggerPhase

MAX_TRIGGERS = 200
_MAX_DAYS = 31
_DAY_MS = 24 * 60 * 60 * 1000
_PLATE_NAME: Any = Field(
    description="Current name of the plate in the alert's list; null: none.", examples=["Courier"]
)


class ExplainedAlert(ResponseModel):
    """Outcome of a recognition for one alert."""

    alert_id: UUID = Field(description="ID of the alert.")
    alert_name: str = Field(description="Name of the alert.", examples=["Stolen cars"])
    plate_name: str | None = _PLATE_NAME
    outcome: Outcome = Field(
        description="`fired`: the alert triggered. `not_set_off`: conditions are not met. "
        "`held_back`: suppressed by the cooldown of another trigger. `withdrawn`: triggered "
        "early on another reading of the pass, and withdrawn. `not_then`: the "
        "conditions are met now, but were not when the alert was evaluated, or the recognition "
        "is still being processed."
    )
    unmet: list[Condition] = Field(
        description="Conditions of the alert's current settings that are not met."
    )
    triggered_at: Timestamp | None = Field(description="Time of the trigger (UTC); null: none.")
    is_late: bool | None = Field(
        description="Whether it triggered over two minutes after the capture."
    )
    phase: TriggerPhase | None = Field(
        description="`final`: triggered after the vehicle had left. `early`: triggered before "
        "that, and then `confirmed`, `corrected` (another plate that also matches) or `withdrawn`."
    )
    held_back_by: UUID | None = Field(description="ID of the recognition that began the cooldown.")
    cooldown_until: Timestamp | None = Field(description="End of the cooldown, in capture time.")


class ExplanationList(ResponseModel):
    """The outcome of a recognition for each alert of the account, newest alert first."""

    alerts: list[ExplainedAlert] = Field(description="The alerts.")


class AlertTest(RequestModel):
    """An alert to test against past recognitions."""

    alert: AlertUpdate = Field(description='As in "Create an alert", but `name` is optional.')
    from_: Annotated[
        BodyInstant,
        Field(alias="from", description="Start, inclusive, by capture time."),
    ]
    to: Annotated[
        BodyInstant | None,
        Field(description="End, exclusive; null: now. At most 31 days after `from`."),
    ] = None

    def backtest(self) -> Backtest:
        """Return the test of the requested time range.

        Raises:
            ApiError: 400, the time range is invalid or too long.
        """
        end = datetime.now(UTC) if self.to is None else self.to
        from_ms, to_ms = (to_unix_ms(each) for each in (self.from_, end))
        if from_ms > to_ms:
            raise invalid_field("from", "must not be later than `to`")
        if to_ms - from_ms > _MAX_DAYS * _DAY_MS:
            raise invalid_field("to", f"must be at most {_MAX_DAYS} days after `from`")
        within = (min(max(each, 0), LAST_STORABLE_MS) for each in (from_ms, to_ms))
        return Backtest(*within)


class TriedTrigger(ResponseModel):
    """A recognition that would have triggered the alert."""

    recognition_id: UUID = Field(description="ID of the recognition.")
    camera_id: UUID = Field(description="ID of the camera.")
    camera_name: str = Field(description="Camera name at capture time.", examples=["Gate north"])
    plate: str = Field(description="Plate, upper case, without separators.", examples=["AB12CDE"])
    confidence: float = Field(ge=0, le=1, description="Confidence, 0 to 1.", examples=[0.97])
    timestamp: Timestamp = Field(description="Capture time of the best reading (UTC).")


class AlertTriggerBody(TriedTrigger):
    """A trigger of the alert. `plate` is empty once it has been erased or has expired."""

    id: UUID = Field(description="ID of the trigger.")
    plate_name: str | None = _PLATE_NAME
    triggered_at: Timestamp = Field(description="Time of the trigger (UTC).")
    is_late: bool = Field(description="Whether it triggered over two minutes after the capture.")
    phase: TriggerPhase = Field(description='Trigger phase, as in "Explain alert outcomes".')


class AlertTriggerList(ResponseModel):
    """Triggers of an alert, newest capture first."""

    triggers: list[AlertTriggerBody] = Field(description="Triggers on this page.")
    next_key: NextKey


class TriggerQuery(QueryModel):
    """The query parameters of an alert's triggers."""

    limit: Annotated[int, Field(ge=1, le=MAX_TRIGGERS), BeforeValidator(whole_number)] = Field(
        default=50, description="Maximum number of triggers to return; a page may have fewer."
    )
    last_key: str | None = Field(default=None, alias="lastKey", description="Previous `nextKey`.")

    def after(self, wanted: ListFilter, cursors: CursorSealer) -> TriggerCursor | None:
        """Return the position after which the page starts, or None for the first page.

        Raises:
            ApiError: 400, the cursor belongs to a different list.
        """
        position = cursors.position(wanted, self.last_key)
        return None if position is None else TriggerCursor(position.captured_ms, position.id)


class AlertTestResult(ResponseModel):
    """Triggers that the alert would have had if no cooldown had been active at the start."""

    evaluated: int = Field(
        description="Recognitions evaluated, oldest first.", ge=0, examples=[1200]
    )
    matched: int = Field(description="Recognitions that meet all conditions.", ge=0, examples=[5])
    fired: int = Field(description="Matches not suppressed by a cooldown.", ge=0, examples=[3])
    is_complete: bool = Field(
        description="Whether the whole time range was evaluated. One call evaluates at most "
        f"{MAX_ROWS:,} recognitions and runs for at most {MAX_SECONDS:g} seconds."
    )
    until: Timestamp = Field(
        description="End of the evaluated range: `to`, or the `from` of the next call."
    )
    triggers: list[TriedTrigger] = Field(description=f"The first {MAX_SHOWN} triggers.")


def explained_body(found: Explanation, plate: str) -> ExplainedAlert:
    """Return the response body of an explanation for a recognition of ``plate``."""
    trigger, holding = found.trigger, found.suppressed_by
    cooldown_ms = round(found.alert.config.cooldown_minutes * 60_000)
    return ExplainedAlert(
        alert_id=found.alert.id,
        alert_name=found.alert.config.name,
        plate_name=found.alert.config.plate_name(plate),
        outcome=found.outcome,
        unmet=list(found.unmet),
        triggered_at=None if trigger is None else from_unix_ms(trigger.decided_ms),
        is_late=None if trigger is None else trigger.is_late,
        phase=None if trigger is None else trigger.phase,
        held_back_by=None if holding is None else holding.recognition_id,
        cooldown_until=None if holding is None else from_unix_ms(holding.captured_ms + cooldown_ms),
    )


def test_result(result: BacktestResult) -> AlertTestResult:
    """Return the response body of a test."""
    return AlertTestResult(
        evaluated=result.evaluated,
        matched=result.matched,
        fired=result.triggered,
        is_complete=result.is_complete,
        until=from_unix_ms(result.until_ms),
        triggers=[_tried_trigger(row) for row in result.shown],
    )


def trigger_list(
    alert: AlertConfig, page: FiredPage, wanted: ListFilter, cursors: CursorSealer
) -> AlertTriggerList:
    """Return the response body of a page of an alert's triggers."""
    end, next_key = page.end, None
    if end is not None:
        next_key = cursors.seal(wanted, RecognitionCursor(end.captured_ms, end.id))
    return AlertTriggerList(
        triggers=[_trigger(alert, each) for each in page.fired], next_key=next_key
    )


def _trigger(alert: AlertConfig, trigger: FiredFor) -> AlertTriggerBody:
    return AlertTriggerBody(
        plate_name=alert.plate_name(trigger.plate),
        id=trigger.id,
        recognition_id=trigger.recognition_id,
        camera_id=trigger.camera_id,
        camera_name=trigger.camera_name,
        plate=trigger.plate,
        confidence=trigger.confidence,
        timestamp=from_unix_ms(trigger.captured_ms),
        triggered_at=from_unix_ms(trigger.decided_ms),
        is_late=trigger.is_late,
        phase=trigger.phase,
    )


def _tried_trigger(row: SpanRow) -> TriedTrigger:
    return TriedTrigger(
        recognition_id=row.id,
        camera_id=row.camera_id,
        camera_name=row.camera_name,
        plate=row.plate,
        confidence=row.confidence,
        timestamp=from_unix_ms(row.captured_ms),
    )
