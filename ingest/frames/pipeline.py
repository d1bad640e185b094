"""The way of one camera's frames from the decoder to the frames topic."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import msgspec

from common.records.cameras import CameraConfig
from common.records.frames import FrameKind, FrameMeta
from ingest.clocks import Clock, Instant, Timeline
from ingest.frames.encoding import EncodedImage
from ingest.frames.sampling import GreyImage, MotionGate, MotionRules, Sampler
from ingest.metrics import DropReason, IngestMetrics

_TICK_SECONDS: Final = 1.0
_STILL_SECONDS: Final = 3.0
_LOG_FAILURE_SECONDS: Final = 60.0


class SourceFrame(Protocol):
    """A decoded frame (see :class:`ingest.frames.encoding.DecodedFrame`)."""

    @property
    def width_px(self) -> int:
        """Width as captured."""

    @property
    def height_px(self) -> int:
        """Height as captured."""

    def grey(self) -> GreyImage:
        """Return the brightness, 100 px high and up to 1,000 px wide."""

    def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
        """Return the frame as JPEG."""


class FrameSink(Protocol):
    """Sends frames and ticks (see :class:`ingest.frames.producer.FrameProducer`)."""

    def has_room(self) -> bool:
        """Return whether a frame sent now has a chance to be taken."""

    def send_frame(self, meta: FrameMeta, image: bytes) -> bool:
        """Send one frame and return whether it was taken."""

    def send_tick(self, meta: FrameMeta) -> None:
        """Send a record that only moves the camera's clock."""

    def send_end(self, meta: FrameMeta) -> None:
        """Send a record that ends the passes in a camera's view."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A camera's latest image, to be stored."""

    owner_id: UUID
    camera_id: UUID
    captured_ms: int
    image: EncodedImage


class SnapshotSink(Protocol):
    """Stores snapshots (see :class:`ingest.frames.snapshots.SnapshotUploader`)."""

    def offer(self, snapshot: Snapshot) -> None:
        """Queue a snapshot, or skip it when too many wait. Never blocks."""


@dataclass(frozen=True, kw_only=True)
class PipelineSettings:
    """Settings of all pipelines; a ``max_width_px`` of 0 means no limit."""

    sample_fps: float
    motion: MotionRules | None
    jpeg_quality: int
    max_width_px: int
    snapshot_interval_seconds: float


@dataclass(frozen=True, kw_only=True)
class PipelineDeps:
    """Collaborators of all pipelines; ``submit`` has :meth:`FramePipeline.work` called."""

    frames: FrameSink
    snapshots: SnapshotSink
    metrics: IngestMetrics
    submit: Callable[["FramePipeline"], None]
    now: Clock


@dataclass(frozen=True, slots=True)
class _Sample:
    frame: SourceFrame
    captured_ms: int
    opens_connection: bool


