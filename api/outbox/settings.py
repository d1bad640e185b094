"""Defines the relay's settings in a separate module, from which docs/settings.md is generated."""

from common.metrics import HealthPageSettings
from common.settings import DatabaseSettings, KafkaSettings, ProcessSettings
from common.telemetry.settings import TraceSettings


class RelaySettings(
    ProcessSettings, TraceSettings, HealthPageSettings, DatabaseSettings, KafkaSettings
):
    """The settings of the relay process."""
