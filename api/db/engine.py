"""Connections and transactions, from threads of their own so that no event loop waits on SQL."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

import psycopg
from sqlalchemy import URL, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from api.parts import Part, PartAwayError
from api.patience import Patience, Probe
from contracts.errors import MisconfiguredError
from contracts.settings import DatabaseSettings

_CONNECT_TIMEOUT_SECONDS = 5
_STATEMENT_TIMEOUT_MS = 10_000
_POOL_WAIT_SECONDS = 5
# For a whole call, its wait for a thread included. A server that stands still, and so enforces no
# time-out of its own, is found out sooner (api/patience.py).
_CALL_SECONDS = 15.0
# A host that is gone without a word: its connections are given up, and with them their threads.
_KEEP_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
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
            **_KEEP_ALIVE,
        },
    )


def in_transaction(engine: Engine, work: Callable[[Session], _T]) -> _T:
    """Run ``work`` in one transaction: committed when it returns, undone when it raises.

    Raises:
        PartAwayError: the database is away or too slow.
    """
    try:
        with Session(engine, expire_on_commit=False) as session, session.begin():
            return work(session)
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise PartAwayError(Part.CONFIGURATION) from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise PartAwayError(Part.CONFIGURATION) from error
        raise


class Database:
    """Transactions for an event loop: each runs to its end in a thread of a bounded pool.

    A caller that is cancelled leaves its transaction to finish or fail as a whole.
    """

    def __init__(self, settings: DatabaseSettings, *, pool_size: int) -> None:
        """Take as many connections as threads, opened when first needed."""
        self.engine = open_engine(settings, pool_size=pool_size)
        self._threads = ThreadPoolExecutor(pool_size, thread_name_prefix="database")
        self._patience = Patience(Part.CONFIGURATION, _probe(settings))

    async def run(self, work: Callable[[Session], _T]) -> _T:
        """Run ``work`` in one transaction (see :func:`in_transaction`).

        Raises:
            PartAwayError: also where neither a thread nor the server answers in time. Of what had
                begun then nothing is kept, unless its end was under way already.
        """
        loop = asyncio.get_running_loop()
        kept = _UnlessGivenUp(work)
        try:
            async with self._patience.waiting(_CALL_SECONDS):
                return await loop.run_in_executor(
                    self._threads, in_transaction, self.engine, kept.work
                )
        except PartAwayError:
            kept.give_up()
            raise

    async def ping(self) -> None:
        """Return when the database has answered.

        Raises:
            PartAwayError: it does not.
        """
        await self.run(lambda session: session.execute(text("SELECT 1")))

    def close(self) -> None:
        """Wait for running transactions, then close all connections."""
        self._patience.close()
        self._threads.shutdown()
        self.engine.dispose()


class _UnlessGivenUp(Generic[_T]):
    """Work of which nothing is kept once nobody waits for it: its caller was told that it failed.

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
            raise PartAwayError(Part.CONFIGURATION)
        return done


def _probe(settings: DatabaseSettings) -> Probe:
    address = plain_database_url(settings)

    async def connect() -> None:
        with suppress(psycopg.Error, OSError):
            await (await psycopg.AsyncConnection.connect(address)).close()

    return connect
