"""``python -m api``: the API process."""

from collections.abc import Callable
from functools import partial
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.http_protocol import ApiHttpProtocol
from api.services import Services
from api.settings import ApiSettings
from api.wiring import check_settings, open_services
from contracts.errors import MisconfiguredError
from contracts.exit_statuses import EXIT_MISCONFIGURED
from contracts.logs import configure_logging
from contracts.settings import load_settings

log = structlog.get_logger()


def main() -> None:
    """Serve until told to stop; requests in flight are finished then."""
    settings = load_settings(ApiSettings)
    configure_logging(settings)
    try:
        check_settings(settings)
    except MisconfiguredError as error:
        log.error("api_misconfigured", error=str(error))
        raise SystemExit(EXIT_MISCONFIGURED) from error
    app = create_app(partial(open_services, settings))
    log.info("api_starting", host=settings.api_host, port=settings.api_port)
    config = uvicorn.Config(
        app,
        host=settings.api_host,
        port=settings.api_port,
        http=ApiHttpProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Which proxies may be believed is a setting of its own, not uvicorn's.
        proxy_headers=False,
        timeout_graceful_shutdown=settings.api_graceful_stop_seconds,
    )
    _Server(config, partial(_end_streams, app)).run()


class _Server(uvicorn.Server):
    """Ends what would never end by itself as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_stop()
        super().handle_exit(sig, frame)


def _end_streams(app: FastAPI) -> None:
    services = getattr(app.state, "services", None)
    if isinstance(services, Services):
        services.live.end_all()


if __name__ == "__main__":
    main()
