"""Defines the Kafka topics, with their producers, records and retention.

``python -m common.kafka`` creates missing topics (see :mod:`common.kafka.clients`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from common.records.alerts import AlertCandidate, AlertConfig, AlertTrigger, ProvisionalRecognition
from common.records.cameras import CameraConfig, CameraStatus
from common.records.codec import DeadLetter, Record
from common.records.counts import CameraCounts
from common.records.deliveries import Delivery, DeliveryAttempt, WebhookStatus
from common.records.frames import FrameMeta
from common.records.owners import OwnerConfig
from common.records.recognitions import FrameReadings, PassOutcome, Recognition
from common.records.webhooks import WebhookConfig

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 24 * 60 * _MINUTE_MS
_MIB: Final = 1024 * 1024


class CleanupPolicy(StrEnum):
    """Kafka's policy for old records: delete them, or retain the last record of each key."""

    DELETE = "delete"
    COMPACT = "compact"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """One topic. ``name`` excludes the prefix from the settings.

    ``producer`` is the folder that writes the topic. The API's outbox also writes to some topics on
    behalf of clients, as noted in comments. ``retention_bytes`` is per partition (-1: unlimited).
    """

    name: str
    producer: str
    record: type[Record]
    key: str
    cleanup: CleanupPolicy = CleanupPolicy.DELETE
    retention_ms: int = 7 * _DAY_MS
    retention_bytes: int = -1
    segment_bytes: int = 64 * _MIB
    segment_ms: int = _DAY_MS
    compression: str = "producer"


def _compacted(name: str, producer: str, record: type[Record], key: str) -> Topic:
    return Topic(
        name=name,
        producer=producer,
        record=record,
        key=key,
        cleanup=CleanupPolicy.COMPACT,
        segment_bytes=16 * _MIB,
    )


def _dead_letters(name: str, producer: str) -> Topic:
    key, retention_ms = "key of the message", 14 * _DAY_MS
    return Topic(
        name=name, producer=producer, record=DeadLetter, key=key, retention_ms=retention_ms
    )


FRAMES = Topic(
    name="frames",
    producer="ingest",
    record=FrameMeta,
    key="camera id",
    # A 1080p JPEG has 150-350 kB. The limit in bytes stops a burst from filling the disk. Segments
    # are small, because Kafka only deletes whole closed segments.
    retention_ms=15 * _MINUTE_MS,
    retention_bytes=2048 * _MIB,
    segment_bytes=32 * _MIB,
    segment_ms=2 * _MINUTE_MS,
    # JPEG is already compressed.
    compression="uncompressed",
)
READINGS = Topic(
    name="readings",
    producer="streams/recognition",
    record=FrameReadings,
    key="camera id",
    retention_ms=_DAY_MS,
)
RECOGNITIONS = Topic(
    name="recognitions",
    producer="streams/recognition",
    record=Recognition,
    # The API publishes stored image calls through its outbox.
    key="camera id, or the owner's id for an image call",
)
LOST_IMAGES = Topic(
    name="lost-images",
    producer="streams/recognition",
    # Recognitions as published, but without the keys of images that S3 never received.
    record=Recognition,
    key="camera id",
)
OUTCOMES = Topic(
    name="outcomes",
    producer="streams/recognition",
    record=PassOutcome,
    # The API publishes outcomes of image calls through its outbox.
    key="camera id, or the owner's id for an image call",
)
CAMERA_COUNTS = Topic(
    name="camera-counts",
    producer="streams/recognition",
    record=CameraCounts,
    key="camera id",
    retention_bytes=256 * _MIB,
)
SIGHTINGS = Topic(
    name="sightings",
    producer="streams/recognition",
    record=ProvisionalRecognition,
    key="camera id",
    # Only the newest records can trigger, but resolutions must survive an outage.
    retention_ms=_DAY_MS,
)
CONFIG_CAMERAS = _compacted("config-cameras", "api", CameraConfig, "camera id")
CONFIG_ALERTS = _compacted("config-alerts", "api", AlertConfig, "alert id")
CONFIG_WEBHOOKS = _compacted("config-webhooks", "api", WebhookConfig, "webhook id")
CONFIG_OWNERS = _compacted("config-owners", "api", OwnerConfig, "owner id")
CAMERA_STATUS = _compacted("camera-status", "ingest", CameraStatus, "camera id")
ALERT_CANDIDATES = Topic(
    name="alert-candidates",
    producer="streams/alerts",
    record=AlertCandidate,
    key="alert id",
    retention_ms=_DAY_MS,
    retention_bytes=256 * _MIB,
    compression="gzip",
)
ALERTS = Topic(
    name="alerts",
    producer="streams/alerts",
    record=AlertTrigger,
    key="alert id",
    retention_bytes=512 * _MIB,
    compression="gzip",
)
DELIVERIES = Topic(
    name="deliveries",
    producer="streams/webhooks",
    record=Delivery,
    # The API publishes client requests (tests, replays, redeliveries) through its outbox.
    key="endpoint: the webhook's id, or a hash of an alert's destination",
    retention_bytes=1024 * _MIB,
    # Compression reduces deliveries of one event, which share a recognition, to a seventh.
    compression="gzip",
)
ATTEMPTS = Topic(
    name="attempts",
    producer="streams/webhooks",
    record=DeliveryAttempt,
    key="endpoint of the delivery",
    retention_bytes=1024 * _MIB,
    compression="gzip",
)
WEBHOOK_STATUS = _compacted("webhook-status", "streams/webhooks", WebhookStatus, "webhook id")
ALERT_DEAD_LETTERS = _dead_letters("alert-dead-letters", "streams/alerts")
READING_DEAD_LETTERS = Topic(
    name="recognition-dead-letters",
    producer="streams/recognition",
    record=DeadLetter,
    key="camera id",
    retention_ms=14 * _DAY_MS,
    # The dead letter of an unreadable frame contains the whole frame as base64: 0.4 MB. A camera
    # that sends nothing else fills 50 GB per day. The limit retains 300 dead letters per partition.
    retention_bytes=128 * _MIB,
    segment_bytes=16 * _MIB,
)
SINK_DEAD_LETTERS = _dead_letters("sink-dead-letters", "streams/sink")
WEBHOOKS_DEAD_LETTERS = _dead_letters("webhooks-dead-letters", "streams/webhooks")
MQTT_DEAD_LETTERS = _dead_letters("mqtt-dead-letters", "streams/mqtt")

TOPICS: Final[tuple[Topic, ...]] = (
    FRAMES,
    READINGS,
    RECOGNITIONS,
    LOST_IMAGES,
    OUTCOMES,
    CAMERA_COUNTS,
    SIGHTINGS,
    CONFIG_CAMERAS,
    CONFIG_ALERTS,
    CONFIG_WEBHOOKS,
    CONFIG_OWNERS,
    CAMERA_STATUS,
    ALERT_CANDIDATES,
    ALERTS,
    DELIVERIES,
    ATTEMPTS,
    WEBHOOK_STATUS,
    ALERT_DEAD_LETTERS,
    READING_DEAD_LETTERS,
    SINK_DEAD_LETTERS,
    WEBHOOKS_DEAD_LETTERS,
    MQTT_DEAD_LETTERS,
)
