"""Connections to ClickHouse, and its errors in this service's family."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import clickhouse_connect
from clickhouse_connect.driver import options
from clickhouse_connect.driver.asyncclient import AsyncClient
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import (
    ClickHouseError,
    DatabaseError,
    DataError,
    InternalError,
    NotSupportedError,
    ProgrammingError,
)

from contracts.errors import MisconfiguredError, PlatestreamError, TransientError
from contracts.settings import ClickHouseSettings

# Where pandas and pyarrow are installed, as beside the embedded server, clickhouse-connect imports
# them at the first insert or answer: 90 MiB, and seconds in which the event loop stands still.
# Nothing here uses them.
for _unused in ("pd", "pd_time_test", "arrow", "pl"):
    setattr(options, _unused, None)
# It logs every refused connection with its trace, besides raising it.
logging.getLogger("clickhouse_connect").setLevel(logging.ERROR)

_CONNECT_SECONDS = 5
_SCHEMA_SECONDS = 600
_SERVER_DATABASE = "default"

# Codes that say "not as things are set up": no table, no database, no access.
_MISCONFIGURED_CODES = frozenset({60, 81, 192, 193, 194, 497, 516})
# Codes that say "not now": time-outs, full queues, memory, disk or parts, read-only, network,
# mutations that failed or were killed (341), too many of them (692).
_TRANSIENT_CODES = frozenset(
    {3, 23, 74, 75, 159, 198, 202, 203, 209, 210, 225, 241, 242, 243, 252, 279, 319, 341, 394, 425}
    | {439, 499, 668, 692, 999}
)


# What the client raises before or after the server has had its say: waiting does not mend it.
_CLIENT_FAULTS = (ProgrammingError, DataError, NotSupportedError, InternalError)


class QueryFailedError(PlatestreamError):
    """ClickHouse refused a statement for a reason that neither waiting nor settings explain."""


async def connect(settings: ClickHouseSettings, *, query_seconds: int = 60) -> AsyncClient:
    """Open a client that any number of tasks may use at once; a call ends after ``query_seconds``.

    Raises:
        TransientError: nobody answers there.
        MisconfiguredError: user, password or database is wrong.
    """
    parts = urlsplit(settings.clickhouse_url)
    with clickhouse_errors():
        return await clickhouse_connect.get_async_client(
            host=parts.hostname,
            port=_port(settings.clickhouse_url),
            interface=parts.scheme,
            username=settings.clickhouse_user,
            password=settings.clickhouse_password.get_secret_value(),
            database=settings.clickhouse_database,
            # A session admits one query at a time; none of ours needs one.
            autogenerate_session_id=False,
            connect_timeout=_CONNECT_SECONDS,
            send_receive_timeout=query_seconds,
            show_clickhouse_errors="scrub",
        )


def connect_for_schema(settings: ClickHouseSettings) -> Client:
    """Open a blocking client to the server's own database, as ours may not exist yet.

    Raises:
        TransientError: nobody answers there.
        MisconfiguredError: user or password is wrong.
    """
    parts = urlsplit(settings.clickhouse_url)
    with clickhouse_errors():
        return clickhouse_connect.get_client(
            host=parts.hostname,
            port=_port(settings.clickhouse_url),
            interface=parts.scheme,
            username=settings.clickhouse_user,
            password=settings.clickhouse_password.get_secret_value(),
            database=_SERVER_DATABASE,
            autogenerate_session_id=False,
            connect_timeout=_CONNECT_SECONDS,
            send_receive_timeout=_SCHEMA_SECONDS,
            show_clickhouse_errors="scrub",
        )


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


@contextmanager
def clickhouse_errors() -> Iterator[None]:
    """Turn what clickhouse-connect raises into this service's family.

    Raises:
        TransientError: the network, or a code that says "not now".
        MisconfiguredError: a code that says "not as things are set up".
        QueryFailedError: any other code, or a fault of the client's own.
    """
    try:
        yield
    except DatabaseError as error:
        raise _translated(error) from error
    except ClickHouseError as error:
        raise QueryFailedError(f"ClickHouse: {error}") from error


def _translated(error: DatabaseError) -> PlatestreamError:
    message = f"ClickHouse: {error}"
    if isinstance(error, _CLIENT_FAULTS):
        return QueryFailedError(message)
    if error.code is None or error.code in _TRANSIENT_CODES:
        return TransientError(message)
    if error.code in _MISCONFIGURED_CODES:
        return MisconfiguredError(message)
    return QueryFailedError(message)
