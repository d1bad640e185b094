"""Drops cooldowns that are long over, so that what is remembered stays bounded."""

import asyncio
from collections.abc import Collection, Iterable
from typing import Protocol

import msgspec
import structlog

from streams.alerts.metrics import AlertMetrics

log = structlog.get_logger()

_SWEEP_MS = 300_000
# Alerts wait meanwhile; what is left is swept with the next batch.
_MOST_AT_ONCE = 1_000


class _Kept(msgspec.Struct, rename="camel"):
    kept_until_ms: int = 0


_decoder = msgspec.json.Decoder(_Kept)


class SweptTable(Protocol):
    """What is needed of the table."""

    def items(self) -> list[tuple[bytes, bytes]]:
        """Return all keys with their values."""

    async def put(self, key: bytes, value: bytes | None, /, *, partition: int) -> None:
        """Write a key, None to delete it; returns once Kafka has it."""


class Forgetting:
    """Sweeps the table now and then."""

    def __init__(self, table: SweptTable, metrics: AlertMetrics, *, most: int) -> None:
        """``most`` cooldowns of one partition are kept."""
        self._table = table
        self._metrics = metrics
        self._most = most
        self._due_ms: dict[int, int] = {}

    async def sweep(self, partitions: Collection[int], now_ms: int) -> None:
        """Forget what is over of these partitions, unless that was done a moment ago.

        To be called where the partitions are surely this worker's.

        Raises:
            TransientError: Kafka is away.
        """
        due = [each for each in partitions if now_ms >= self._due_ms.get(each, 0)]
        if not due:
            return
        items = self._table.items()
        self._metrics.cooldowns_remembered(len(items))
        for partition in due:
            over = await asyncio.to_thread(expired, items, partition, now_ms, self._most)
            gone = over[:_MOST_AT_ONCE]
            await asyncio.gather(*(self._forget(key, partition) for key in gone))
            if len(over) <= _MOST_AT_ONCE:
                self._due_ms[partition] = now_ms + _SWEEP_MS
            if gone:
                log.info("cooldowns_forgotten", partition=partition, count=len(gone))

    async def _forget(self, key: bytes, partition: int) -> None:
        await self._table.put(key, None, partition=partition)


def expired(
    items: Iterable[tuple[bytes, bytes]], partition: int, now_ms: int, most: int
) -> list[bytes]:
    """Return the keys of a partition that are over, and the first to be over past ``most``."""
    prefix = f"{partition}|".encode()
    ends = sorted(
        (_decoder.decode(value).kept_until_ms, key)
        for key, value in items
        if key.startswith(prefix)
    )
    too_many = len(ends) - most
    return [
        key for place, (until_ms, key) in enumerate(ends) if until_ms < now_ms or place < too_many
    ]
