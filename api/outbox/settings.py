"""Settings of the relay. A module of its own: docs/settings.md is made from such modules."""

from common.metrics import HealthPageSettings
from common.settings import (
    DatabaseSettings,
    KafkaSettings,
    ProcessSettings,
)
from common.telemetry.settings import TraceSettings


class RelaySettings(
    ProcessSettings, TraceSettings, HealthPageSettings, DatabaseSettings, KafkaSettings
):
    """The settings of the relay process."""
