"""Connections to PostgreSQL, and transactions."""

from collections.abc import Callable
from enum import IntEnum
from typing import TypeVar

from sqlalchemy import URL, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from api.actors import SERVICE, SETTING, encoded
from api.db.pooler import hold_behind_pooler
from api.errors import Dependency, DependencyUnavailableError
from common.errors import MisconfiguredError, PlatestreamError
from common.settings import DatabaseSettings

_CONNECT_TIMEOUT_SECONDS = 5
_STATEMENT_TIMEOUT_MS = 10_000
_POOL_WAIT_SECONDS = 5
# A host that is gone without a word: its connections are given up, and with them their threads.
_KEEP_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_NAME = "platestream"
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND application_name LIKE :name || '%'
"""
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
    held = {
        "statement_timeout": str(_STATEMENT_TIMEOUT_MS),
        "timezone": "UTC",
        SETTING: encoded(SERVICE),
    }
    engine = create_engine(
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
            "options": " ".join(f"-c {name}={value}" for name, value in held.items()),
            "application_name": _NAME,
            **_KEEP_ALIVE,
        },
    )
    hold_behind_pooler(engine, held)
    return engine


def in_transaction(engine: Engine, work: Callable[[Session], _T]) -> _T:
    """Run ``work`` in one transaction: committed when it returns, undone when it raises.

    Raises:
        DependencyUnavailableError: the database is unavailable or too slow.
    """
    try:
        with Session(engine, expire_on_commit=False) as session, session.begin():
            return work(session)
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise DependencyUnavailableError(Dependency.CONFIGURATION) from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise DependencyUnavailableError(Dependency.CONFIGURATION) from error
        raise


class ServiceRunningError(PlatestreamError):
    """Processes of the service are connected where none may be."""


def require_service_stopped(engine: Engine) -> None:
    """Return where no process of the service is connected to the database but this one.

    Raises:
        ServiceRunningError: some are.
    """
    with engine.connect() as connection:
        if others := connection.execute(text(_OTHERS), {"name": _NAME}).scalar():
            raise ServiceRunningError(
                f"the service is running ({others} connections to PostgreSQL): stop its processes"
            )


class AdvisoryLock(IntEnum):
    """One number for each thing that only one process may do at a time."""

    MIGRATION = 0x706C7401
    CONFIG_RELAY = 0x706C7402