class FramePipeline:
    """Samples one camera, holds one frame, and sends those in which something moves.

    Three threads meet here. The camera's reader puts a sampled frame into the single slot,
    over one that was not fetched in time, so that it never waits. One of the shared encoder threads
    at a time fetches it. The maintenance thread sends ticks. Beside them, the thread that brings a
    configuration ends and resumes sending.
    """

    def __init__(
        self, config: CameraConfig, settings: PipelineSettings, deps: PipelineDeps
    ) -> None:
        """Send a tick: the stages that follow this camera learn that its clock goes on."""
        start = deps.now()
        # Read by all threads. The configuration is replaced as a whole, by the one that brings it.
        self.config = config
        self._settings = settings
        self._deps = deps
        # The reader's alone.
        self._sampler = Sampler()
        self._opens_connection = True
        # Written by the reader, read by the maintenance thread: each is one value.
        self._is_connected = False
        self._seen_ms = 0
        # From the reader to an encoder. The maintenance thread reads the slot without the lock:
        # at worst a tick goes out, or waits for the next round, though it need not.
        self._slot_lock = threading.Lock()
        self._slot: _Sample | None = None
        self._is_queued = False
        # Of the encoder that has the frame: one at a time.
        self._gate = None if settings.motion is None else MotionGate(settings.motion)
        self._snapshot_due_seconds = start.seconds
        # Any encoder's: two that fail at the same moment may both log it.
        self._failure_due_seconds = start.seconds
        # Of the sending thread, which may be any of them. The maintenance thread reads
        # ``_sent_seconds`` before it asks for the lock.
        self._out_lock = threading.Lock()
        self._timeline = Timeline(start.unix_ms)
        self._sent_seconds = start.seconds
        self._still_seconds = -math.inf
        self._is_closed = False
        self._send_tick(start, start.unix_ms)

    @property
    def camera_id(self) -> UUID:
        """The camera's id."""
        return self.config.camera_id

    def connected(self) -> None:
        """Note a new connection (reader's thread)."""
        self._sampler = Sampler()
        self._opens_connection = True
        self._is_connected = True

    def offer(self, frame: SourceFrame, stream_seconds: float, captured_ms: int) -> None:
        """Add a decoded frame (reader's thread). Returns immediately."""
        self._deps.metrics.frame_decoded()
        self._seen_ms = captured_ms
        sample_fps = self.config.sample_fps or self._settings.sample_fps
        if not self._sampler.takes(stream_seconds, sample_fps):
            return
        self._put(_Sample(frame, captured_ms, self._opens_connection))
        self._opens_connection = False

    def disconnected(self) -> None:
        """Send a tick: no older frame will come (reader's thread, or the configuration's)."""
        with self._out_lock:
            self._is_connected = False
            now = self._deps.now()
            self._send_tick(now, self._timeline.disconnected(now.unix_ms))

    def close(self) -> None:
        """Send a last tick and then nothing more, not even the frame being processed."""
        with self._out_lock:
            now = self._deps.now()
            self._send_tick(now, self._timeline.disconnected(now.unix_ms))
            self._is_closed = True

    def end(self, *, deleted: bool = False) -> None:
        """Send an end record, and nothing more until :meth:`resume`.

        Not even the frame being processed: a vehicle that is in view has passed by then. One that
        was ``deleted`` is never resumed.
        """
        with self._out_lock:
            now = self._deps.now()
            end = self._meta_without_image(FrameKind.END, self._timeline.disconnected(now.unix_ms))
            self._deps.frames.send_end(msgspec.structs.replace(end, deleted=deleted))
            self._is_connected = False
            self._is_closed = True

    def resume(self) -> None:
        """Send again."""
        with self._out_lock:
            self._is_closed = False

    def work(self) -> None:
        """Process the frame in the slot and send it (encoder's thread).

        After any exception, such as for want of memory, the next frame has its turn.
        """
        with self._slot_lock:
            sample, self._slot = self._slot, None
        try:
            if sample is not None:
                self._process(sample)
        finally:
            with self._slot_lock:
                self._is_queued = self._slot is not None
                again = self._is_queued
            if again:
                self._deps.submit(self)

    def work_failed(self) -> bool:
        """Count a frame for which :meth:`work` raised; returns whether to log it.

        That is once a minute at most: all frames of a camera may be wrong in the same way.
        """
        self._deps.metrics.frame_dropped(DropReason.FAILED)
        now_seconds = self._deps.now().seconds
        if now_seconds < self._failure_due_seconds:
            return False
        self._failure_due_seconds = now_seconds + _LOG_FAILURE_SECONDS
        return True

    def tick_if_silent(self, now: Instant) -> None:
        """Send a tick when nothing was sent for a second (maintenance thread)."""
        if now.seconds - self._sent_seconds < _TICK_SECONDS or self._slot is not None:
            return
        # Another thread is sending for this camera right now: then it is not silent.
        if self._out_lock.acquire(blocking=False):
            try:
                if not self._is_closed:
                    self._send_tick(now, self._silent_ms(now))
            finally:
                self._out_lock.release()

    def _silent_ms(self, now: Instant) -> int:
        if self._is_connected:
            return self._timeline.tick(self._seen_ms, now.unix_ms)
        return self._timeline.disconnected(now.unix_ms)

    def _put(self, sample: _Sample) -> None:
        with self._slot_lock:
            if self._slot is not None:
                self._deps.metrics.frame_dropped(DropReason.SLOW)
                if self._slot.opens_connection:
                    sample = _Sample(sample.frame, sample.captured_ms, True)
            self._slot = sample
            was_queued, self._is_queued = self._is_queued, True
        if not was_queued:
            self._deps.submit(self)

    def _process(self, sample: _Sample) -> None:
        passes = self._passes_gate(sample)
        now = self._deps.now()
        snapshot_due = now.seconds >= self._snapshot_due_seconds
        if passes and not self._deps.frames.has_room():
            self._deps.metrics.frame_dropped(DropReason.BUFFER)
            passes = False
        if not passes and not snapshot_due:
            return
        image = sample.frame.jpeg(self._settings.jpeg_quality, self._settings.max_width_px)
        if passes:
            self._send_frame(sample, image)
        if snapshot_due:
            self._snapshot_due_seconds = now.seconds + self._settings.snapshot_interval_seconds
            self._offer_snapshot(sample, image)

    def _passes_gate(self, sample: _Sample) -> bool:
        if self._gate is None:
            return True
        if sample.opens_connection:
            self._gate.reset()
        passes = self._gate.passes(sample.frame.grey(), sample.captured_ms)
        if not passes:
            self._deps.metrics.frame_still()
            self._still_seconds = self._deps.now().seconds
        return passes

    def _send_frame(self, sample: _Sample, image: EncodedImage) -> None:
        scale = image.width_px / sample.frame.width_px
        with self._out_lock:
            if self._is_closed:
                return
            meta = FrameMeta(
                kind=FrameKind.FRAME,
                camera_id=self.config.camera_id,
                owner_id=self.config.owner_id,
                camera_name=self.config.name,
                captured_ms=self._timeline.frame(sample.captured_ms),
                width_px=image.width_px,
                height_px=image.height_px,
                min_plate_width_px=round(self.config.min_plate_width_px * scale),
                zones=self.config.zones,
            )
            sent = self._deps.frames.send_frame(meta, image.data)
            now = self._deps.now()
            if sent:
                self._sent_seconds = now.seconds
        if sent:
            self._deps.metrics.frame_sent((now.unix_ms - meta.captured_ms) / 1000)

    def _send_tick(self, now: Instant, captured_ms: int) -> None:
        self._sent_seconds = now.seconds
        tick = self._meta_without_image(FrameKind.TICK, captured_ms)
        is_still = self._is_connected and now.seconds - self._still_seconds <= _STILL_SECONDS
        self._deps.frames.send_tick(msgspec.structs.replace(tick, still=is_still))
        self._deps.metrics.tick_sent()

    def _meta_without_image(self, kind: FrameKind, captured_ms: int) -> FrameMeta:
        return FrameMeta(
            kind=kind,
            camera_id=self.config.camera_id,
            owner_id=self.config.owner_id,
            camera_name=self.config.name,
            captured_ms=captured_ms,
        )

    def _offer_snapshot(self, sample: _Sample, image: EncodedImage) -> None:
        snapshot = Snapshot(self.config.owner_id, self.config.camera_id, sample.captured_ms, image)
        # Under the lock: after end() the snapshot may be removed, and this one must not follow.
        with self._out_lock:
            if not self._is_closed:
                self._deps.snapshots.offer(snapshot)
