"""Settings that every stage has."""

from pathlib import Path

from pydantic import Field

from common.metrics import HealthPageSettings
from common.settings import Fragment, KafkaSettings, ProcessSettings
from common.telemetry.settings import TraceSettings


class EarlyAlertSettings(Fragment):
    """The early alerts: reported by the recognition stage, triggered by the alerts stage."""

    early_alerts: bool = Field(
        True,
        description="Let alerts with `early` trigger before the vehicle has left. If false, all "
        "alerts trigger after the pass.",
    )


class StreamSettings(ProcessSettings, TraceSettings, HealthPageSettings, KafkaSettings):
    """Base of a stage's settings class."""

    stream_data_directory: Path = Field(
        Path(".local/streams"),
        description="Folder for local files of a stage (small; tables are in memory).",
    )
