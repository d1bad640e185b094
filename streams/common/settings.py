"""Settings that every stage has."""

from pathlib import Path

from pydantic import Field

from contracts.early import EarlyAlerts
from contracts.settings import Fragment, KafkaSettings, ProcessSettings


class EarlyAlertSettings(Fragment):
    """What the recognition stage tells early and the alerts stage fires for."""

    early_alerts: EarlyAlerts = Field(
        EarlyAlerts.SPECIFIC,
        description="Which alerts may fire as soon as two readings of a vehicle agree, before it "
        "is gone: off (none), specific (those whose plateMatchMode is specific), all. What came of "
        "it is told when the vehicle is gone.",
    )


class StreamSettings(ProcessSettings, KafkaSettings):
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
        description="How long a stage retries one message while a neighbour is away; then the "
        "process ends without acknowledging and is started again.",
    )
    stream_retry_pause_seconds: float = Field(
        10.0, gt=0, le=300, description="Longest pause between two tries of one message."
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
    """When a camera's coming and going is an event."""

    camera_offline_seconds: float = Field(
        15.0,
        ge=0,
        le=3600,
        description="A camera is announced offline after so long without a frame.",
    )
