"""Transactions from threads of their own, so that no event loop waits on SQL."""

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

# For a whole call, its wait for a thread included. A server that stands still, and so enforces no
# time-out of its own, is found out sooner (api/adapters/circuit_breaker.py).
_CALL_SECONDS = 15.0
_MAX_WAITING = 10_000
_T = TypeVar("_T")


class Database:
    """Transactions for an event loop: each runs to its end in a thread of a bounded pool.

    A caller that is cancelled leaves its transaction to finish or fail as a whole. Owners take
    turns. One owner, whose transactions possibly wait for each other's locks, has at most half of
    the threads.
    """

    def __init__(self, settings: DatabaseSettings, *, pool_size: int) -> None:
        """``pool_size`` counts connections and threads; each is opened when first needed."""
        self.engine = open_engine(settings, pool_size=pool_size)
        limits = QueueLimits(pool_size, _MAX_WAITING, each=max(1, pool_size // 2))
        self._threads = FairThreads("database", limits)
        self._breaker = CircuitBreaker(Dependency.CONFIGURATION, _health_check(settings))

    async def run(self, work: Callable[[Session], _T]) -> _T:
        """Run ``work`` in one transaction (see :func:`in_transaction`), by who is acting.

        Raises:
            DependencyUnavailableError: also where neither a thread nor the server answers in time.
                Nothing of what had begun is kept then, unless its commit was under way.
        """
        kept = _CancellableWork(_announced(work))
        try:
            async with self._breaker.call(_CALL_SECONDS):
                # With the caller's context: its trace, and what its log lines are about.
                inside = copy_context().run
                with query_span("postgresql", "transaction"):
                    return await self._threads.run(
                        current_caller(), inside, in_transaction, self.engine, kept.work
                    )
        except DependencyUnavailableError:
            kept.give_up()
            raise

    async def ping(self) -> None:
        """Return when the database has answered.

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
    """Return work that tells the database first who acts, where somebody does."""
    actor = current_actor()
    if actor is None:
        return work

    def announced(session: Session) -> _T:
        # The thread knows nothing of the request's own context.
        with acting(actor):
            announce(session, actor)
            return work(session)

    return announced


class _CancellableWork(Generic[_T]):
    """Work of which nothing is kept once its caller has given up: it was answered as failed.

    A server that stood still goes on with what it was asked, long after that.
    """

    def __init__(self, work: Callable[[Session], _T]) -> None:
        self._work = work
        self._is_given_up = threading.Event()

    def give_up(self) -> None:
        self._is_given_up.set()

    def work(self, session: Session) -> _T:
        done = self._work(session)
        if self._is_given_up.is_set():
            raise DependencyUnavailableError(Dependency.CONFIGURATION)
        return done


def _health_check(settings: DatabaseSettings) -> HealthCheck:
    address = plain_database_url(settings)

    async def connect() -> None:
        with suppress(psycopg.Error, OSError):
            await (await psycopg.AsyncConnection.connect(address)).close()

    return connect
