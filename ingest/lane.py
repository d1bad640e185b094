"""The way of one camera's pictures from the decoder to the frames topic."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import msgspec

from contracts.cameras import CameraConfig
from contracts.frames import FrameKind, FrameMeta
from ingest.capture_clock import Timeline
from ingest.metrics import DropReason, IngestMetrics
from ingest.moments import Moment, Now
from ingest.motion import GreyPicture, MotionGate, MotionRules
from ingest.pictures import Jpeg
from ingest.sampling import Sampler

_TICK_SECONDS: Final = 1.0
_TELL_FAILURE_SECONDS: Final = 60.0


class SourcePicture(Protocol):
    """What the lane asks of a decoded picture (see :class:`ingest.pictures.Picture`)."""

    @property
    def width_px(self) -> int:
        """Width as captured."""

    @property
    def height_px(self) -> int:
        """Height as captured."""

    def grey(self) -> GreyPicture:
        """Return the brightness, 100 px high and at most 1,000 px wide."""

    def jpeg(self, quality: int, max_width_px: int = 0) -> Jpeg:
        """Return the picture as JPEG."""


class FrameSink(Protocol):
    """Where frames and ticks go (see :class:`ingest.publisher.Publisher`)."""

    def has_room(self) -> bool:
        """Return whether a frame sent now has a chance to be taken."""

    def send_frame(self, meta: FrameMeta, jpeg: bytes) -> bool:
        """Send one frame and return whether it was taken."""

    def send_tick(self, meta: FrameMeta) -> None:
        """Send a record that only moves the camera's clock."""

    def send_end(self, meta: FrameMeta) -> None:
        """Send a record that says that what a camera sees is over."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A camera's latest picture, to be stored."""

    owner_id: UUID
    camera_id: UUID
    captured_ms: int
    jpeg: Jpeg


class SnapshotSink(Protocol):
    """Where snapshots go (see :class:`ingest.snapshots.SnapshotUploader`)."""

    def offer(self, snapshot: Snapshot) -> None:
        """Take a snapshot, or skip it when too many wait. Never blocks."""


@dataclass(frozen=True, kw_only=True)
class LaneRules:
    """What the settings say about every camera's frames."""

    sample_fps: float
    motion: MotionRules | None
    jpeg_quality: int
    max_width_px: int
    snapshot_interval_seconds: float


@dataclass(frozen=True, kw_only=True)
class LaneServices:
    """What the lanes of a worker share. ``submit`` has a lane's :meth:`FrameLane.work` called."""

    frames: FrameSink
    snapshots: SnapshotSink
    metrics: IngestMetrics
    submit: Callable[["FrameLane"], None]
    now: Now


@dataclass(frozen=True, slots=True)
class _Sample:
    picture: SourcePicture
    captured_ms: int
    opens_connection: bool


