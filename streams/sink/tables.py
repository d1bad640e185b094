"""Defines how the records of each topic become rows, and the table to which they are written."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from analytics_sql.client import ClickHouseClient
from analytics_sql.deliveries import check_attempt, insert_attempts, plates_of, without_content
from analytics_sql.erased_images import (
    delete_erased_photos,
    has_shared_photo,
    images_of,
    insert_erased_images,
    without_erased_photos,
)
from analytics_sql.erasure import (
    Erasure,
    Subject,
    erase_camera_counts,
    erase_deliveries,
    erase_outcomes,
    erase_recognitions,
    erase_triggers,
)
from analytics_sql.outcomes import insert_outcomes, outcome_row
from analytics_sql.recognitions import (
    RecognitionRow,
    correct_recognitions,
    insert_recognitions,
    recognition_row,
)
from analytics_sql.traffic.analytics import OwnerSpan
from analytics_sql.traffic.camera_counts import camera_minute, insert_camera_minutes
from analytics_sql.triggers import TriggerRow, insert_triggers, trigger_row
from common.records.alerts import AlertTrigger
from common.records.codec import decode
from common.records.counts import CameraCounts
from common.records.deliveries import DeliveryAttempt
from common.records.recognitions import PassOutcome, Recognition
from common.records.topics import (
    ALERTS,
    ATTEMPTS,
    CAMERA_COUNTS,
    LOST_IMAGES,
    OUTCOMES,
    RECOGNITIONS,
    Topic,
)
from common.timestamps import now_ms

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class SharedPhotos(Generic[R]):
    """Handles photos shared by the rows of several plates if one of the plates was erased.

    ``without_erased`` removes such photos from rows that have not been written yet.
    ``delete_erased`` removes such photos from the written rows of a time span.
    """

    has_one: Callable[[R], bool]
    without_erased: Callable[[ClickHouseClient, Sequence[R]], Awaitable[list[R]]]
    delete_erased: Callable[[ClickHouseClient, OwnerSpan], Awaitable[int]]


@dataclass(frozen=True, kw_only=True)
class SinkTable(Generic[R]):
    """Defines how the records of one topic are written to one table.

    ``row_of`` decodes a record and raises InvalidInputError for a value that can never be a row.
    ``insert`` writes rows and is repeatable.

    ``subject_of`` determines which erasures apply to a row. If the row's plate was erased, the
    result of ``without_plate`` is written instead, or nothing if the result is None;
    ``record_images`` then records images to be deleted. ``erase`` deletes rows of erased plates.
    """

    topic: Topic
    row_of: Callable[[bytes], R]
    insert: Callable[[ClickHouseClient, Sequence[R]], Awaitable[None]]
    subject_of: Callable[[R], Subject]
    without_plate: Callable[[R], R | None]
    erase: Callable[[ClickHouseClient, Erasure], Awaitable[int]]
    record_images: Callable[[ClickHouseClient, Sequence[R]], Awaitable[None]] | None = None
    shared_photos: SharedPhotos[R] | None = None


def _subject_of_plate(row: RecognitionRow | TriggerRow) -> Subject:
    return Subject(row.user_id, row.captured_ms, frozenset({row.plate}))


def _subject_of_attempt(row: DeliveryAttempt) -> Subject:
    delivery = row.delivery
    return Subject(delivery.owner_id, delivery.occurred_ms, plates_of(delivery))


async def _record_images(client: ClickHouseClient, rows: Sequence[RecognitionRow]) -> None:
    noted_ms = now_ms()
    await insert_erased_images(client, [note for row in rows for note in images_of(row, noted_ms)])


AnySinkTable: TypeAlias = SinkTable[Any]

RECOGNITION_TABLE: Final = SinkTable(
    topic=RECOGNITIONS,
    row_of=lambda value: recognition_row(decode(Recognition, value)),
    insert=insert_recognitions,
    subject_of=_subject_of_plate,
    without_plate=lambda _: None,
    erase=erase_recognitions,
    record_images=_record_images,
    shared_photos=SharedPhotos(
        has_one=has_shared_photo,
        without_erased=without_erased_photos,
        delete_erased=delete_erased_photos,
    ),
)
LOST_IMAGE_TABLE: Final = replace(RECOGNITION_TABLE, topic=LOST_IMAGES, insert=correct_recognitions)
"""Replacements of recognition rows whose images were never stored in S3."""
TRIGGER_TABLE: Final = SinkTable(
    topic=ALERTS,
    row_of=lambda value: trigger_row(decode(AlertTrigger, value)),
    insert=insert_triggers,
    subject_of=_subject_of_plate,
    without_plate=lambda row: replace(row, plate=""),
    erase=erase_triggers,
)
OUTCOME_TABLE: Final = SinkTable(
    topic=OUTCOMES,
    row_of=lambda value: outcome_row(decode(PassOutcome, value)),
    insert=insert_outcomes,
    subject_of=lambda row: Subject(row.user_id, row.at_ms),
    without_plate=lambda row: row,
    erase=erase_outcomes,
)
CAMERA_COUNT_TABLE: Final = SinkTable(
    topic=CAMERA_COUNTS,
    row_of=lambda value: camera_minute(decode(CameraCounts, value)),
    insert=insert_camera_minutes,
    subject_of=lambda row: Subject(row.user_id, row.minute_ms),
    without_plate=lambda row: row,
    erase=erase_camera_counts,
)
ATTEMPT_TABLE: Final = SinkTable(
    topic=ATTEMPTS,
    row_of=lambda value: check_attempt(decode(DeliveryAttempt, value)),
    insert=insert_attempts,
    subject_of=_subject_of_attempt,
    without_plate=without_content,
    erase=erase_deliveries,
)

SINK_TABLES: Final[tuple[AnySinkTable, ...]] = (
    RECOGNITION_TABLE,
    LOST_IMAGE_TABLE,
    TRIGGER_TABLE,
    OUTCOME_TABLE,
    CAMERA_COUNT_TABLE,
    ATTEMPT_TABLE,
)
"""All tables of the sink. Each table has a separate agent."""
