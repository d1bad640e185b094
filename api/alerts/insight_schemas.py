"""JSON of why alerts fired, and of what one would have fired for."""

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from analytics_sql.recognitions import RecognitionCursor
from analytics_sql.rows import LAST_STORABLE_MS
from analytics_sql.triggers import FiredFor, FiredPage, SpanRow, TriggerCursor
from api.alerts.backtest import MAX_ROWS, MAX_SECONDS, MAX_SHOWN, Backtest, BacktestResult
from api.alerts.insight import Explanation, Outcome
from api.alerts.schemas import AlertUpdate
from api.errors import invalid_field
from api.paging.cursor import CursorSealer
from api.paging.lists import ListFilter
from api.schemas import RequestModel, ResponseModel, Timestamp
from api.validation.fields import BodyInstant, from_unix_ms, to_unix_ms, whole_number
from common.alerting.rule import Condition
from common.records.alerts import AlertConfig, TriggerPhase

MAX_TRIGGERS = 200
_MAX_DAYS = 31
_DAY_MS = 24 * 60 * 60 * 1000
_PLATE_NAME: Any = Field(
    description="The plate's name in the alert's list, as it is now; null: none.",
    examples=["Courier"],
)


class ExplainedAlert(ResponseModel):
    """The outcome of a recognition for one alert."""

    alert_id: UUID = Field(description="Id of the alert.")
    alert_name: str = Field(description="The alert's name.", examples=["Stolen cars"])
    plate_name: str | None = _PLATE_NAME
    outcome: Outcome = Field(
        description="`fired`; `not_set_off`: conditions are not met; `held_back`: the alert fired "
        "for another recognition within its cooldown; `withdrawn`: it fired early for another "
        "reading of the same pass, and that was taken back; `not_then`: it would fire now, but the "
        "alert "
        "was made or changed since, or the recognition is still on its way."
    )
    unmet: list[Condition] = Field(
        description="Conditions of the alert, as it is now, that the recognition does not meet."
    )
    triggered_at: Timestamp | None = Field(description="When it was decided that it fires.")
    is_late: bool | None = Field(description="Whether it fired long after the capture.")
    phase: TriggerPhase | None = Field(
        description="`final`: it fired when the vehicle was gone. Else it fired early, and was "
        "`confirmed`, `corrected` (another plate, for which it fires as well) or `withdrawn`."
    )
    held_back_by: UUID | None = Field(description="The recognition whose cooldown held it back.")
    cooldown_until: Timestamp | None = Field(
        description="When that cooldown ended, in capture time."
    )


class ExplanationList(ResponseModel):
    """Why each of the caller's alerts fired for a recognition or did not, newest alert first."""

    alerts: list[ExplainedAlert] = Field(description="The alerts.")


class AlertTest(RequestModel):
    """An alert to try on what was recognised."""

    alert: AlertUpdate = Field(description="As for making an alert; no name is required.")
    from_: Annotated[BodyInstant, Field(alias="from", description="Inclusive, by capture time.")]
    to: Annotated[
        BodyInstant | None, Field(description="Exclusive; null: now. At most 31 days after `from`.")
    ] = None

    def backtest(self) -> Backtest:
        """Return the span that is asked for.

        Raises:
            ApiError: 400, it is none or too long.
        """
        end = datetime.now(UTC) if self.to is None else self.to
        from_ms, to_ms = (to_unix_ms(each) for each in (self.from_, end))
        if from_ms > to_ms:
            raise invalid_field("from", "must not be after to")
        if to_ms - from_ms > _MAX_DAYS * _DAY_MS:
            raise invalid_field("to", f"may be at most {_MAX_DAYS} days after from")
        within = (min(max(each, 0), LAST_STORABLE_MS) for each in (from_ms, to_ms))
        return Backtest(*within)


class TriedTrigger(ResponseModel):
    """A recognition that the alert would have fired for."""

    recognition_id: UUID = Field(description="Id of the recognition.")
    camera_id: UUID = Field(description="Id of the camera.")
    camera_name: str = Field(description="The camera's name at that time.", examples=["Gate north"])
    plate: str = Field(description="Upper case, without separators.", examples=["AB12CDE"])
    confidence: float = Field(
        ge=0, le=1, description="The chance that the plate is right.", examples=[0.97]
    )
    timestamp: Timestamp = Field(description="When the frame was captured whose reading won; UTC.")


