"""Transactions in separate threads, so that no event loop waits for SQL."""

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

# For a whole call, including its wait for a thread. A server that hangs, and so does not enforce
# its own timeouts, is detected sooner (api/adapters/circuit_breaker.py).
_CALL_SECONDS = 15.0
_MAX_WAITING = 10_000
_T = TypeVar("_T")


class Database:
    """Transactions for an event loop: each runs to its end in a thread of a bounded pool.

    If the caller is cancelled, its transaction still finishes or fails as a whole. Accounts take
    turns. An account, whose transactions can wait for each other's locks, uses at most half of the
    threads.
    """

    def __init__(self, settings: DatabaseSettings, *, pool_size: int) -> None:
        """``pool_size``: number of connections and threads; each is opened when first needed."""
        self.engine = open_engine(settings, pool_size=pool_size)
        limits = QueueLimits(pool_size, _MAX_WAITING, each=max(1, pool_size // 2))
        self._threads = FairThreads("database", limits)
        self._breaker = CircuitBreaker(Dependency.CONFIGURATION, _health_check(settings))

    async def run(self, work: Callable[[Session], _T]) -> _T:
        """Run ``work`` in one transaction (see :func:`in_transaction`), as the current actor.

        Raises:
            DependencyUnavailableError: also if no thread is free or the server does not respond in
                time. A running transaction is then rolled back, unless it was being committed.
        """
        cancellable = _CancellableWork(_announced(work))
        try:
            async with self._breaker.call(_CALL_SECONDS):
                # With the caller's context: its trace, and the fields of its log lines.
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
            DependencyUnavailableError: it does not.
        """
        await self.run(lambda session: session.execute(text("SELECT 1")))

    def close(self) -> None:
        """Wait for running transactions, then close all connections."""
        self._breaker.close()
        self._threads.close()
        self.engine.dispose()


def _announced(work: Callable[[Session], _T]) -> Callable[[Session], _T]:
    """Return work that first sets the actor in the database, if there is one."""
    actor = current_actor()
    if actor is None:
        return work

    def announced(session: Session) -> _T:
        # For audit log entries that the work itself writes.
        with acting(actor):
            announce(session, actor)
            return work(session)

    return announced


class _CancellableWork(Generic[_T]):
    """Work that is rolled back if its caller has timed out, because the caller got an error.

    A server that hung continues with its statements, long after that.
    """

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
