"""Reads a topic in order, for tests of the relay."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from kafka import KafkaConsumer, TopicPartition

from common.kafka.clients import consumer_options, topic_name
from common.records.cameras import CameraConfig
from common.records.codec import decode
from common.records.topics import CONFIG_CAMERAS
from common.settings import KafkaSettings


@dataclass(frozen=True)
class Change:
    """A record of config-cameras. ``config`` is None if the camera was deleted."""

    camera_id: UUID
    config: CameraConfig | None
    read_at: float


class ConfigReader:
    """Reads config-cameras from the start."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._consumer = KafkaConsumer(**consumer_options(settings, "test"))
        topic = topic_name(settings, CONFIG_CAMERAS)
        partitions = [TopicPartition(topic, number) for number in range(settings.kafka_partitions)]
        self._consumer.assign(partitions)
        self._consumer.seek_to_beginning(*partitions)
        self.changes: list[Change] = []

    def read(self, count: int, *, seconds: float = 20) -> list[Change]:
        """Return the first ``count`` changes, and fail after a timeout."""
        self._read_until(lambda: len(self.changes) >= count, seconds)
        return self.changes[:count]

    def read_revision(self, camera_id: UUID, revision: int, *, seconds: float = 20) -> None:
        """Read until a revision of a camera is published, and fail after a timeout."""

        def came() -> bool:
            configs = self.of(camera_id)
            return any(config is not None and config.revision == revision for config in configs)

        self._read_until(came, seconds)

    def of(self, camera_id: UUID) -> list[CameraConfig | None]:
        return [change.config for change in self.changes if change.camera_id == camera_id]

    def close(self) -> None:
        self._consumer.close()

    def _read_until(self, enough: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not enough():
            assert time.monotonic() < deadline, f"only {len(self.changes)} changes came"
            for records in self._consumer.poll(timeout_ms=50).values():
                self.changes += [_change(record.key, record.value) for record in records]


def _change(key: bytes, value: bytes | None) -> Change:
    config = decode(CameraConfig, value) if value else None
    return Change(UUID(key.decode()), config, time.monotonic())