class AlertTriggerBody(TriedTrigger):
    """A recognition that the alert fired for; `plate` is empty once it was erased."""

    id: UUID = Field(description="Its id.")
    plate_name: str | None = _PLATE_NAME
    triggered_at: Timestamp = Field(description="When it was decided that it fires.")
    is_late: bool = Field(description="Whether it fired long after the capture.")
    phase: TriggerPhase = Field(description="As in why an alert fired for a recognition.")


class AlertTriggerList(ResponseModel):
    """What an alert fired for, newest capture first."""

    triggers: list[AlertTriggerBody] = Field(description="Those of the page.")
    next_key: str | None = Field(
        description="lastKey of the next page; null: there is none.", examples=["eyJ0IjoxNzY0MH0"]
    )


class TriggerQuery(BaseModel):
    """The part of what an alert fired for that is asked for."""

    model_config = ConfigDict(frozen=True)

    limit: Annotated[int, Field(ge=1, le=MAX_TRIGGERS), BeforeValidator(whole_number)] = Field(
        default=50, description="Most triggers of the page; there may be fewer before its end."
    )
    last_key: str | None = Field(
        default=None, alias="lastKey", description="nextKey of the page before."
    )

    def after(self, wanted: ListFilter, cursors: CursorSealer) -> TriggerCursor | None:
        """Return the place from behind which the page begins; None: the newest.

        Raises:
            ApiError: 400, the cursor is not one of this list.
        """
        place = cursors.position(wanted, self.last_key)
        return None if place is None else TriggerCursor(place.captured_ms, place.id)


class AlertTestResult(ResponseModel):
    """The triggers that an alert would have had, had it never fired before."""

    evaluated: int = Field(
        description="Recognitions that were looked at, oldest first.", ge=0, examples=[1200]
    )
    matched: int = Field(description="Those that meet all conditions.", ge=0, examples=[5])
    fired: int = Field(description="Those of them that no cooldown holds back.", ge=0, examples=[3])
    is_complete: bool = Field(
        description="Whether all of the span was looked at: a call looks at no more than "
        f"{MAX_ROWS:,} recognitions and compares them for no longer than {MAX_SECONDS:g} seconds."
    )
    until: Timestamp = Field(
        description="Up to where it was looked at: `to`, or where the next call may go on `from`."
    )
    triggers: list[TriedTrigger] = Field(description=f"The first {MAX_SHOWN} that fired.")


def explained_body(found: Explanation, plate: str) -> ExplainedAlert:
    """Return the JSON form of an explanation for a recognition of ``plate``."""
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


def test_result(replay: BacktestResult) -> AlertTestResult:
    """Return the JSON form of a trial."""
    return AlertTestResult(
        evaluated=replay.evaluated,
        matched=replay.matched,
        fired=replay.triggered,
        is_complete=replay.is_complete,
        until=from_unix_ms(replay.until_ms),
        triggers=[_trigger(row) for row in replay.shown],
    )


def trigger_list(
    alert: AlertConfig, page: FiredPage, wanted: ListFilter, cursors: CursorSealer
) -> AlertTriggerList:
    """Return the JSON form of a page of what an alert fired for."""
    end, next_key = page.end, None
    if end is not None:
        next_key = cursors.seal(wanted, RecognitionCursor(end.captured_ms, end.id))
    return AlertTriggerList(
        triggers=[_fired(alert, each) for each in page.fired], next_key=next_key
    )


def _fired(alert: AlertConfig, fired: FiredFor) -> AlertTriggerBody:
    return AlertTriggerBody(
        plate_name=alert.plate_name(fired.plate),
        id=fired.id,
        recognition_id=fired.recognition_id,
        camera_id=fired.camera_id,
        camera_name=fired.camera_name,
        plate=fired.plate,
        confidence=fired.confidence,
        timestamp=from_unix_ms(fired.captured_ms),
        triggered_at=from_unix_ms(fired.decided_ms),
        is_late=fired.is_late,
        phase=fired.phase,
    )


def _trigger(row: SpanRow) -> TriedTrigger:
    return TriedTrigger(
        recognition_id=row.id,
        camera_id=row.camera_id,
        camera_name=row.camera_name,
        plate=row.plate,
        confidence=row.confidence,
        timestamp=from_unix_ms(row.captured_ms),
    )
