"""Pending deliveries: the stage's table of them, and its limits. Pure but for the table.

A delivery is in the table, or its message is not acknowledged: one of both, always.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from common.records.codec import Record, encode
from common.records.deliveries import Delivery
from streams.runtime.sending import OutgoingMessage
from streams.runtime.tables import DurableTable

_ROUND_BYTES = 8


class PendingDelivery(Record, frozen=True, kw_only=True):
    """A delivery, how often it was tried, and when it is tried next (Unix ms).

    ``partition`` is that of the deliveries topic from which it came.
    """

    delivery: Delivery
    attempts: int
    due_ms: int
    partition: int


def pending_key(delivery: Delivery) -> bytes:
    """Return the key of a delivery and of its round: sent again, it is a new one."""
    return delivery.id.bytes + delivery.requested_ms.to_bytes(_ROUND_BYTES, "big")


class _DeliveryHead(msgspec.Struct, frozen=True, kw_only=True):
    endpoint: str


class PendingHead(Record, frozen=True, kw_only=True):
    """The part of a :class:`PendingDelivery` that a restart needs; the rest is not read."""

    delivery: _DeliveryHead
    due_ms: int
    partition: int


class PendingTable:
    """Pending deliveries by :func:`key_of`."""

    def __init__(self, table: DurableTable) -> None:
        """``table``: its changelog has the partitions of the deliveries topic."""
        self._table = table

    def __contains__(self, key: bytes) -> bool:
        """Return whether a delivery is pending."""
        return self._table.get(key) is not None

    def get(self, key: bytes) -> PendingDelivery | None:
        """Return a pending delivery; None also for one that another release wrote."""
        return self._table.read(PendingDelivery, key)

    def put_change(self, pending: PendingDelivery) -> OutgoingMessage:
        """Return the change that keeps a delivery."""
        return OutgoingMessage(pending_key(pending.delivery), encode(pending), pending.partition)

    def delete_change(self, key: bytes, *, partition: int) -> OutgoingMessage | None:
        """Return the change that lets a delivery go; None where it is not kept."""
        return OutgoingMessage(key, None, partition) if key in self else None

    async def apply(self, changes: Sequence[OutgoingMessage]) -> list[bool]:
        """Make changes; return for each whether Kafka has it."""
        return await self._table.put_all(changes)

    def retain_partitions(self, partitions: Collection[int]) -> list[tuple[bytes, PendingHead]]:
        """Return what is pending in ``partitions``; forget the rest, which others have now."""
        return self._table.retain(PendingHead, lambda head: head.partition, partitions)


@dataclass(frozen=True, kw_only=True)
class PendingLimits:
    """The limits of deliveries that wait in a worker's table: in all, and for one endpoint.

    From half of ``max_total`` on, no endpoint gets more than its equal share of that half: whoever
    was unavailable first leaves room for those who are so later.
    """

    max_total: int
    max_per_endpoint: int


class PendingCounts:
    """The counts of deliveries that wait in the table, by endpoint."""

    def __init__(self, limits: PendingLimits) -> None:
        self._limits = limits
        self._by_endpoint: dict[str, int] = {}
        self.total = 0
        """The count of all."""

    def change(self, endpoint: str, change: int) -> None:
        """Count one more, or one less."""
        before = self._by_endpoint.get(endpoint, 0)
        after = max(0, before + change)
        self.total += after - before
        if after:
            self._by_endpoint[endpoint] = after
        else:
            self._by_endpoint.pop(endpoint, None)

    def clear(self) -> None:
        """Count from nothing again."""
        self._by_endpoint.clear()
        self.total = 0

    @property
    def is_full(self) -> bool:
        """True when no other one may be put into the table."""
        return self.total >= self._limits.max_total

    def is_at_endpoint_limit(self, endpoint: str) -> bool:
        """Return whether as many wait for this endpoint as may wait for any."""
        return self._by_endpoint.get(endpoint, 0) >= self._limits.max_per_endpoint

    def is_full_for(self, endpoint: str) -> bool:
        """Return whether no other one for this endpoint may be put into the table."""
        if self.is_at_endpoint_limit(endpoint) or self.is_full:
            return True
        count, half = self._by_endpoint.get(endpoint, 0), self._limits.max_total // 2
        return self.total >= half and count >= half // max(1, len(self._by_endpoint))
