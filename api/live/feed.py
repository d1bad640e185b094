"""Reads the recognitions topic into the memory of recent recognitions."""

import time
from collections.abc import Sequence

import structlog

from analytics_sql.recognitions import recognition_row
from api.live.recent import LiveRecord, RecentRecognitions
from common.errors import InvalidInputError
from common.kafka.clients import ConsumerRecord, KafkaConsumer, TopicPartition
from common.kafka.tailer import TopicTailer
from common.records.codec import decode
from common.records.recognitions import Recognition
from common.records.topics import RECOGNITIONS
from common.settings import KafkaSettings

log = structlog.get_logger()

_BACK_MS = 10 * 60_000
"""Age of the oldest records that a new process reads, so that clients can resume."""

_TIMEOUT_MS = 3_000


class RecognitionFeed(TopicTailer):
    """Reads the topic, starting ten minutes back. Resumes after an outage."""

    def __init__(self, settings: KafkaSettings, recent: RecentRecognitions) -> None:
        """Feed ``recent``, on the event loop that calls :meth:`start`."""
        super().__init__(settings, RECOGNITIONS, client="api-recognitions")
        self._recent = recent
        self._next: dict[int, int] = {}

    def seek(self, consumer: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """Resume at the last position, or start ten minutes back."""
        first = consumer.beginning_offsets(partitions, timeout_ms=_TIMEOUT_MS)
        ends = consumer.end_offsets(partitions, timeout_ms=_TIMEOUT_MS)
        if not self._can_resume(partitions, first, ends):
            self._next = _minutes_back(consumer, ends)
            start = dict(self._next)
            self.call_on_loop(lambda: self._recent.reset(start))
        for partition in partitions:
            consumer.seek(partition, self._next[partition.partition])

    def handle_records(self, records: Sequence[ConsumerRecord]) -> None:
        """Add the records to the buffer. Unreadable records also advance the position."""
        arrivals = [_live_record(record) for record in records]
        for arrival in arrivals:
            self._next[arrival.partition] = arrival.offset + 1
        self.call_on_loop(lambda: self._recent.post(arrivals))

    def on_caught_up(self) -> None:
        """Do nothing."""

    def _can_resume(
        self,
        partitions: list[TopicPartition],
        first: dict[TopicPartition, int],
        ends: dict[TopicPartition, int],
    ) -> bool:
        # The result is false if unread records were deleted or the topic was recreated.
        return all(
            first[partition] <= self._next.get(partition.partition, -1) <= ends[partition]
            for partition in partitions
        )


def _minutes_back(consumer: KafkaConsumer, ends: dict[TopicPartition, int]) -> dict[int, int]:
    since_ms = time.time_ns() // 1_000_000 - _BACK_MS
    found = consumer.offsets_for_times(dict.fromkeys(ends, since_ms), timeout_ms=_TIMEOUT_MS)
    return {
        partition.partition: found[partition].offset if found.get(partition) else end
        for partition, end in ends.items()
    }


def _live_record(record: ConsumerRecord) -> LiveRecord:
    try:
        recognition = recognition_row(decode(Recognition, record.value or b""))
    except InvalidInputError as error:
        # The sink stores the record as a dead letter. Here, the record is skipped.
        log.warning("live_record_unreadable", error=str(error), offset=record.offset)
        return LiveRecord(record.partition, record.offset, None)
    return LiveRecord(record.partition, record.offset, recognition)
