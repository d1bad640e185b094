"""Provides tables whose changes are durable before the message that caused them is released."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import faust
import structlog

from common.errors import InvalidInputError
from common.records.codec import Record, decode
from streams.runtime.sending import OutgoingMessage, send_and_wait, try_to_send

log = structlog.get_logger()
R = TypeVar("R", bound=Record)

_TOPIC_OPTIONS = {
    # A restart reads the whole changelog. With small segments, compaction keeps the log short.
    "segment.bytes": 16 * 1024 * 1024,
    "segment.ms": 600_000,
    "min.cleanable.dirty.ratio": 0.1,
}


class DurableTable:
    """A Faust table of bytes that waits until Kafka has stored a change.

    Faust itself only buffers changes. If a broker is unavailable for longer than the producer's
    timeout, Faust drops a change with a warning, and its flush before a commit waits for only
    0.1 s. Faust then commits the source's offset anyway, so that the next owner of the partition
    would start without the change.
    """

    def __init__(self, table: Any) -> None:
        """``table`` must be created by :func:`faust_table`."""
        self._table = table

    def get(self, key: bytes, /) -> bytes | None:
        """Return the value of a key, or None if the key has no value."""
        found: bytes | None = self._table.get(key)
        return found

    async def put(
        self, key: bytes, value: bytes | None, /, *, partition: int | None = None
    ) -> None:
        """Write a key's value, or None to delete the key; return once Kafka has stored the change.

        ``partition``, which an agent can omit, is the partition of the events with the key. It must
        still belong to this worker, because otherwise the next owner's write would be lost.

        Raises:
            TransientError: Kafka did not acknowledge the write; the table still has the old value.
        """
        if partition is None:
            partition = self._table.partition_for_key(key)
        await send_and_wait(self._table.changelog_topic, key=key, value=value, partition=partition)
        self._apply(key, value)

    async def put_all(self, changes: Sequence[OutgoingMessage]) -> list[bool]:
        """Write values like :meth:`put`; return for each change whether Kafka has stored it.

        The partition of each change must be given.
        """
        taken = await try_to_send(self._table.changelog_topic, changes)
        for change, is_taken in zip(changes, taken, strict=True):
            if is_taken:
                self._apply(change.key, change.value)
        return taken

    def _apply(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._table.data.pop(key, None)
        else:
            # Bypass the table's own setter, which would send the change again.
            self._table.data[key] = value

    def read(self, kind: type[R], key: bytes) -> R | None:
        """Return the record of a key, or None if the record is missing or unreadable."""
        data = self.get(key)
        return None if data is None else _read(kind, data)

    def retain(
        self, kind: type[R], partition_of: Callable[[R], int], partitions: Collection[int]
    ) -> list[tuple[bytes, R]]:
        """Return the records of this worker's partitions; drop other records from memory."""
        found: list[tuple[bytes, R]] = []
        for key, data in self.items():
            record = _read(kind, data)
            if record is None:
                continue
            if partition_of(record) in partitions:
                found.append((key, record))
            else:
                self.forget(key)
        return found

    def items(self) -> list[tuple[bytes, bytes]]:
        """Return all keys with their values."""
        return list(self._table.data.items())

    def forget(self, key: bytes, /) -> None:
        """Drop a key from memory, because another worker now owns the key's partition."""
        self._table.data.pop(key, None)


# A frame's camera state is read several times, and records are immutable.
@lru_cache(64)
def _read(kind: type[R], data: bytes) -> R | None:
    try:
        return decode(kind, data)
    except InvalidInputError as error:
        # The entry remains on the changelog for the release that wrote it.
        log.error("table_entry_unreadable", kind=kind.__name__, error=str(error))
        return None


def faust_table(app: faust.App, name: str) -> Any:
    """Return a ``faust.Table`` of bytes with as many partitions as our topics."""
    return app.Table(
        name,
        key_type=bytes,
        value_type=bytes,
        partitions=app.conf.topic_partitions,
        extra_topic_configs=_TOPIC_OPTIONS,
    )
