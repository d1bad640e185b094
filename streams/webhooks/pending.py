"""Deliveries that were not finished at once: what the stage's table holds. Pure but for the table.

A delivery is in the table, or the message that brought it is not acknowledged: one of both, always.
"""

from collections.abc import Collection, Iterator

import structlog

from contracts.deliveries import Delivery
from contracts.errors import InvalidInputError
from contracts.records import Record, decode, encode
from streams.common.tables import DurableTable

log = structlog.get_logger()

_ROUND_BYTES = 8


class PendingDelivery(Record, frozen=True, kw_only=True):
    """A delivery, how often it was tried, and when it is tried next (Unix ms).

    ``partition`` is that of the deliveries topic from which it came.
    """

    delivery: Delivery
    attempts: int
    due_ms: int
    partition: int


def key_of(delivery: Delivery) -> bytes:
    """Return what tells a delivery and its round from all others."""
    return delivery.id.bytes + delivery.requested_ms.to_bytes(_ROUND_BYTES, "big")


class PendingTable:
    """Pending deliveries by :func:`key_of`."""

    def __init__(self, table: DurableTable) -> None:
        """Take a table whose changelog has the partitions of the deliveries topic."""
        self._table = table

    def get(self, key: bytes) -> PendingDelivery | None:
        """Return a pending delivery; None also for one that another release wrote."""
        data = self._table.get(key)
        return None if data is None else _read(data)

    async def put(self, pending: PendingDelivery) -> None:
        """Keep a delivery; when this returns Kafka has it.

        Raises:
            TransientError: Kafka did not take it.
        """
        key = key_of(pending.delivery)
        await self._table.put(key, encode(pending), partition=pending.partition)

    async def remove(self, key: bytes, *, partition: int) -> None:
        """Let a delivery go; when this returns Kafka knows.

        Raises:
            TransientError: Kafka did not take it.
        """
        if self._table.get(key) is not None:
            await self._table.put(key, None, partition=partition)

    def keep_only(self, partitions: Collection[int]) -> Iterator[tuple[bytes, PendingDelivery]]:
        """Yield what is pending in ``partitions``; forget the rest, which others have now."""
        for key, data in self._table.items():
            pending = _read(data)
            if pending is None:
                continue
            if pending.partition in partitions:
                yield key, pending
            else:
                self._table.forget(key)


def _read(data: bytes) -> PendingDelivery | None:
    try:
        return decode(PendingDelivery, data)
    except InvalidInputError as error:
        # It stays on the changelog for the release that wrote it.
        log.error("pending_delivery_unreadable", error=str(error))
        return None
