"""Cameras that show the scene one after another, sent to Kafka as ingest would."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID, uuid4

from common.kafka.clients import open_producer, topic_name
from common.records.codec import encode
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from common.records.topics import FRAMES
from common.settings import KafkaSettings
from tests.blocks import RunsForABlock
from tests.fault.footage import FRAMES_PER_SECOND, HEIGHT_PX, WIDTH_PX, Footage

_TICKS = 5
_TICK_MS = 1000
_TAKEN_SECONDS = 600
_MAX_BLOCK_MS = 600_000
_NEVER = threading.Event()


@dataclass(frozen=True)
class Show:
    """A camera that has shown the scene, or is still showing the scene."""

    camera_id: UUID
    started_ms: int


class Cameras:
    """Sends the scene. Frames are not lost, however long Kafka is unavailable."""

    def __init__(self, kafka: KafkaSettings, owner_id: UUID, footage: Footage) -> None:
        self._owner_id = owner_id
        self._footage = footage
        self._topic = topic_name(kafka, FRAMES)
        self._producer = open_producer(kafka, "fault-cameras", max_block_ms=_MAX_BLOCK_MS)
        self._lock = threading.Lock()
        self.shows: list[Show] = []

    def show(self, frames_per_second: float | None, hurry: threading.Event | None = None) -> Show:
        """Show the scene once to a new camera, and return the show once Kafka has all frames.
        Without ``frames_per_second``, or once ``hurry`` is set, frames are sent without a pause.

        Capture times follow the scene and are never in the future, even at a slow pace.
        """
        scene_ms = self._footage.duration_ms if frames_per_second is None else 0
        show = Show(uuid4(), time.time_ns() // 1_000_000 - scene_ms - _TICKS * _TICK_MS)
        with self._lock:
            self.shows.append(show)
        pause = 0.0 if frames_per_second is None else 1 / frames_per_second
        sent = []
        due = time.monotonic()
        for meta, value in self._records(show):
            (hurry or _NEVER).wait(max(0.0, due - time.monotonic()))
            due = max(due + pause, time.monotonic())
            header = (FRAME_META_HEADER, encode(meta))
            key = str(show.camera_id).encode()
            sent.append(self._producer.send(self._topic, key=key, value=value, headers=[header]))
        for future in sent:
            future.get(_TAKEN_SECONDS)
        return show

    def close(self) -> None:
        """Disconnect, and release the connections that broke meanwhile."""
        self._producer.close()
        del self._producer

    def _records(self, show: Show) -> Iterator[tuple[FrameMeta, bytes]]:
        for shot in self._footage.shots:
            yield self._meta(show, FrameKind.FRAME, shot.at_ms), shot.jpeg
        for number in range(1, _TICKS + 1):
            at_ms = self._footage.duration_ms + number * _TICK_MS
            yield self._meta(show, FrameKind.TICK, at_ms), b""

    def _meta(self, show: Show, kind: FrameKind, at_ms: int) -> FrameMeta:
        return FrameMeta(
            kind=kind,
            camera_id=show.camera_id,
            owner_id=self._owner_id,
            camera_name="Fault",
            captured_ms=show.started_ms + at_ms,
            width_px=WIDTH_PX,
            height_px=HEIGHT_PX,
        )


class Load(RunsForABlock):
    """Shows the scene on two cameras at a time while the block runs, then finishes every show."""

    THREADS = 2

    def __init__(self, cameras: Cameras, frames_per_second: float) -> None:
        self._cameras = cameras
        self._pace = min(FRAMES_PER_SECOND, frames_per_second / self.THREADS)
        self._over = threading.Event()
        self._errors: list[Exception] = []
        self._threads = [threading.Thread(target=self._run) for _ in range(self.THREADS)]

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._cameras.show(self._pace, self._over)
        # The thread that waits for this thread raises the error.
        except Exception as error:
            self._errors.append(error)

    def _begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def _end(self, error: BaseException | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._errors and error is None:
            raise AssertionError("a camera could not send its frames") from self._errors[0]
