"""Runs the API process (``python -m api``)."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.container import Services, check_settings, open_services
from api.middleware.connections import ConnectionLimits, allow_descriptors
from api.middleware.http_protocol import http_protocol
from api.settings import ApiSettings
from common.errors import EXIT_MISCONFIGURED, MisconfiguredError
from common.logs import configure_logging
from common.settings import load_settings
from common.telemetry.setup import start_tracing

log = structlog.get_logger()

# Some proxied calls fail with 502 unless this is longer than the proxy's idle timeout.
_KEEP_ALIVE_SECONDS = 75
# Time that running requests have to finish when the process stops.
_GRACEFUL_STOP_SECONDS = 20


def main() -> None:
    """Serve requests until a stop signal arrives, then finish running requests."""
    settings = load_settings(ApiSettings)
    configure_logging(settings)
    with _exit_if_misconfigured():
        check_settings(settings)
    app = create_app(partial(open_services, settings), settings.api_cors_origins)
    start_tracing(settings, "api", app.state.metrics.registry)
    with _exit_if_misconfigured():
        app.state.pages.serve(settings, settings.metrics_port)
    log.info("api_starting", host=settings.api_host, port=settings.api_port)
    allow_descriptors(settings.api_max_connections)
    # Collections skip the loaded modules, which took 0.2 s in the middle of requests.
    gc.freeze()
    _Server(_server_config(settings, app), partial(_end_streams, app)).run()


@contextmanager
def _exit_if_misconfigured() -> Iterator[None]:
    try:
        yield
    except MisconfiguredError as error:
        log.error("api_misconfigured", error=str(error))
        raise SystemExit(EXIT_MISCONFIGURED) from error


def _server_config(settings: ApiSettings, app: FastAPI) -> uvicorn.Config:
    limits = ConnectionLimits(
        settings.api_max_connections, settings.api_max_connections // 4, settings.trusted_proxies
    )
    return uvicorn.Config(
        app,
        host=settings.api_host,
        port=settings.api_port,
        http=http_protocol(limits),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Trusted proxies are configured in this service's settings, not in uvicorn's.
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACEFUL_STOP_SECONDS,
    )


class _Server(uvicorn.Server):
    """Ends event streams, which otherwise never end, as soon as a stop signal arrives."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._is_stopping = asyncio.Event()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_stop()
        super().handle_exit(sig, frame)
        self._is_stopping.set()

    async def main_loop(self) -> None:
        """Update the Date header once per second, and not wake up ten times, until a signal."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_stopping.wait(), 1)


def _end_streams(app: FastAPI) -> None:
    services = getattr(app.state, "services", None)
    if isinstance(services, Services):
        services.live.end_all()


if __name__ == "__main__":
    main()
