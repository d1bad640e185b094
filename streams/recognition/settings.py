"""Settings of the recognition stage."""

from pydantic import Field

from common.settings import Fragment, S3Settings
from recognition.settings import RecognizerPoolSettings
from streams.runtime.settings import EarlyAlertSettings, StreamSettings


class TrackingSettings(Fragment):
    """The rules by which readings form a pass, and a pass becomes a recognition."""

    tracking_end_seconds: float = Field(
        2.0, gt=0, le=60, description="Time without a reading after which a vehicle's pass ends."
    )
    tracking_silence_seconds: float = Field(
        45.0,
        ge=0,
        le=86_400,
        description="Time without a reading after which the same plate on the same camera is "
        "reported again.",
    )
    tracking_min_confidence: float = Field(
        0.5, ge=0, le=1, description="Minimum confidence of a recognition."
    )


class ReadingSettings(Fragment):
    """Settings for reading frames from Kafka."""


class RecognitionSettings(
    StreamSettings,
    S3Settings,
    RecognizerPoolSettings,
    ReadingSettings,
    TrackingSettings,
    EarlyAlertSettings,
):
    """Settings of one worker of the recognition stage."""
