"""Settings of the recognition stage."""

from pydantic import Field

from common.metrics import CameraMetricsSettings
from common.settings import Fragment, Port, S3Settings
from recognition.settings import RecognizerPoolSettings
from streams.runtime.settings import EarlyAlertSettings, StreamSettings


class TrackingSettings(Fragment):
    """The rules by which readings are one pass, and a pass is a recognition."""

    tracking_end_seconds: float = Field(
        2.0, gt=0, le=60, description="A vehicle's track ends after being unseen for so long."
    )
    tracking_longest_seconds: float = Field(
        15.0, gt=0, le=600, description="A track is resolved after so long, seen or not."
    )
    tracking_silence_seconds: float = Field(
        45.0,
        ge=0,
        le=86_400,
        description="The same plate on the same camera stays suppressed until unseen for so long.",
    )
    tracking_fixture_silence_seconds: float = Field(
        86_400.0,
        ge=0,
        le=2_592_000,
        description="The same for a text that never moved and turns up at the very same place "
        "(on-screen text, a sign, a parked vehicle), where the place could not be seen meanwhile: "
        "seen without it for PLATESTREAM_TRACKING_SILENCE_SECONDS, it has left.",
    )
    tracking_agreeing_readings: int = Field(
        2, ge=1, le=100, description="So many equal readings make a pass a recognition."
    )
    tracking_single_confidence: float = Field(
        0.9, ge=0, le=1, description="A single reading of this confidence is enough."
    )
    tracking_min_confidence: float = Field(
        0.5, ge=0, le=1, description="Passes whose voted text is less sure are not recognitions."
    )


class ReadingSettings(Fragment):
    """The reading of frames from Kafka."""

    reading_deadline_seconds: float = Field(
        20.0,
        gt=0,
        le=3600,
        description="Frames older than this are left to be read late, in the time that fresh ones "
        "leave, one in 0.4 s of each camera; from half of it on fresh ones are thinned out as "
        "much. It should outlast the fail-over of a dead worker (session time-out and rebalance).",
    )
    reading_frames_per_worker: int = Field(
        4,
        ge=1,
        le=64,
        description="Frames that are taken from Kafka and not yet done, for each recogniser "
        "process; a few keep it busy. At least twice PLATESTREAM_RECOGNITION_BATCH are taken.",
    )
    reading_cache_bytes: int = Field(
        134_217_728,
        ge=0,
        description="Memory for frames with plates, kept until their pass is over; what falls "
        "out is fetched again from Kafka.",
    )


class RecognitionSettings(
    StreamSettings,
    CameraMetricsSettings,
    S3Settings,
    RecognizerPoolSettings,
    ReadingSettings,
    TrackingSettings,
    EarlyAlertSettings,
):
    """All settings of the recognition stage."""

    recognition_metrics_port: Port = Field(
        0, description="Port of the recognition stage's /metrics and /healthz; 0: none."
    )
