"""Settings of the relay. A module of its own: docs/settings.md is made from such modules."""

from pydantic import Field

from common.metrics import HealthPageSettings
from common.settings import (
    DatabaseSettings,
    KafkaSettings,
    Port,
    ProcessSettings,
)
from common.telemetry.settings import TraceSettings


class RelaySettings(
    ProcessSettings, TraceSettings, HealthPageSettings, DatabaseSettings, KafkaSettings
):
    """The settings of the relay process."""

    relay_poll_seconds: float = Field(
        1.0,
        gt=0,
        le=60,
        description="How often the relay looks for outbox rows that no notification announced.",
    )
    relay_batch_rows: int = Field(
        500, ge=1, le=10_000, description="Outbox rows that the relay publishes at a time."
    )
    relay_metrics_port: Port = Field(
        0, description="Port of the relay's /metrics and /healthz; 0: none."
    )
