"""Connections and transactions, from threads of their own so that no event loop waits on SQL."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import URL, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from contracts.errors import MisconfiguredError, TransientError
from contracts.settings import DatabaseSettings

_CONNECT_TIMEOUT_SECONDS = 5
_STATEMENT_TIMEOUT_MS = 10_000
_POOL_WAIT_SECONDS = 5
# For a server that stands still: it enforces no time-out of its own.
_CALL_SECONDS = 15.0
_T = TypeVar("_T")


def database_url(settings: DatabaseSettings) -> URL:
    """Return the address with the driver that this service uses (psycopg 3).

    Raises:
        MisconfiguredError: not a PostgreSQL address.
    """
    try:
        url = make_url(settings.database_url.get_secret_value())
    except ArgumentError as error:
        raise MisconfiguredError("PLATESTREAM_DATABASE_URL is not an address") from error
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise MisconfiguredError("PLATESTREAM_DATABASE_URL must begin with postgresql://")
    return url.set(drivername="postgresql+psycopg")


def plain_database_url(settings: DatabaseSettings) -> str:
    """Return the address as psycopg itself takes it (password included)."""
    return database_url(settings).set(drivername="postgresql").render_as_string(hide_password=False)


def open_engine(settings: DatabaseSettings, *, pool_size: int = 1) -> Engine:
    """Return an engine; nothing is connected yet. Every statement and connect has a time-out."""
    return create_engine(
        database_url(settings),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=_POOL_WAIT_SECONDS,
        # A server that was restarted costs no caller an error: a dead connection is replaced.
        pool_pre_ping=True,
        # A fault that reaches the log must not bring hashes, addresses and plates along.
        hide_parameters=True,
        connect_args={
            "connect_timeout": _CONNECT_TIMEOUT_SECONDS,
            "options": f"-c statement_timeout={_STATEMENT_TIMEOUT_MS} -c timezone=UTC",
            "application_name": "platestream",
        },
    )


def in_transaction(engine: Engine, work: Callable[[Session], _T]) -> _T:
    """Run ``work`` in one transaction: committed when it returns, undone when it raises.

    Raises:
        TransientError: the database is away or too slow.
    """
    try:
        with Session(engine, expire_on_commit=False) as session, session.begin():
            return work(session)
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise TransientError("the database does not answer") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise TransientError("the database connection was lost") from error
        raise


class Database:
    """Transactions for an event loop: each runs to its end in a thread of a bounded pool.

    A caller that is cancelled leaves its transaction to finish or fail as a whole.
    """

    def __init__(self, settings: DatabaseSettings, *, pool_size: int) -> None:
        """Take as many connections as threads, opened when first needed."""
        self.engine = open_engine(settings, pool_size=pool_size)
        self._threads = ThreadPoolExecutor(pool_size, thread_name_prefix="database")

    async def run(self, work: Callable[[Session], _T]) -> _T:
        """Run ``work`` in one transaction (see :func:`in_transaction`).

        Raises:
            TransientError: also where neither a thread nor the server answers in time. What had
                begun then still ends as a whole, one way or the other.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                return await loop.run_in_executor(self._threads, in_transaction, self.engine, work)
        except TimeoutError as error:
            raise TransientError("the database does not answer in time") from error

    async def ping(self) -> None:
        """Return when the database has answered.

        Raises:
            TransientError: it does not.
        """
        await self.run(lambda session: session.execute(text("SELECT 1")))

    def close(self) -> None:
        """Wait for running transactions, then close all connections."""
        self._threads.shutdown()
        self.engine.dispose()
