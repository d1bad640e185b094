"""Pieces of the frames topic by offset, for the late lane."""

import asyncio
import threading
from dataclasses import dataclass

from common.errors import MisconfiguredError, TransientError
from common.kafka.clients import (
    ConsumerRecord,
    KafkaConsumer,
    KafkaError,
    TopicPartition,
    open_consumer,
    topic_name,
)
from common.records.frames import FrameReference
from common.records.topics import FRAMES
from common.settings import KafkaSettings
from streams.recognition.reading.agent import FrameRecord

_RECORDS = 16
_POLL_MS = 500
_TIMEOUT_MS = 10_000
_BOOTSTRAP_MS = 5_000


@dataclass(frozen=True)
class StoredRecord:
    """A record of the frames topic, and when it was written (Unix ms, UTC)."""

    record: FrameRecord
    written_ms: int

    @property
    def offset(self) -> int:
        """Its place in its partition."""
        return self.record.reference.offset


@dataclass(frozen=True)
class FramePiece:
    """Some records of a partition in their order, from an offset on.

    ``first`` is the first offset that there still is, ``end`` that of the next record to come.
    """

    records: tuple[StoredRecord, ...]
    first: int
    end: int


class PieceFetcher:
    """Reads pieces. Blocking work runs in a thread, one piece at a time."""

    def __init__(self, settings: KafkaSettings) -> None:
        """Connects at the first piece."""
        self._settings = settings
        self._topic = topic_name(settings, FRAMES)
        self._consumer: KafkaConsumer | None = None
        self._lock = threading.Lock()
        self._place: tuple[int, int] | None = None

    async def fetch(self, partition: int, offset: int) -> FramePiece:
        """Return the records from an offset on, or from the first one there is; few, or none yet.

        Raises:
            TransientError: Kafka does not answer.
        """
        return await asyncio.to_thread(self._fetch, partition, offset)

    async def close(self) -> None:
        """Disconnect, until the next piece."""
        await asyncio.to_thread(self._close)

    def _fetch(self, partition: int, offset: int) -> FramePiece:
        with self._lock:
            try:
                return self._piece(partition, offset)
            except (KafkaError, MisconfiguredError) as error:
                self._drop()
                # No fault of the frames', whichever it is.
                raise TransientError(f"frames cannot be read again: {error!r}") from error

    def _piece(self, partition: int, offset: int) -> FramePiece:
        consumer = self._opened()
        place = TopicPartition(self._topic, partition)
        if self._place != (partition, offset):
            consumer.assign([place])
        first = consumer.beginning_offsets([place], _TIMEOUT_MS)[place]
        end = consumer.end_offsets([place], _TIMEOUT_MS)[place]
        begin = max(offset, first)
        if begin >= end:
            return FramePiece((), first, end)
        if self._place != (partition, begin):
            consumer.seek(place, begin)
        found = consumer.poll(_POLL_MS).get(place, [])
        # A record from before is one of a position that a reset has moved.
        records = tuple(_stored(partition, r) for r in found if r.offset >= begin)
        self._place = (partition, records[-1].offset + 1 if records else begin)
        return FramePiece(records, first, end)

    def _opened(self) -> KafkaConsumer:
        if self._consumer is None:
            self._consumer = open_consumer(
                self._settings,
                "late-frames",
                bootstrap_timeout_ms=_BOOTSTRAP_MS,
                max_poll_records=_RECORDS,
            )
            self._place = None
        return self._consumer

    def _close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()


def _stored(partition: int, record: ConsumerRecord) -> StoredRecord:
    reference = FrameReference(partition=partition, offset=record.offset)
    frame = FrameRecord(
        key=record.key or b"",
        value=record.value or b"",
        headers=dict(record.headers),
        reference=reference,
    )
    return StoredRecord(frame, record.timestamp)
