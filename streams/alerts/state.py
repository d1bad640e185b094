"""Buffers and expires the state of cooldowns and passes in the stage's table."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec
import structlog

from common.alerting.cooldown import PastTriggers, scope_of
from common.alerting.early import PassState
from common.plates.normalise import normalise_plate
from common.records.alerts import AlertCandidate
from common.records.codec import Record, encode
from streams.alerts.metrics import AlertMetrics
from streams.runtime.tables import DurableTable

log = structlog.get_logger()

_SWEEP_MS = 300_000
# Limit per sweep, because alerts wait for it. The remaining keys are deleted with the next batch.
_MAX_DELETIONS = 1_000


@dataclass(frozen=True)
class ArrivedCandidate:
    """A candidate and the partition from which it was read."""

    partition: int
    candidate: AlertCandidate

    @property
    def scope(self) -> str:
        """The scope of the alert's cooldown: the alert, a plate, or a plate at a camera."""
        passed = self.candidate.passed
        plate = normalise_plate(passed.plate)
        return scope_of(self.candidate.alert, passed.camera_id, plate)

    def key(self, scope: str) -> bytes:
        """Return the table key for a scope of the alert. The key begins with the partition."""
        return f"{self.partition}|{self.candidate.alert.alert_id}|{scope}".encode()

    @property
    def pass_key(self) -> bytes:
        """The table key for the alert and the pass, which differs from the key of any plate."""
        return self.key(f"pass {self.candidate.recognition.id}")


class StateBuffer:
    """Overlays the table with the changes of one batch until these changes are written."""

    def __init__(self, table: DurableTable) -> None:
        self._table = table
        self._known: dict[bytes, PastTriggers] = {}
        self._triggers: dict[bytes, tuple[int, PastTriggers]] = {}
        self._passes: dict[bytes, tuple[int, PassState]] = {}

    def past_triggers(self, key: bytes) -> PastTriggers:
        """Return the triggers on which a cooldown is based."""
        if key in self._triggers:
            return self._triggers[key][1]
        if key not in self._known:
            self._known[key] = self._table.read(PastTriggers, key) or PastTriggers()
        return self._known[key]

    def pass_state(self, arrival: ArrivedCandidate) -> PassState | None:
        """Return the state of a candidate's alert and pass, or None if nothing is stored."""
        key = arrival.pass_key
        return self._passes[key][1] if key in self._passes else self._table.read(PassState, key)

    def store_past_triggers(self, partition: int, key: bytes, after: PastTriggers) -> None:
        """Update the triggers of a cooldown, unless ``after`` is the stored object itself."""
        if after is not self.past_triggers(key):
            self._triggers[key] = (partition, after)

    def store_pass(self, arrival: ArrivedCandidate, after: PassState) -> None:
        """Update the state of a candidate's alert and pass."""
        self._passes[arrival.pass_key] = (arrival.partition, after)

    async def write(self) -> None:
        """Write the changes, cooldowns first; return once Kafka has stored the changes.

        Raises:
            TransientError: Kafka is unavailable.
        """
        await self._put_all(self._triggers)
        await self._put_all(self._passes)

    async def _put_all(self, changed: Mapping[bytes, tuple[int, Record]]) -> None:
        await asyncio.gather(
            *(
                self._table.put(key, encode(after), partition=partition)
                for key, (partition, after) in changed.items()
            )
        )


class _StoredPass(msgspec.Struct, rename="camel"):
    kept_until_ms: int = 0


_decoder = msgspec.json.Decoder(_StoredPass)


class Expiry:
    """Deletes expired entries periodically to limit the size of the table."""

    def __init__(self, table: DurableTable, metrics: AlertMetrics, *, limit: int) -> None:
        """``limit`` is the maximum number of cooldowns per partition."""
        self._table = table
        self._metrics = metrics
        self._limit = limit
        self._due_ms: dict[int, int] = {}

    async def sweep(self, partitions: Collection[int], now_ms: int) -> None:
        """Delete the expired entries of partitions, unless the last sweep was recent.

        Call this method only while the partitions certainly belong to this worker.

        Raises:
            TransientError: Kafka is unavailable.
        """
        due = [each for each in partitions if now_ms >= self._due_ms.get(each, 0)]
        if not due:
            return
        items = self._table.items()
        self._metrics.cooldowns.set(len(items))
        for partition in due:
            over = await asyncio.to_thread(expired, items, partition, now_ms, self._limit)
            gone = over[:_MAX_DELETIONS]
            await asyncio.gather(*(self._delete(key, partition) for key in gone))
            if len(over) <= _MAX_DELETIONS:
                self._due_ms[partition] = now_ms + _SWEEP_MS
            if gone:
                log.info("cooldowns_removed", partition=partition, count=len(gone))

    async def _delete(self, key: bytes, partition: int) -> None:
        await self._table.put(key, None, partition=partition)


def expired(
    items: Iterable[tuple[bytes, bytes]], partition: int, now_ms: int, limit: int
) -> list[bytes]:
    """Return a partition's expired keys and, if more than ``limit`` remain, the next to expire."""
    prefix = f"{partition}|".encode()
    ends = sorted(
        (_decoder.decode(value).kept_until_ms, key)
        for key, value in items
        if key.startswith(prefix)
    )
    too_many = len(ends) - limit
    return [
        key for index, (until_ms, key) in enumerate(ends) if until_ms < now_ms or index < too_many
    ]
