"""``python -m deploy.clickhouse``: the embedded ClickHouse server as a process."""

import asyncio
import os
import signal
import socket
import sys

import structlog
import uvicorn

from common.errors import EXIT_MISCONFIGURED, MisconfiguredError
from common.logs import configure_logging
from common.settings import load_settings
from deploy.clickhouse.analysts import Analysts, HourlyQuota
from deploy.clickhouse.app import Account, ClickHouseApp, Limits, OwnerReaders
from deploy.clickhouse.engine import Engine, EngineOptions
from deploy.clickhouse.reader_bounds import ReaderBounds
from deploy.clickhouse.request import Credentials
from deploy.clickhouse.settings import ClickHouseServerSettings

_log = structlog.get_logger(__name__)
_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 512


def main() -> None:
    """Serve until SIGTERM or SIGINT, then finish running requests and close the engine."""
    settings = load_settings(ClickHouseServerSettings)
    configure_logging(settings)
    # uvicorn raises a caught signal again when it has stopped; for us that is a clean end.
    stops: list[int] = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda number, _frame: stops.append(number))
    try:
        _serve(settings, stops)
    except MisconfiguredError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(EXIT_MISCONFIGURED) from error


def _serve(settings: ClickHouseServerSettings, stops: list[int]) -> None:
    """Serve until a signal; ``stops`` holds those that came while the engine was opening."""
    listener = _listen(settings)
    engine = Engine(
        EngineOptions(
            settings.clickhouse_server_data_path,
            settings.clickhouse_server_memory_bytes,
            settings.clickhouse_server_query_seconds,
            settings.clickhouse_server_fsync,
            settings.clickhouse_server_keep_free_bytes,
        )
    )
    host, port = listener.getsockname()[:2]
    _log.info("clickhouse_ready", host=host, port=port, version=engine.version)
    app = _app(engine, settings)
    if not stops:
        asyncio.run(_server(app, settings).serve([listener]))
    _log.info("clickhouse_stopping")
    app.close()
    engine.close()
    _log.info("clickhouse_stopped")


def _listen(settings: ClickHouseServerSettings) -> socket.socket:
    address = (settings.clickhouse_server_host, settings.clickhouse_server_port)
    # The protocol is named as the event loop switches Nagle's algorithm off only for sockets that
    # say TCP; with it every answer waits for the client's delayed ACK: 46 ms instead of 2.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise MisconfiguredError(f"cannot listen on {address[0]}:{address[1]}: {error}") from error
    return listener


def _app(engine: Engine, settings: ClickHouseServerSettings) -> ClickHouseApp:
    return ClickHouseApp(
        engine,
        _accounts(settings),
        Limits(
            settings.clickhouse_server_concurrent_queries,
            settings.clickhouse_server_queue_seconds,
            settings.clickhouse_server_reader_queries,
        ),
        socket.gethostname(),
        OwnerReaders(
            Analysts(engine),
            _bounds(settings),
            HourlyQuota(
                settings.clickhouse_server_reader_queries_per_hour,
                settings.clickhouse_server_reader_seconds_per_hour,
            ),
        ),
    )


def _accounts(settings: ClickHouseServerSettings) -> tuple[Account, ...]:
    password = settings.clickhouse_server_password.get_secret_value()
    service = Account(Credentials(settings.clickhouse_server_user, password))
    reader_password = settings.clickhouse_server_reader_password.get_secret_value()
    if not reader_password:
        return (service,)
    reader = Credentials(settings.clickhouse_server_reader_user, reader_password)
    return (service, Account(reader, _bounds(settings)))


def _bounds(settings: ClickHouseServerSettings) -> ReaderBounds:
    return ReaderBounds(
        settings.clickhouse_server_reader_query_seconds,
        settings.clickhouse_server_reader_memory_bytes,
        threads=max(1, (os.cpu_count() or 1) // 2),
    )


def _server(app: ClickHouseApp, settings: ClickHouseServerSettings) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=settings.clickhouse_server_stop_seconds,
        )
    )


if __name__ == "__main__":
    main()
