"""How often alerts have fired, also while ClickHouse is away."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import structlog

from analytics_sql.trigger_queries import (
    CooldownQuestion,
    Fired,
    HoldingTrigger,
    SpanRow,
    TriggerCount,
)
from contracts.errors import PlatestreamError

log = structlog.get_logger()

_OWNERS = 10_000
_PATIENCE_SECONDS = 0.5


class TriggerStore(Protocol):
    """Where alerts that fired are."""

    async def trigger_counts(self, owner_id: UUID) -> dict[UUID, TriggerCount]:
        """Return how often each of the owner's alerts has fired."""

    async def fired_for(
        self, owner_id: UUID, recognition_id: UUID, captured_ms: int
    ) -> tuple[Fired, ...]:
        """Return the alerts that fired for a recognition."""

    async def holding(self, question: CooldownQuestion) -> HoldingTrigger | None:
        """Return the firing whose cooldown holds a recognition back."""

    async def span(
        self, owner_id: UUID, span_ms: tuple[int, int], after: SpanRow | None, limit: int
    ) -> tuple[SpanRow, ...]:
        """Return the owner's recognitions of a span, oldest first, from behind ``after``."""


@dataclass(frozen=True)
class History:
    """An owner's counts and when they were read (Unix ms, UTC); None: they never were."""

    counts: Mapping[UUID, TriggerCount]
    read_ms: int | None


class TriggerHistory:
    """Reads counts, and remembers them for the time when they cannot be read."""

    def __init__(
        self,
        store: TriggerStore,
        *,
        patience_seconds: float = _PATIENCE_SECONDS,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """A call waits ``patience_seconds`` at most; what takes longer is for the next one."""
        self._store = store
        self._patience_seconds = patience_seconds
        self._now_ms = now_ms
        self._last: OrderedDict[UUID, History] = OrderedDict()
        self._reading: dict[UUID, asyncio.Task[None]] = {}

    async def of(self, owner_id: UUID) -> History:
        """Return the owner's counts; those of the last time where they cannot be read in time.

        Never fails: alerts can be looked at and changed while ClickHouse is away.
        """
        reading = self._reading.get(owner_id)
        if reading is None:
            reading = self._reading[owner_id] = asyncio.create_task(self._read(owner_id))
        await asyncio.wait([reading], timeout=self._patience_seconds)
        return self._last.get(owner_id, History({}, None))

    async def close(self) -> None:
        """End what is being read."""
        readings = list(self._reading.values())
        for reading in readings:
            reading.cancel()
        await asyncio.gather(*readings, return_exceptions=True)

    async def _read(self, owner_id: UUID) -> None:
        try:
            counts = await self._store.trigger_counts(owner_id)
        except PlatestreamError as error:
            log.warning("trigger_counts_away", error=repr(error))
        except Exception:
            # The edge of a task that nobody else awaits.
            log.exception("trigger_counts_failed")
        else:
            self._remember(owner_id, History(counts, self._now_ms()))
        finally:
            del self._reading[owner_id]

    def _remember(self, owner_id: UUID, history: History) -> None:
        self._last[owner_id] = history
        self._last.move_to_end(owner_id)
        if len(self._last) > _OWNERS:
            self._last.popitem(last=False)
