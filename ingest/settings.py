"""Settings of the ingest process."""

from pydantic import Field

from common.metrics import CameraMetricsSettings, HealthPageSettings
from common.settings import (
    EncryptionSettings,
    KafkaSettings,
    Port,
    ProcessSettings,
    S3Settings,
    SampleRateSettings,
)
from common.telemetry.settings import TraceSettings
from common.urls.camera_settings import CameraAddressSettings


class IngestSettings(
    ProcessSettings,
    TraceSettings,
    HealthPageSettings,
    CameraMetricsSettings,
    KafkaSettings,
    S3Settings,
    EncryptionSettings,
    CameraAddressSettings,
    SampleRateSettings,
):
    """Settings of one ingest worker."""

    ingest_worker_id: str = Field(
        "",
        pattern=r"^[A-Za-z0-9._-]*$",
        description="Name of this worker in camera status; empty: host name and process id.",
    )
    ingest_motion_gate: bool = Field(
        True, description="Holds back frames of a scene in which nothing moves."
    )
    ingest_motion_hold_seconds: float = Field(
        3.0, ge=3, le=600, description="How long frames still pass after the last movement."
    )
    ingest_rest_when_still: bool = Field(
        True,
        description="While nothing moves in a live stream, only its key frames are decoded; what "
        "moves opens it again from the last one. Needs the motion gate.",
    )
    ingest_max_frame_width_px: int = Field(
        0,
        ge=0,
        le=16_384,
        description="Wider frames are scaled down to this width before they are sent; 0: as is.",
    )
    ingest_jpeg_quality: int = Field(
        80, ge=30, le=100, description="JPEG quality of frames and snapshots."
    )
    ingest_open_timeout_seconds: float = Field(
        10.0, ge=1, le=60, description="How long a camera may take to begin its stream."
    )
    ingest_read_timeout_seconds: float = Field(
        5.0, ge=1, le=60, description="How long a camera may be silent before it is reconnected."
    )
    ingest_reconnect_min_seconds: float = Field(
        1.0, gt=0, le=60, description="Wait before the first new try after a camera was lost."
    )
    ingest_reconnect_max_seconds: float = Field(
        60.0, ge=1, le=3600, description="Longest wait between two tries to reach a camera."
    )
    ingest_offline_after_seconds: float = Field(
        15.0, ge=1, le=600, description="A camera is offline after this long without a frame."
    )
    ingest_snapshot_interval_seconds: float = Field(
        5.0, ge=1, le=3600, description="How often a camera's latest picture is stored."
    )
    ingest_cameras_per_process: int = Field(
        8,
        ge=1,
        le=64,
        description="Cameras that are captured by one process: a stream that crashes it interrupts "
        "the others of that process for a moment. Each process takes about 60 MiB.",
    )
    ingest_process_memory_bytes: int = Field(
        2_147_483_648,
        ge=536_870_912,
        description="Address space that a capture process may take beyond what it starts with.",
    )
    ingest_decoder_threads: int = Field(
        1, ge=1, le=16, description="Threads that decode each camera's video; 1 costs least."
    )
    ingest_hardware: str = Field(
        "off",
        pattern=r"^(off|auto|(cuda|vaapi|qsv|drm|amf)(:\S{1,100})?)$",
        description="What decodes video: `off` for the processor, `auto` for the first video "
        "device that opens, or `cuda`, `qsv`, `drm`, `amf`, `vaapi`, each with the device behind a "
        "colon if it is not the first (`cuda:1`). Without a device that opens, and for streams "
        "that it cannot decode, the processor does.",
    )
    ingest_buffer_bytes: int = Field(
        67_108_864,
        ge=8_388_608,
        description="Frames that wait for Kafka, in bytes; more are dropped and counted.",
    )
    ingest_send_block_seconds: float = Field(
        0.5, gt=0, le=10, description="Longest time that a send may wait for Kafka's metadata."
    )
    ingest_metrics_port: Port = Field(0, description="Port of /metrics and /healthz; 0: none.")
