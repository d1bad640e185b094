"""What was searched and looked at, noted without keeping anybody waiting."""

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
"""An act like another one of the same caller is noted once in so long."""

_CAPACITY = 10_000
_BATCH = 1_000
_MAX_CHARACTERS = 300
_CLOSING_SECONDS = 5.0
_NEVER_MERGED = frozenset({Action.PASSWORD_REFUSED})
_PAGE_PARAMETERS = frozenset({"limit", "lastKey", "width"})
_UNCLEAN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_Likeness = tuple[UUID, UUID | None, str | None, Action, object, tuple[tuple[str, object], ...]]


def audited_parameters(query: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return what an entry tells of a call's query: its filters, not its page."""
    return {
        name: _UNCLEAN.sub("", value)[:_MAX_CHARACTERS]
        for name, value in query
        if name not in _PAGE_PARAMETERS and value
    }


class AuditBuffer(Collector):
    """Acts that wait to be written, together, to the audit log.

    There is room for some; of what finds none an entry and a metric say how many there were. What
    waits ends with a process that is killed.
    """

    def __init__(
        self,
        database: Database,
        hashes: PlateHashes,
        *,
        capacity: int = _CAPACITY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``capacity`` counts acts, ``clock`` seconds."""
        self._database = database
        self._hashes = hashes
        self._capacity = capacity
        self._clock = clock
        self._waiting: deque[AuditAction] = deque()
        self._lost: Counter[UUID] = Counter()
        self._lost_in_all = 0
        self._noted: LRUCache[_Likeness, float] = LRUCache(capacity)

    def add(self, action: AuditAction) -> None:
        """Have an act written soon, unless the caller did the same a while ago.

        Guesses of a password count each: that there were many is what matters of them. The plate
        among its parameters is masked and hashed.
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
        """Write what waits; return how many could not be written.

        Raises:
            DependencyUnavailableError: PostgreSQL does not answer; it goes on waiting.
        """
        lost = self._lost_in_all
        while self._waiting or self._lost:
            await self._write_some()
        return self._lost_in_all - lost

    async def close(self) -> None:
        """Write what waits, as far as PostgreSQL answers."""
        with suppress(TransientError, TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await self.sweep()

    def collect(self) -> Iterable[CounterMetricFamily]:
        """Return the counter of acts without an entry."""
        counter = CounterMetricFamily(_LOST_METRIC, "Acts that the audit log has no entry of.")
        counter.add_metric((), self._lost_in_all)
        yield counter

    async def _write_some(self) -> None:
        batch = [self._waiting[place] for place in range(min(_BATCH, len(self._waiting)))]
        lost = dict(self._lost)
        told = [_incomplete(owner_id, count) for owner_id, count in lost.items()]
        try:
            await self._database.run(lambda session: write_actions(session, [*batch, *told]))
        except TransientError:
            raise
        except Exception:
            # What PostgreSQL refuses would keep all others waiting for ever.
            log.exception("audit_entries_refused", count=len(batch))
            self._lose(batch)
            lost = {} if batch else lost
        for _ in batch:
            self._waiting.popleft()
        self._lost -= Counter(lost)

    def _lose(self, actions: Iterable[AuditAction]) -> None:
        for action in actions:
            self._lost[action.owner_id] += 1
            self._lost_in_all += 1


def _incomplete(owner_id: UUID, count: int) -> AuditAction:
    return AuditAction(owner_id, Action.AUDIT_INCOMPLETE, SERVICE, parameters={"count": count})


def _likeness(action: AuditAction) -> _Likeness:
    who, told = action.actor, tuple(sorted(action.parameters.items()))
    # By its network, as limits count: an IPv6 household has no end of addresses.
    address = None if who.address is None else counted_by(who.address)
    return action.owner_id, who.id, address, action.action, action.subject, told
