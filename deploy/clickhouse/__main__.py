"""``python -m deploy.clickhouse PORT FOLDER``: the embedded ClickHouse server as a process."""

import signal
import socket
import sys
from pathlib import Path

import structlog
import uvicorn

from common.errors import EXIT_MISCONFIGURED, MisconfiguredError
from common.logs import configure_logging
from common.settings import load_settings
from deploy.clickhouse.app import ClickHouseApp
from deploy.clickhouse.engine import Engine
from deploy.clickhouse.settings import ClickHouseServerSettings

_log = structlog.get_logger(__name__)
_KEEP_ALIVE_SECONDS = 75
_STOP_SECONDS = 30
_BACKLOG = 512


def main() -> None:
    """Serve until SIGTERM or SIGINT, then finish running requests and close the engine."""
    settings = load_settings(ClickHouseServerSettings)
    configure_logging(settings)
    # uvicorn re-raises a caught signal after stopping, but the process must exit with status 0.
    stops: list[int] = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda number, _frame: stops.append(number))
    try:
        listener = _listen(int(sys.argv[1]))
        engine = Engine(Path(sys.argv[2]))
    except MisconfiguredError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(EXIT_MISCONFIGURED) from error
    _log.info("clickhouse_ready", address=listener.getsockname(), version=engine.version)
    app = ClickHouseApp(engine, settings)
    if not stops:
        uvicorn.Server(_config(app)).run([listener])
    _log.info("clickhouse_stopping")
    app.close()
    engine.close()
    _log.info("clickhouse_stopped")


def _listen(port: int) -> socket.socket:
    # The event loop disables Nagle's algorithm only for sockets created with IPPROTO_TCP. With the
    # algorithm, each response waits for the client's delayed ACK: 46 ms instead of 2 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise MisconfiguredError(f"cannot listen on port {port}: {error}") from error
    return listener


def _config(app: ClickHouseApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )


if __name__ == "__main__":
    main()