class FrameLane:
    """Samples one camera, holds one picture at most, and sends what moves.

    Three threads meet here. The camera's reader puts a sampled picture into the single slot,
    over one that was not fetched in time, so that it never waits. One of the shared encoder threads
    at a time fetches it. The housekeeper sends ticks. Beside them, whoever brings a configuration
    ends and resumes what is sent.
    """

    def __init__(self, config: CameraConfig, rules: LaneRules, services: LaneServices) -> None:
        """Begin with a tick: who follows this camera learns that its clock goes on."""
        start = services.now()
        # Read by all threads. The configuration is replaced as a whole, by the one that brings it.
        self.config = config
        self._rules = rules
        self._services = services
        # The reader's alone.
        self._sampler = Sampler()
        self._opens_connection = True
        # The reader's, for the housekeeper to read: each is one value.
        self._is_connected = False
        self._seen_ms = 0
        # From the reader to an encoder. The housekeeper peeps at the slot without the lock: at
        # worst a tick goes out, or waits for the next round, though it need not.
        self._slot_lock = threading.Lock()
        self._slot: _Sample | None = None
        self._is_queued = False
        # The encoder's that has the picture: one at a time.
        self._gate = None if rules.motion is None else MotionGate(rules.motion)
        self._snapshot_due_seconds = start.seconds
        # Any encoder's: two that fail at the same moment may both tell of it.
        self._failure_due_seconds = start.seconds
        # Of whoever sends, which all may: what went out, and whether anything may. The housekeeper
        # looks at when that was before it asks for the lock.
        self._out_lock = threading.Lock()
        self._timeline = Timeline(start.unix_ms)
        self._sent_seconds = start.seconds
        self._is_closed = False
        self._send_tick(start, start.unix_ms)

    def connected(self) -> None:
        """Note a new connection (reader's thread)."""
        self._sampler = Sampler()
        self._opens_connection = True
        self._is_connected = True

    def offer(self, picture: SourcePicture, stream_seconds: float, captured_ms: int) -> None:
        """Take in a decoded picture (reader's thread). Returns at once."""
        self._services.metrics.frame_decoded()
        self._seen_ms = captured_ms
        sample_fps = self.config.sample_fps or self._rules.sample_fps
        if not self._sampler.takes(stream_seconds, sample_fps):
            return
        self._put(_Sample(picture, captured_ms, self._opens_connection))
        self._opens_connection = False

    def disconnected(self) -> None:
        """Tell at once that nothing older will come (reader's thread, or the configuration's)."""
        with self._out_lock:
            self._is_connected = False
            now = self._services.now()
            self._send_tick(now, self._timeline.disconnected(now.unix_ms))

    def close(self) -> None:
        """Send a last tick and then nothing more, not even what is being looked at."""
        with self._out_lock:
            now = self._services.now()
            self._send_tick(now, self._timeline.disconnected(now.unix_ms))
            self._is_closed = True

    def end(self, *, deleted: bool = False) -> None:
        """Tell that the camera is watched no longer, and send nothing more until :meth:`resume`.

        Not even what is being looked at: a vehicle that is in view has passed by then. One that
        was ``deleted`` is never resumed.
        """
        with self._out_lock:
            now = self._services.now()
            end = self._without_picture(FrameKind.END, self._timeline.disconnected(now.unix_ms))
            self._services.frames.send_end(msgspec.structs.replace(end, deleted=deleted))
            self._is_connected = False
            self._is_closed = True

    def resume(self) -> None:
        """Send again."""
        with self._out_lock:
            self._is_closed = False

    def work(self) -> None:
        """Look at the picture in the slot and send it (encoder's thread).

        Whatever that raises, such as for want of memory, the next picture has its turn.
        """
        with self._slot_lock:
            sample, self._slot = self._slot, None
        try:
            if sample is not None:
                self._look_at(sample)
        finally:
            with self._slot_lock:
                self._is_queued = self._slot is not None
                again = self._is_queued
            if again:
                self._services.submit(self)

    def work_failed(self) -> bool:
        """Count a picture for which :meth:`work` raised; returns whether to tell of it in the log.

        That is once a minute at most: all pictures of a camera may be wrong in the same way.
        """
        self._services.metrics.frame_dropped(DropReason.FAILED)
        now_seconds = self._services.now().seconds
        if now_seconds < self._failure_due_seconds:
            return False
        self._failure_due_seconds = now_seconds + _TELL_FAILURE_SECONDS
        return True

    def tick_if_silent(self, now: Moment) -> None:
        """Send a tick when nothing was sent for a second (housekeeper's thread)."""
        if now.seconds - self._sent_seconds < _TICK_SECONDS or self._slot is not None:
            return
        # Somebody is sending for this camera right now: then it is not silent.
        if self._out_lock.acquire(blocking=False):
            try:
                if not self._is_closed:
                    self._send_tick(now, self._silent_ms(now))
            finally:
                self._out_lock.release()

    def _silent_ms(self, now: Moment) -> int:
        if self._is_connected:
            return self._timeline.tick(self._seen_ms, now.unix_ms)
        return self._timeline.disconnected(now.unix_ms)

    def _put(self, sample: _Sample) -> None:
        with self._slot_lock:
            if self._slot is not None:
                self._services.metrics.frame_dropped(DropReason.SLOW)
                if self._slot.opens_connection:
                    sample = _Sample(sample.picture, sample.captured_ms, True)
            self._slot = sample
            was_queued, self._is_queued = self._is_queued, True
        if not was_queued:
            self._services.submit(self)

    def _look_at(self, sample: _Sample) -> None:
        passes = self._passes_gate(sample)
        now = self._services.now()
        snapshot_due = now.seconds >= self._snapshot_due_seconds
        if passes and not self._services.frames.has_room():
            self._services.metrics.frame_dropped(DropReason.BUFFER)
            passes = False
        if not passes and not snapshot_due:
            return
        jpeg = sample.picture.jpeg(self._rules.jpeg_quality, self._rules.max_width_px)
        if passes:
            self._send_frame(sample, jpeg)
        if snapshot_due:
            self._snapshot_due_seconds = now.seconds + self._rules.snapshot_interval_seconds
            self._offer_snapshot(sample, jpeg)

    def _passes_gate(self, sample: _Sample) -> bool:
        if self._gate is None:
            return True
        if sample.opens_connection:
            self._gate.reset()
        passes = self._gate.passes(sample.picture.grey(), sample.captured_ms)
        if not passes:
            self._services.metrics.frame_still()
        return passes

    def _send_frame(self, sample: _Sample, jpeg: Jpeg) -> None:
        scale = jpeg.width_px / sample.picture.width_px
        with self._out_lock:
            if self._is_closed:
                return
            meta = FrameMeta(
                kind=FrameKind.FRAME,
                camera_id=self.config.camera_id,
                owner_id=self.config.owner_id,
                camera_name=self.config.name,
                captured_ms=self._timeline.frame(sample.captured_ms),
                width_px=jpeg.width_px,
                height_px=jpeg.height_px,
                min_plate_width_px=round(self.config.min_plate_width_px * scale),
                zones=self.config.zones,
            )
            sent = self._services.frames.send_frame(meta, jpeg.data)
            now = self._services.now()
            if sent:
                self._sent_seconds = now.seconds
        if sent:
            self._services.metrics.frame_sent((now.unix_ms - meta.captured_ms) / 1000)

    def _send_tick(self, now: Moment, captured_ms: int) -> None:
        self._sent_seconds = now.seconds
        self._services.frames.send_tick(self._without_picture(FrameKind.TICK, captured_ms))
        self._services.metrics.tick_sent()

    def _without_picture(self, kind: FrameKind, captured_ms: int) -> FrameMeta:
        return FrameMeta(
            kind=kind,
            camera_id=self.config.camera_id,
            owner_id=self.config.owner_id,
            camera_name=self.config.name,
            captured_ms=captured_ms,
        )

    def _offer_snapshot(self, sample: _Sample, jpeg: Jpeg) -> None:
        snapshot = Snapshot(self.config.owner_id, self.config.camera_id, sample.captured_ms, jpeg)
        # Under the lock: after end() the snapshot may be removed, and this one must not follow.
        with self._out_lock:
            if not self._is_closed:
                self._services.snapshots.offer(snapshot)
