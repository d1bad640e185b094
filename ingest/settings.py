"""Settings of the ingest process."""

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


class MotionGate(StrEnum):
    """What stops while nothing moves."""

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
    """Settings of one ingest worker."""

    ingest_motion_gate: MotionGate = Field(
        MotionGate.DECODING,
        description="What stops while nothing moves: `off` (nothing), `frames` (sending frames) "
        "or `decoding` (also decoding, except for key frames of live streams).",
    )
    ingest_max_frame_width_px: int = Field(
        0,
        ge=0,
        le=16_384,
        description="Wider frames are scaled down to this width before they are sent; 0: as is.",
    )
    ingest_hardware: str = Field(
        "off",
        pattern=r"^(off|auto|(cuda|vaapi|qsv|drm|amf)(:\S{1,100})?)$",
        description="What decodes video: `off` for the processor, `auto` for the first video "
        "device that opens, or `cuda`, `qsv`, `drm`, `amf`, `vaapi`, each with the device behind a "
        "colon if it is not the first (`cuda:1`). Without a device that opens, and for streams "
        "that it cannot decode, the processor does.",
    )
