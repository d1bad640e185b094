"""Runs the relay (``python -m api.outbox``). ``--republish-all`` queues all configuration again."""

import signal
from types import FrameType
from typing import Annotated

import structlog
import typer
from prometheus_client import CollectorRegistry

from api.db.engine import in_transaction, opened_engine, plain_database_url
from api.outbox.outbox import republish_all
from api.outbox.publisher import KafkaPublisher
from api.outbox.relay import Relay
from api.outbox.settings import RelaySettings
from common.errors import EXIT_MISCONFIGURED, MisconfiguredError
from common.logs import configure_logging
from common.metrics import serve_health
from common.settings import load_settings
from common.telemetry.setup import start_tracing

log = structlog.get_logger()

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

# New rows are also announced by PostgreSQL notifications.
_POLL_SECONDS = 1.0
_BATCH_ROWS = 500


@app.command()
def main(
    republish: Annotated[
        bool,
        typer.Option(
            "--republish-all", help="Queue all configuration for the running relay, then exit."
        ),
    ] = False,
) -> None:
    """Publish configuration changes from PostgreSQL to Kafka until stopped."""
    settings = load_settings(RelaySettings)
    configure_logging(settings)
    try:
        _republish(settings) if republish else _relay(settings)
    except MisconfiguredError as error:
        log.error("relay_misconfigured", error=str(error))
        raise SystemExit(EXIT_MISCONFIGURED) from error


def _republish(settings: RelaySettings) -> None:
    with opened_engine(settings) as engine:
        log.info("config_republish_queued", records=in_transaction(engine, republish_all))


def _relay(settings: RelaySettings) -> None:
    registry = CollectorRegistry()
    relay = Relay(
        plain_database_url(settings),
        lambda: KafkaPublisher(settings),
        poll_seconds=_POLL_SECONDS,
        batch_rows=_BATCH_ROWS,
        registry=registry,
    )
    start_tracing(settings, "relay", registry)
    serve_health(settings, settings.metrics_port, registry, relay.is_alive)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        relay.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    relay.run()
    log.info("relay_stopped")


if __name__ == "__main__":
    app()
