"""Stores pending deliveries in the stage's table, within limits.

At any time, a delivery is in the table or its message is not acknowledged.
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
    """A delivery, the number of completed attempts, and the time of the next attempt (Unix ms).

    ``partition`` is the partition of the delivery's message on the deliveries topic.
    """

    delivery: Delivery
    attempts: int
    due_ms: int
    partition: int


def pending_key(delivery: Delivery) -> bytes:
    """Return the key of a delivery. A redelivery has a different key."""
    return delivery.id.bytes + delivery.requested_ms.to_bytes(_ROUND_BYTES, "big")


class _DeliveryHead(msgspec.Struct, frozen=True, kw_only=True):
    endpoint: str


class PendingHead(Record, frozen=True, kw_only=True):
    """The fields of a :class:`PendingDelivery` that a restart needs and decodes."""

    delivery: _DeliveryHead
    due_ms: int
    partition: int


class PendingTable:
    """The table of pending deliveries by :func:`pending_key`."""

    def __init__(self, table: DurableTable) -> None:
        """The changelog of ``table`` must have as many partitions as the deliveries topic."""
        self._table = table

    def __contains__(self, key: bytes) -> bool:
        """Return whether a delivery is pending."""
        return self._table.get(key) is not None

    def get(self, key: bytes) -> PendingDelivery | None:
        """Return a pending delivery, or None if it does not exist or is unreadable."""
        return self._table.read(PendingDelivery, key)

    def put_change(self, pending: PendingDelivery) -> OutgoingMessage:
        """Return the change that stores a delivery."""
        return OutgoingMessage(pending_key(pending.delivery), encode(pending), pending.partition)

    def delete_change(self, key: bytes, *, partition: int) -> OutgoingMessage | None:
        """Return the change that deletes a delivery, or None if the delivery is not stored."""
        return OutgoingMessage(key, None, partition) if key in self else None

    async def apply(self, changes: Sequence[OutgoingMessage]) -> list[bool]:
        """Apply changes; return for each whether Kafka has stored it."""
        return await self._table.put_all(changes)

    def retain_partitions(self, partitions: Collection[int]) -> list[tuple[bytes, PendingHead]]:
        """Return the pending deliveries of ``partitions``; drop other deliveries from memory."""
        return self._table.retain(PendingHead, lambda head: head.partition, partitions)


@dataclass(frozen=True, kw_only=True)
class PendingLimits:
    """Limits of pending deliveries in a worker's table, in total and per endpoint.

    From half of ``max_total`` on, no endpoint gets more than an equal share of that half. So
    endpoints that were unavailable first leave space for endpoints that fail later.
    """

    max_total: int
    max_per_endpoint: int


class PendingCounts:
    """The number of pending deliveries in the table, by endpoint."""

    def __init__(self, limits: PendingLimits) -> None:
        self._limits = limits
        self._by_endpoint: dict[str, int] = {}
        self.total = 0
        """The number of all pending deliveries."""

    def change(self, endpoint: str, change: int) -> None:
        """Add ``change`` (1 or -1) to an endpoint's count."""
        before = self._by_endpoint.get(endpoint, 0)
        after = max(0, before + change)
        self.total += after - before
        if after:
            self._by_endpoint[endpoint] = after
        else:
            self._by_endpoint.pop(endpoint, None)

    def clear(self) -> None:
        """Reset all counts."""
        self._by_endpoint.clear()
        self.total = 0

    @property
    def is_full(self) -> bool:
        """Whether the table accepts no further delivery."""
        return self.total >= self._limits.max_total

    def is_at_endpoint_limit(self, endpoint: str) -> bool:
        """Return whether this endpoint has reached the limit per endpoint."""
        return self._by_endpoint.get(endpoint, 0) >= self._limits.max_per_endpoint

    def is_full_for(self, endpoint: str) -> bool:
        """Return whether the table accepts no further delivery to this endpoint."""
        if self.is_at_endpoint_limit(endpoint) or self.is_full:
            return True
        count, half = self._by_endpoint.get(endpoint, 0), self._limits.max_total // 2
        return self.total >= half and count >= half // max(1, len(self._by_endpoint))
