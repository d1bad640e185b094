"""Ingest workers as processes, their configuration, and the records that they send."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from uuid import UUID, uuid4

import msgspec
from cryptography.fernet import Fernet
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from common.kafka.clients import consumer_options, producer_options, topic_name
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.codec import decode, encode
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from common.records.topics import CAMERA_STATUS, CONFIG_CAMERAS, FRAMES
from common.secrets import SecretBox
from common.settings import KafkaSettings, S3Settings
from deploy.local.servers.base import Program, python_module
from tests.records import camera_id_on
from tests.services.process import ChildProcess
from tests.services.tuned import VARIABLE

SECRET_KEY = Fernet.generate_key().decode()
OWNER_ID = UUID(int=77)

# Times are short, so that tests need not wait. Their proportions match the defaults.
_TIMES = {
    "ingest.app.OPEN_TIMEOUT_SECONDS": "3",
    "ingest.app.READ_TIMEOUT_SECONDS": "1",
    "ingest.app.RECONNECT_MIN_SECONDS": "0.2",
    "ingest.app.RECONNECT_MAX_SECONDS": "1",
    "ingest.app.SNAPSHOT_SECONDS": "1",
    "camera_offline_seconds": "4",
    "ingest.assignment.follower.SESSION_TIMEOUT_SECONDS": "6",
}


@dataclass(frozen=True)
class World:
    """The addresses of a test's servers, and the test's folder."""

    kafka: KafkaSettings
    s3: S3Settings
    directory: Path


class IngestWorker(ChildProcess):
    """A process ``python -m ingest``. Use the worker as a context manager."""

    def __init__(
        self,
        world: World,
        name: str = "one",
        command: tuple[str, ...] = python_module("tests.services.tuned", "ingest"),
        /,
        **settings: str,
    ) -> None:
        """Take settings, and constants by their full names, in addition to the test's defaults."""
        changes = _TIMES | {"ingest.app.WORKER": name} | settings
        constants = [f"{key}={value}" for key, value in changes.items() if "." in key]
        given = {key: value for key, value in changes.items() if "." not in key}
        environment = {
            "PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS": world.kafka.kafka_bootstrap_servers,
            "PLATESTREAM_KAFKA_TOPIC_PREFIX": world.kafka.kafka_topic_prefix,
            "PLATESTREAM_S3_ENDPOINT": world.s3.s3_endpoint,
            "PLATESTREAM_S3_BUCKET": world.s3.s3_bucket,
            "PLATESTREAM_S3_ACCESS_KEY": world.s3.s3_access_key,
            "PLATESTREAM_S3_SECRET_KEY": world.s3.s3_secret_key.get_secret_value(),
            "PLATESTREAM_SECRET_KEY": SECRET_KEY,
            "PLATESTREAM_CAMERA_ALLOW_LOOPBACK": "true",
            "PLATESTREAM_CAMERA_FILES_FOLDER": gettempdir(),
            "PLATESTREAM_LOG_LEVEL": "debug",
            VARIABLE: " ".join(constants),
            **{f"PLATESTREAM_{key.upper()}": value for key, value in given.items()},
        }
        program = Program(
            name=f"ingest-{name}",
            command=command,
            environment=environment,
            stop_seconds=6,
        )
        super().__init__(program, world.directory / f"{name}.log")

    def wait(self, seconds: float) -> int:
        """Wait until the process exits, and return its exit status."""
        return self._started().wait(seconds)

    def __enter__(self) -> "IngestWorker":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class CameraConfigs:
    """Writes the configuration of cameras, as the relay does."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._topic = topic_name(kafka, CONFIG_CAMERAS)
        self._producer = KafkaProducer(**producer_options(kafka, "test"))
        self._secrets = SecretBox(SECRET_KEY)

    def add(
        self,
        url: str,
        name: str = "gate",
        camera_id: UUID | None = None,
    ) -> CameraConfig:
        config = CameraConfig(
            camera_id=camera_id or uuid4(),
            owner_id=OWNER_ID,
            name=name,
            stream_url_encrypted=self._secrets.encrypt(url),
            enabled=True,
            revision=1,
        )
        self.write(config)
        return config

    def add_on_all_partitions(self, url: str, count: int) -> list[UUID]:
        """Add cameras on all partitions, so that every worker has some, and return their IDs."""
        partitions = sorted(self._producer.partitions_for(self._topic))
        lying = [camera_id_on(partitions[n % len(partitions)], partitions) for n in range(count)]
        return [self.add(url, camera_id=camera_id).camera_id for camera_id in lying]

    def encrypted(self, url: str) -> str:
        """Return a stream URL as it appears in a configuration."""
        return self._secrets.encrypt(url)

    def write(self, config: CameraConfig) -> None:
        """Write the configuration of a new or changed camera."""
        self.write_bytes(str(config.camera_id).encode(), encode(config))

    def remove(self, camera_id: UUID) -> None:
        self.write_bytes(str(camera_id).encode(), None)

    def write_bytes(self, key: bytes, value: bytes | None) -> None:
        """Write any record to the configuration topic."""
        self._producer.send(self._topic, key=key, value=value).get(10)

    def close(self) -> None:
        self._producer.close()


@dataclass(frozen=True)
class SentFrame:
    """A record of the frames topic. ``sent_ms`` is the sending worker's Unix time."""

    meta: FrameMeta
    jpeg: bytes
    sent_ms: int
    seen_seconds: float


