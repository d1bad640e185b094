"""Cameras that send frames to the recognition stage, and the results of the stage."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from uuid import UUID, uuid4

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from common.kafka.clients import consumer_options, producer_options, topic_name
from common.records.codec import DeadLetter, decode, encode
from common.records.counts import CameraCounts
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from common.records.recognitions import FrameReadings, Recognition
from common.records.topics import (
    CAMERA_COUNTS,
    FRAMES,
    READING_DEAD_LETTERS,
    READINGS,
    RECOGNITIONS,
    Topic,
)
from common.settings import KafkaSettings
from common.timestamps import now_ms
from tests.integration.streams.recognition.scenes import Parked, car_scene, jpeg

OWNER_ID = UUID(int=99)
FRAME_MS = 200


class Cameras:
    """Sends frames as ingest does."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._producer = KafkaProducer(**producer_options(kafka, "cameras"))
        self._topic = topic_name(kafka, FRAMES)

    def send(
        self,
        camera_id: UUID,
        captured_ms: int,
        value: bytes,
        kind: FrameKind = FrameKind.FRAME,
        *,
        deleted: bool = False,
        is_in_time: bool = False,
    ) -> None:
        """Send a frame or a record without an image. ``is_in_time`` dates it at its capture."""
        meta = FrameMeta(
            kind=kind,
            camera_id=camera_id,
            owner_id=OWNER_ID,
            camera_name="Gate",
            captured_ms=captured_ms,
            deleted=deleted,
        )
        written_ms = captured_ms if is_in_time else None
        self.send_raw(camera_id, value, encode(meta), written_ms=written_ms)

    def send_raw(
        self,
        camera_id: UUID,
        value: bytes,
        header: bytes | None,
        *,
        written_ms: int | None = None,
    ) -> None:
        """Send any record, dated ``written_ms`` (Unix ms) or now."""
        headers = [] if header is None else [(FRAME_META_HEADER, header)]
        key = str(camera_id).encode()
        self._producer.send(
            self._topic, key=key, value=value, headers=headers, timestamp_ms=written_ms
        ).get(10)

    def tick(self, camera_id: UUID, captured_ms: int, *, is_in_time: bool = False) -> None:
        self.send(camera_id, captured_ms, b"", FrameKind.TICK, is_in_time=is_in_time)

    def drive_past(
        self,
        plate: str,
        *,
        frames: int = 6,
        start_ms: int,
        camera_id: UUID | None = None,
        is_in_time: bool = False,
    ) -> UUID:
        """Send frames of a passing vehicle, but no tick. Return the ID of the camera."""
        camera_id = camera_id or uuid4()
        for number in range(frames):
            captured_ms = start_ms + FRAME_MS * number
            self.send(camera_id, captured_ms, _picture(plate, number), is_in_time=is_in_time)
        return camera_id

    def close(self) -> None:
        self._producer.close()


def draw(plates: Sequence[str], *, frames: int) -> None:
    """Draw the images that :meth:`Cameras.drive_past` sends for these plates, in advance."""
    for plate in plates:
        for number in range(frames):
            _picture(plate, number)


@cache
def _picture(plate: str, number: int) -> bytes:
    return jpeg(car_scene([Parked(plate, x_px=400 + 60 * number)], seed=number))


class Outcome:
    """All records that the stage published, in order."""

    def __init__(self, kafka: KafkaSettings, logs: Path, *, from_now_on: bool = False) -> None:
        """With ``from_now_on``, ignore earlier results."""
        self._logs = logs
        self._topics: dict[str, Topic] = {
            topic_name(kafka, topic): topic
            for topic in (READINGS, RECOGNITIONS, CAMERA_COUNTS, READING_DEAD_LETTERS)
        }
        self._consumer = KafkaConsumer(**consumer_options(kafka, "outcome"))
        partitions = [
            TopicPartition(topic, partition)
            for topic in self._topics
            for partition in range(kafka.kafka_partitions)
        ]
        self._consumer.assign(partitions)
        if from_now_on:
            for partition, end in self._consumer.end_offsets(partitions).items():
                self._consumer.seek(partition, end)
        self.readings: list[FrameReadings] = []
        self.read_at_ms: list[int] = []
        self.closed_gaps: list[int] = []
        self.recognitions: list[Recognition] = []
        self.recognized_at_ms: list[int] = []
        self.minutes: list[CameraCounts] = []
        self.dead_letters: list[DeadLetter] = []

    def until(self, what: str, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Read until the condition holds, and fail after a timeout."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}; {self}"
            self._read()

    def counted(self, name: str) -> int:
        """Return the sum of a counter over all minutes."""
        return sum(getattr(minute.counts, name) for minute in self.minutes)

    def plates(self) -> list[str]:
        return [recognition.plate for recognition in self.recognitions]

    def __str__(self) -> str:
        """Return the numbers of results, and the logs of the workers."""
        return (
            f"{len(self.readings)} readings, plates {self.plates()}, "
            f"{len(self.dead_letters)} dead letters\n"
        ) + "\n".join(log.read_text()[-4000:] for log in self._logs.glob("*.log"))

    def close(self) -> None:
        self._consumer.close()

    def _read(self) -> None:
        for partition, records in self._consumer.poll(timeout_ms=50).items():
            topic = self._topics[partition.topic]
            for record in records:
                if topic is READINGS:
                    self._note_reading(decode(FrameReadings, record.value), record.timestamp)
                elif topic is RECOGNITIONS:
                    self.recognitions.append(decode(Recognition, record.value))
                    self.recognized_at_ms.append(now_ms())
                elif topic is CAMERA_COUNTS:
                    self.minutes.append(decode(CameraCounts, record.value))
                else:
                    self.dead_letters.append(decode(DeadLetter, record.value))

    def _note_reading(self, reading: FrameReadings, published_ms: int) -> None:
        if reading.kind is FrameKind.GAP_END:
            self.closed_gaps.append(reading.frame.partition)
            return
        self.readings.append(reading)
        self.read_at_ms.append(published_ms)
