"""Connects to PostgreSQL, and runs transactions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TypeVar

from sqlalchemy import URL, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from api.actors import SERVICE, SETTING, encoded
from api.db.pooler import apply_behind_pooler
from api.errors import Dependency, DependencyUnavailableError
from common.errors import MisconfiguredError, PlatestreamError
from common.settings import DatabaseSettings

_CONNECT_TIMEOUT_SECONDS = 5
_STATEMENT_TIMEOUT_MS = 10_000
_POOL_WAIT_SECONDS = 5
# Detects that the database host has disappeared, so that connections and threads are freed.
_KEEP_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_NAME = "platestream"
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND application_name LIKE :name || '%'
"""
_T = TypeVar("_T")


def database_url(settings: DatabaseSettings) -> URL:
    """Return the database URL with the driver that this service uses (psycopg 3).

    Raises:
        MisconfiguredError: the setting is not a PostgreSQL URL.
    """
    try:
        url = make_url(settings.database_url.get_secret_value())
    except ArgumentError as error:
        raise MisconfiguredError("PLATESTREAM_DATABASE_URL is not a valid URL") from error
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise MisconfiguredError("PLATESTREAM_DATABASE_URL must begin with postgresql://")
    return url.set(drivername="postgresql+psycopg")


def plain_database_url(settings: DatabaseSettings) -> str:
    """Return the database URL, including the password, in the form that psycopg accepts."""
    return database_url(settings).set(drivername="postgresql").render_as_string(hide_password=False)


def open_engine(settings: DatabaseSettings, *, pool_size: int = 1) -> Engine:
    """Return an engine without connecting. All statements and connection attempts have timeouts."""
    session_settings = {
        "statement_timeout": str(_STATEMENT_TIMEOUT_MS),
        "timezone": "UTC",
        SETTING: encoded(SERVICE),
    }
    engine = create_engine(
        database_url(settings),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=_POOL_WAIT_SECONDS,
        # Dead connections are replaced, so that callers see no errors after a server restart.
        pool_pre_ping=True,
        # Errors in the log must not contain hashes, addresses or plates.
        hide_parameters=True,
        connect_args={
            "connect_timeout": _CONNECT_TIMEOUT_SECONDS,
            "options": " ".join(f"-c {name}={value}" for name, value in session_settings.items()),
            "application_name": _NAME,
            **_KEEP_ALIVE,
        },
    )
    apply_behind_pooler(engine, session_settings)
    return engine


@contextmanager
def opened_engine(settings: DatabaseSettings) -> Iterator[Engine]:
    """Yield an engine, and close its connections at the end of the block."""
    engine = open_engine(settings)
    try:
        yield engine
    finally:
        engine.dispose()


def in_transaction(engine: Engine, work: Callable[[Session], _T]) -> _T:
    """Run ``work`` in one transaction and return its result. Roll back if ``work`` fails.

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
    """Processes of the service are connected, but must be stopped."""


def require_service_stopped(engine: Engine) -> None:
    """Check that no other process of the service is connected to the database.

    Raises:
        ServiceRunningError: another process is connected.
    """
    with engine.connect() as connection:
        if others := connection.execute(text(_OTHERS), {"name": _NAME}).scalar():
            raise ServiceRunningError(
                f"the service is still running ({others} PostgreSQL connections); stop it first"
            )


class AdvisoryLock(IntEnum):
    """Keys of locks for work that only one process can do at a time."""

    MIGRATION = 0x706C7401
    CONFIG_RELAY = 0x706C7402
