"""Settings shared by all stages."""

from pathlib import Path

from pydantic import Field

from common.metrics import HealthPageSettings
from common.settings import Fragment, KafkaSettings, ProcessSettings
from common.telemetry.settings import TraceSettings


class EarlyAlertSettings(Fragment):
    """Setting for early alerts, used by the recognition stage and the alerts stage."""

    early_alerts: bool = Field(
        True,
        description="Let alerts with `early` trigger before the vehicle has left. If false, all "
        "alerts trigger after the pass.",
    )


class StreamSettings(ProcessSettings, TraceSettings, HealthPageSettings, KafkaSettings):
    """Base class of the stages' settings."""

    stream_data_directory: Path = Field(
        Path(".local/streams"),
        description="Folder for local files of a stage (small; tables are in memory).",
    )
