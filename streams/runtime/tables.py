"""A table whose writes are safe before the message that caused them is released."""

from collections.abc import Sequence
from typing import Any

import faust

from streams.runtime.sending import OutgoingMessage, send_and_wait, try_to_send

_TOPIC_OPTIONS = {
    # A restart reads the whole changelog: small segments, so that compaction keeps it short.
    "segment.bytes": 16 * 1024 * 1024,
    "segment.ms": 600_000,
    "min.cleanable.dirty.ratio": 0.1,
}


class DurableTable:
    """A Faust table of bytes that waits until Kafka has a change.

    Faust itself only buffers it: it gives the change up with a warning after the producer's
    time-out (a broker unavailable for longer), and its flush before a commit stops waiting for
    the buffer after 0.1 s. The source's offset is then committed all the same, so that the next
    owner of the partition would begin without the change.
    """

    def __init__(self, table: Any) -> None:
        """``table`` is one of :func:`faust_table`."""
        self._table = table

    def get(self, key: bytes, /) -> bytes | None:
        """Return a key's value, None at first."""
        found: bytes | None = self._table.get(key)
        return found

    async def write(self, key: bytes, value: bytes, /) -> None:
        """Write a key's value, within an agent's event; when this returns Kafka has it.

        Raises:
            TransientError: Kafka did not take it; the table still has the value before.
        """
        partition = self._table.partition_for_key(key)
        topic = self._table.changelog_topic
        await send_and_wait(topic, key=key, value=value, partition=partition)
        self._note(key, value)

    async def delete(self, key: bytes, /) -> None:
        """Delete a key, within an agent's event; when this returns Kafka has it.

        Raises:
            TransientError: Kafka did not take it; the table still has the value.
        """
        partition = self._table.partition_for_key(key)
        await send_and_wait(self._table.changelog_topic, key=key, value=None, partition=partition)
        self._note(key, None)

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write a key's value outside of an event, None to delete it; then Kafka has it.

        ``partition`` is that of the events the key comes from. It must still be this worker's, or
        what the next owner wrote is undone.

        Raises:
            TransientError: Kafka did not take it; the table still has the value before.
        """
        await send_and_wait(self._table.changelog_topic, key=key, value=value, partition=partition)
        self._note(key, value)

    async def put_all(self, changes: Sequence[OutgoingMessage]) -> list[bool]:
        """Write values as :meth:`put` does; return for each change whether Kafka has it.

        The partition of each must be given.
        """
        taken = await try_to_send(self._table.changelog_topic, changes)
        for change, is_taken in zip(changes, taken, strict=True):
            if is_taken:
                self._note(change.key, change.value)
        return taken

    def _note(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._table.data.pop(key, None)
        else:
            # Past the table's own setter, which would send the change once more.
            self._table.data[key] = value

    def items(self) -> list[tuple[bytes, bytes]]:
        """Return all keys with their values."""
        return list(self._table.data.items())

    def forget(self, key: bytes, /) -> None:
        """Drop a key from memory, where another worker has its partition now."""
        self._table.data.pop(key, None)


def faust_table(app: faust.App, name: str) -> Any:
    """Return a ``faust.Table`` of bytes, partitioned as our topics are."""
    return app.Table(
        name,
        key_type=bytes,
        value_type=bytes,
        partitions=app.conf.topic_partitions,
        extra_topic_configs=_TOPIC_OPTIONS,
    )
