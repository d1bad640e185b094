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

    relay_metrics_port: Port = Field(
        0, description="Port of the relay's /metrics and /healthz; 0: none."
    )
