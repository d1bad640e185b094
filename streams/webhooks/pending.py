"""Deliveries that were not finished at once: what the stage's table holds. Pure but for the table.

A delivery is in the table, or the message that brought it is not acknowledged: one of both, always.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

import msgspec
import structlog

from contracts.deliveries import Delivery
from contracts.errors import InvalidInputError
from contracts.records import Record, decode, encode
from streams.common.sending import Outgoing
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


class _DeliveryHead(msgspec.Struct, frozen=True, kw_only=True):
    endpoint: str


class PendingHead(Record, frozen=True, kw_only=True):
    """What a restart must know of a :class:`PendingDelivery`; the rest is not read."""

    delivery: _DeliveryHead
    due_ms: int
    partition: int


class PendingTable:
    """Pending deliveries by :func:`key_of`."""

    def __init__(self, table: DurableTable) -> None:
        """Take a table whose changelog has the partitions of the deliveries topic."""
        self._table = table

    def __contains__(self, key: bytes) -> bool:
        """Tell whether a delivery is pending."""
        return self._table.get(key) is not None

    def get(self, key: bytes) -> PendingDelivery | None:
        """Return a pending delivery; None also for one that another release wrote."""
        data = self._table.get(key)
        return None if data is None else _read(PendingDelivery, data)

    def addition(self, pending: PendingDelivery) -> Outgoing:
        """Return the change that keeps a delivery."""
        return Outgoing(key_of(pending.delivery), encode(pending), pending.partition)

    def removal(self, key: bytes, *, partition: int) -> Outgoing | None:
        """Return the change that lets a delivery go; None where it is not kept."""
        return Outgoing(key, None, partition) if key in self else None

    async def change(self, changes: Sequence[Outgoing]) -> list[bool]:
        """Make changes; return for each whether Kafka has it."""
        return await self._table.put_all(changes)

    def keep_only(self, partitions: Collection[int]) -> Iterator[tuple[bytes, PendingHead]]:
        """Yield what is pending in ``partitions``; forget the rest, which others have now."""
        for key, data in self._table.items():
            head = _read(PendingHead, data)
            if head is None:
                continue
            if head.partition in partitions:
                yield key, head
            else:
                self._table.forget(key)


_R = TypeVar("_R", bound=Record)


def _read(record_type: type[_R], data: bytes) -> _R | None:
    try:
        return decode(record_type, data)
    except InvalidInputError as error:
        # It stays on the changelog for the release that wrote it.
        log.error("pending_delivery_unreadable", error=str(error))
        return None
