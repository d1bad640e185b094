"""Runs transactions in separate threads, so that no event loop blocks on SQL."""

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, TypeVar

import psycopg
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.actors import acting, announce, current_actor
from api.adapters.circuit_breaker import CircuitBreaker, HealthCheck
from api.db.engine import in_transaction, open_engine, plain_database_url
from api.errors import Dependency, DependencyUnavailableError
from api.limits.fair_queue import QueueLimits, current_caller
from api.limits.fair_threads import FairThreads
from common.settings import DatabaseSettings
from common.telemetry.messaging import query_span

# Timeout of a whole call, including the wait for a thread. A server that hangs, and therefore does
# not enforce timeouts, is detected sooner (api/adapters/circuit_breaker.py).
_CALL_SECONDS = 15.0
_MAX_WAITING = 10_000
_T = TypeVar("_T")


class Database:
    """Runs transactions for an event loop, each in a thread of a bounded pool.

    If the caller is cancelled, the transaction still commits or fails as a whole. Accounts take
    turns. An account uses at most half of the threads, because its transactions can block each
    other.
    """

    def __init__(self, settings: DatabaseSettings, *, pool_size: int) -> None:
        """``pool_size`` is the maximum number of connections and threads, all opened on demand."""
        self.engine = open_engine(settings, pool_size=pool_size)
        limits = QueueLimits(pool_size, _MAX_WAITING, each=max(1, pool_size // 2))
        self._threads = FairThreads("database", limits)
        self._breaker = CircuitBreaker(Dependency.CONFIGURATION, _health_check(settings))

    async def run(self, work: Callable[[Session], _T]) -> _T:
        """Run ``work`` in one transaction, as the current actor, and return its result.

        Raises:
            DependencyUnavailableError: no thread is free, or the server does not respond in time. A
                running transaction is then rolled back, unless it is already being committed.
        """
        cancellable = _CancellableWork(_announced(work))
        try:
            async with self._breaker.call(_CALL_SECONDS):
                # The thread gets the caller's context, with the trace and the log fields.
                inside = copy_context().run
                with query_span("postgresql", "transaction"):
                    return await self._threads.run(
                        current_caller(), inside, in_transaction, self.engine, cancellable.work
                    )
        except DependencyUnavailableError:
            cancellable.cancel()
            raise

    async def ping(self) -> None:
        """Check that the database responds.

        Raises:
            DependencyUnavailableError: the database does not respond.
        """
        await self.run(lambda session: session.execute(text("SELECT 1")))

    def close(self) -> None:
        """Wait for running transactions, then close all connections."""
        self._breaker.close()
        self._threads.close()
        self.engine.dispose()


def _announced(work: Callable[[Session], _T]) -> Callable[[Session], _T]:
    """Return ``work``, extended to first set the current actor, if any, in the database."""
    actor = current_actor()
    if actor is None:
        return work

    def announced(session: Session) -> _T:
        # The actor is also needed for audit log entries that the work itself writes.
        with acting(actor):
            announce(session, actor)
            return work(session)

    return announced


class _CancellableWork(Generic[_T]):
    """Work that is rolled back if the caller has timed out, because a hung server may resume it."""

    def __init__(self, work: Callable[[Session], _T]) -> None:
        self._work = work
        self._is_cancelled = threading.Event()

    def cancel(self) -> None:
        self._is_cancelled.set()

    def work(self, session: Session) -> _T:
        result = self._work(session)
        if self._is_cancelled.is_set():
            raise DependencyUnavailableError(Dependency.CONFIGURATION)
        return result


def _health_check(settings: DatabaseSettings) -> HealthCheck:
    address = plain_database_url(settings)

    async def connect() -> None:
        with suppress(psycopg.Error, OSError):
            await (await psycopg.AsyncConnection.connect(address)).close()

    return connect