@dataclass(frozen=True)
class StatusRecord:
    """A record of the camera-status topic. ``status`` is None if the camera was deleted."""

    camera_id: UUID
    status: CameraStatus | None
    raw: bytes
    seen_seconds: float


class Outbox:
    """All records that the workers of a test sent, in order."""

    def __init__(self, world: World) -> None:
        kafka = world.kafka
        self._logs = world.directory
        self._frames_topic = topic_name(kafka, FRAMES)
        self._status_topic = topic_name(kafka, CAMERA_STATUS)
        self._consumer = KafkaConsumer(**consumer_options(kafka, "test"))
        self._consumer.assign(
            [
                TopicPartition(topic, partition)
                for topic in (self._frames_topic, self._status_topic)
                for partition in range(kafka.kafka_partitions)
            ]
        )
        self.frames: list[SentFrame] = []
        self.status_records: list[StatusRecord] = []

    def until(self, condition: Callable[[], bool], *, seconds: float = 20) -> None:
        """Read until the condition holds, and fail after a timeout."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self._summary()
            self._read()

    def watch(self, seconds: float) -> None:
        """Read for some seconds, to check how often something happens, or that it does not."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read()

    def frames_of(self, camera_id: UUID) -> list[SentFrame]:
        """Return a camera's frames, without ticks."""
        return [f for f in self.all_of(camera_id) if f.meta.kind is FrameKind.FRAME]

    def ticks(self, camera_id: UUID) -> list[SentFrame]:
        return [f for f in self.all_of(camera_id) if f.meta.kind is FrameKind.TICK]

    def all_of(self, camera_id: UUID) -> list[SentFrame]:
        """Return a camera's frames and ticks, in order."""
        return [f for f in self.frames if f.meta.camera_id == camera_id]

    def statuses(self, camera_id: UUID) -> list[CameraStatus]:
        return [
            t.status
            for t in self.status_records
            if t.camera_id == camera_id and t.status is not None
        ]

    def state(self, camera_id: UUID) -> CameraState | None:
        """Return the state published last, or None for an unknown or removed camera."""
        of_camera = [t for t in self.status_records if t.camera_id == camera_id]
        return (
            of_camera[-1].status.state if of_camera and of_camera[-1].status is not None else None
        )

    def close(self) -> None:
        self._consumer.close()

    def _read(self) -> None:
        for partition, records in self._consumer.poll(timeout_ms=50).items():
            for record in records:
                now = time.monotonic()
                if partition.topic == self._frames_topic:
                    meta = decode(FrameMeta, dict(record.headers)[FRAME_META_HEADER])
                    assert record.key == str(meta.camera_id).encode()
                    self.frames.append(SentFrame(meta, record.value, record.timestamp, now))
                else:
                    self._note_status(record.key, record.value, now)

    def _note_status(self, key: bytes, value: bytes | None, now: float) -> None:
        camera_id = UUID(key.decode())
        status = None if value is None else decode(CameraStatus, value)
        self.status_records.append(StatusRecord(camera_id, status, value or b"", now))

    def _summary(self) -> str:
        states = [
            (str(t.camera_id)[:8], t.status and t.status.state) for t in self.status_records[-20:]
        ]
        logs = "\n".join(log.read_text()[-4000:] for log in self._logs.glob("*.log"))
        return f"not in time; {len(self.frames)} frames and ticks; last statuses: {states}\n{logs}"


@dataclass(frozen=True)
class Shared:
    """A worker that all tests of a module share. Each test has separate cameras."""

    world: World
    configs: CameraConfigs
    outbox: Outbox
    worker: IngestWorker


def changed(config: CameraConfig, **changes: object) -> CameraConfig:
    """Return the next revision of a configuration."""
    return msgspec.structs.replace(config, **changes, revision=config.revision + 1)
