"""Settings of the ingest workers."""

from enum import StrEnum

from pydantic import Field

from common.metrics import HealthPageSettings
from common.settings import (
    CameraOfflineSettings,
    EncryptionSettings,
    KafkaSettings,
    ProcessSettings,
    S3Settings,
    SampleRateSettings,
)
from common.telemetry.settings import TraceSettings
from common.urls.camera_settings import CameraAddressSettings


class MotionGateMode(StrEnum):
    """Processing that stops while nothing moves."""

    OFF = "off"
    FRAMES = "frames"
    DECODING = "decoding"


class IngestSettings(
    ProcessSettings,
    TraceSettings,
    HealthPageSettings,
    KafkaSettings,
    S3Settings,
    EncryptionSettings,
    CameraAddressSettings,
    SampleRateSettings,
    CameraOfflineSettings,
):
    """Settings of an ingest worker."""

    ingest_motion_gate: MotionGateMode = Field(
        MotionGateMode.DECODING,
        description="Processing that stops while nothing moves: `off` (none), `frames` (sending "
        "frames) or `decoding` (also decoding, except for key frames of live streams).",
    )
    ingest_max_frame_width_px: int = Field(
        0,
        ge=0,
        le=16_384,
        description="Maximum frame width in pixels; wider frames are scaled down before "
        "sending. 0: no scaling.",
    )
    ingest_hardware: str = Field(
        "off",
        pattern=r"^(off|auto|(cuda|vaapi|qsv|drm|amf)(:\S{1,100})?)$",
        description="Video decoding device: `off` (CPU), `auto` (first available device), or "
        "`cuda`, `qsv`, `drm`, `amf`, `vaapi`, optionally with a device, for "
        "example `cuda:1`. Falls back to the CPU.",
    )
