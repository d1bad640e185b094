"""What the sink writes: for each topic its records as rows, and the table they go to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.attempts import check_attempt, insert_attempts
from analytics_sql.outcomes import OutcomeRow, insert_outcomes, outcome_row
from analytics_sql.recognitions import RecognitionRow, insert_recognitions, recognition_row
from analytics_sql.triggers import TriggerRow, insert_triggers, trigger_row
from contracts.alert_records import AlertTrigger
from contracts.deliveries import DeliveryAttempt
from contracts.recognitions import PassOutcome, Recognition
from contracts.records import decode
from contracts.topics import ALERTS, ATTEMPTS, OUTCOMES, RECOGNITIONS, Topic

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class SinkTable(Generic[R]):
    """The way from one topic to one table.

    ``row_of`` reads a record as it lies on the topic and raises InvalidInputError for what can
    never be a row; ``insert`` writes rows and can be repeated.
    """

    topic: Topic
    row_of: Callable[[bytes], R]
    insert: Callable[[AsyncClient, Sequence[R]], Awaitable[None]]


def _recognition(value: bytes) -> RecognitionRow:
    return recognition_row(decode(Recognition, value))


def _trigger(value: bytes) -> TriggerRow:
    return trigger_row(decode(AlertTrigger, value))


def _outcome(value: bytes) -> OutcomeRow:
    return outcome_row(decode(PassOutcome, value))


def _attempt(value: bytes) -> DeliveryAttempt:
    return check_attempt(decode(DeliveryAttempt, value))


AnySinkTable: TypeAlias = SinkTable[Any]

RECOGNITION_TABLE: Final = SinkTable(
    topic=RECOGNITIONS, row_of=_recognition, insert=insert_recognitions
)
TRIGGER_TABLE: Final = SinkTable(topic=ALERTS, row_of=_trigger, insert=insert_triggers)
OUTCOME_TABLE: Final = SinkTable(topic=OUTCOMES, row_of=_outcome, insert=insert_outcomes)
ATTEMPT_TABLE: Final = SinkTable(topic=ATTEMPTS, row_of=_attempt, insert=insert_attempts)

SINK_TABLES: Final[tuple[AnySinkTable, ...]] = (
    RECOGNITION_TABLE,
    TRIGGER_TABLE,
    OUTCOME_TABLE,
    ATTEMPT_TABLE,
)
"""All of them: one agent each."""
