"""Writes searches and views to the audit log without delaying requests."""

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final
from uuid import UUID

import structlog
from cachetools import LRUCache
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from api.actors import SERVICE, Action
from api.audit.actions import AuditAction
from api.audit.plates import PlateHashes
from api.audit.repository import write_actions
from api.db.database import Database
from api.security.client_address import counted_by
from common.errors import TransientError

log = structlog.get_logger()

_LOST_METRIC: Final[str] = "platestream_api_audit_entries_lost_total"
AGAIN_SECONDS = 600.0
"""Time within which a repeated action of the same caller is logged only once."""

_CAPACITY = 10_000
_BATCH = 1_000
_MAX_CHARACTERS = 300
_CLOSING_SECONDS = 5.0
_NEVER_MERGED = frozenset({Action.PASSWORD_REFUSED})
_PAGE_PARAMETERS = frozenset({"limit", "lastKey", "width"})
_UNCLEAN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_Likeness = tuple[UUID, UUID | None, str | None, Action, object, tuple[tuple[str, object], ...]]


def audited_parameters(query: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the query parameters to log: filters, but no paging parameters."""
    return {
        name: _UNCLEAN.sub("", value)[:_MAX_CHARACTERS]
        for name, value in query
        if name not in _PAGE_PARAMETERS and value
    }


class AuditBuffer(Collector):
    """Buffers actions, and writes them to the audit log in batches.

    Actions beyond the capacity are lost, and are counted in an entry and a metric. If the process
    is killed, all waiting actions are lost.
    """

    def __init__(
        self,
        database: Database,
        hashes: PlateHashes,
        *,
        capacity: int = _CAPACITY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``capacity`` is the maximum number of waiting actions. ``clock`` returns seconds."""
        self._database = database
        self._hashes = hashes
        self._capacity = capacity
        self._clock = clock
        self._waiting: deque[AuditAction] = deque()
        self._lost: Counter[UUID] = Counter()
        self._lost_total = 0
        self._noted: LRUCache[_Likeness, float] = LRUCache(capacity)

    def add(self, action: AuditAction) -> None:
        """Queue an action, unless the caller did the same within the last ``AGAIN_SECONDS``.

        Every rejected password is logged, because the number of attempts matters. A plate in the
        parameters is masked and hashed.
        """
        action = replace(
            action, parameters=self._hashes.protected(action.owner_id, action.parameters)
        )
        likeness = _likeness(action)
        noted = None if action.action in _NEVER_MERGED else self._noted.get(likeness)
        if noted is not None and self._clock() - noted < AGAIN_SECONDS:
            return
        if len(self._waiting) >= self._capacity:
            self._lose([action])
            return
        self._noted[likeness] = self._clock()
        self._waiting.append(action)

    async def sweep(self) -> int:
        """Write all waiting actions. Return the number of actions that could not be written.

        Raises:
            DependencyUnavailableError: PostgreSQL does not respond. The actions stay queued.
        """
        lost = self._lost_total
        while self._waiting or self._lost:
            await self._write_some()
        return self._lost_total - lost

    async def close(self) -> None:
        """Write all waiting actions, if PostgreSQL responds in time."""
        with suppress(TransientError, TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await self.sweep()

    def collect(self) -> Iterable[CounterMetricFamily]:
        """Yield the counter of actions that are missing from the audit log."""
        counter = CounterMetricFamily(_LOST_METRIC, "Actions missing from the audit log.")
        counter.add_metric((), self._lost_total)
        yield counter

    async def _write_some(self) -> None:
        batch = [self._waiting[index] for index in range(min(_BATCH, len(self._waiting)))]
        lost = dict(self._lost)
        counts = [_incomplete(owner_id, count) for owner_id, count in lost.items()]
        try:
            await self._database.run(lambda session: write_actions(session, [*batch, *counts]))
        except TransientError:
            raise
        except Exception:
            # A row that PostgreSQL rejects would block all others forever.
            log.exception("audit_entries_rejected", count=len(batch))
            self._lose(batch)
            lost = {} if batch else lost
        for _ in batch:
            self._waiting.popleft()
        self._lost -= Counter(lost)

    def _lose(self, actions: Iterable[AuditAction]) -> None:
        for action in actions:
            self._lost[action.owner_id] += 1
            self._lost_total += 1


def _incomplete(owner_id: UUID, count: int) -> AuditAction:
    return AuditAction(owner_id, Action.AUDIT_INCOMPLETE, SERVICE, parameters={"count": count})


def _likeness(action: AuditAction) -> _Likeness:
    actor, parameters = action.actor, tuple(sorted(action.parameters.items()))
    # As in rate limits, networks are compared, because a household has countless IPv6 addresses.
    address = None if actor.address is None else counted_by(actor.address)
    return action.owner_id, actor.id, address, action.action, action.subject, parameters
