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

    stream_commit_interval_seconds: float = Field(
        1.0,
        gt=0,
        le=60,
        description="How often a stage commits what it has done; the replay window of a crash.",
    )
    stream_data_directory: Path = Field(
        Path(".local/streams"),
        description="Folder for what a stage keeps on disk (little, with tables in memory).",
    )
    stream_retry_seconds: float = Field(
        120.0,
        ge=0,
        description="How long a stage retries one message while a dependency is unavailable; then "
        "the process ends without acknowledging and is started again.",
    )
    stream_retry_pause_seconds: float = Field(
        10.0, gt=0, le=300, description="Longest pause between two attempts at one message."
    )
    stream_stop_seconds: float = Field(
        4.0,
        gt=0,
        le=600,
        description="How long a stage may take to stop cleanly; past it the process just ends, "
        "and what was not finished is read again.",
    )
    stream_stall_seconds: float = Field(
        120.0,
        ge=10,
        description="A stage with messages waiting that commits nothing for this long ends itself "
        "to be started again.",
    )
    stream_dead_letters_per_minute: int = Field(
        100,
        ge=1,
        description="More dead letters than this within a minute end the process: something is "
        "wrong that is better seen as lag.",
    )


class PresenceSettings(Fragment):
    """The announcement of cameras that come and go."""

    camera_offline_seconds: float = Field(
        15.0,
        ge=0,
        le=3600,
        description="A camera is announced offline after so long without a frame.",
    )
