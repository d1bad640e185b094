"""From when on events are told: not the week that Kafka still has when MQTT is switched on."""

from collections.abc import Callable, Iterable
from typing import Protocol

import structlog

log = structlog.get_logger()


class BeginningTable(Protocol):
    """Unix ms as text, by partition."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return a partition's beginning."""

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write it; returns once Kafka has it."""


class Beginning:
    """When each partition was first looked at, for good."""

    def __init__(self, table: BeginningTable, now_ms: Callable[[], int]) -> None:
        """Take where it is remembered."""
        self._table = table
        self._now_ms = now_ms

    async def note(self, partitions: Iterable[int]) -> None:
        """Begin with these partitions, unless they were begun before.

        To be called before anything of them is read.

        Raises:
            TransientError: Kafka did not take it.
        """
        for partition in partitions:
            if self._table.get(_key(partition)) is None:
                value = str(self._now_ms()).encode()
                await self._table.put(_key(partition), value, partition=partition)

    def is_before(self, partition: int, at_ms: int) -> bool:
        """Return whether the partition was begun before ``at_ms`` (Unix ms)."""
        begun = self._table.get(_key(partition))
        return begun is None or int(begun) <= at_ms


def _key(partition: int) -> bytes:
    return str(partition).encode()
