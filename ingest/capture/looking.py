"""The look at a camera's frames: sampled, judged for motion, coded where they are wanted."""

from collections.abc import Callable
from typing import Final, Protocol

import structlog

from common.records.frames import Box
from ingest.capture.changes import ChangedParts
from ingest.capture.messages import EncodedImage, Looked, LookSettings, Moment, Report, Seen
from ingest.capture.sampling import GreyImage, MotionGate, Sampler, WatchedArea
from ingest.clocks import Instant

log = structlog.get_logger(__name__)

_REPORT_SECONDS: Final = 0.4
"""Between two reports that a camera gives frames."""

_LOG_FAILURE_SECONDS: Final = 60.0


class SourceFrame(Protocol):
    """A decoded frame (see :class:`ingest.capture.decoded_frame.DecodedFrame`)."""

    @property
    def width_px(self) -> int:
        """Width as captured."""

    @property
    def height_px(self) -> int:
        """Height as captured."""

    @property
    def decoder(self) -> str:
        """What decoded it."""

    def grey(self) -> GreyImage:
        """Return the brightness, 100 px high and up to 1,000 px wide."""

    def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
        """Return the frame as JPEG."""


Judged = Callable[[GreyImage, bool, float], None]
"""Hears of each picture that is judged: itself, whether something moved in it, its arrival."""


class FrameLooker:
    """Looks at one camera's frames and reports them, in their order. In its reader's thread."""

    def __init__(
        self,
        number: int,
        settings: LookSettings,
        sample_fps: float,
        report: Callable[[Report], None],
    ) -> None:
        """``number`` is that of the capture; ``report`` never waits."""
        self.on_judged: Judged | None = None
        self._number = number
        self._settings = settings
        self._report = report
        self.sample_fps = sample_fps
        """Frames a second to look at. May be set by any thread."""
        self._sampler = Sampler()
        self._gate = None if settings.motion is None else MotionGate(settings.motion)
        self._changes = ChangedParts()
        self._grey: GreyImage | None = None
        """The last frame that was judged for motion."""
        self._opens_connection = True
        self._snapshot_due_seconds = 0.0
        self._report_due_seconds = 0.0
        self._log_due_seconds = 0.0
        self._decoded = self._still = self._failed = 0
        self._shown: tuple[int, int, str] | None = None
        """Size of the last frame in pixels, and what decoded it."""
        self.is_still = False
        """True while nothing moves in the frames that are looked at."""

    def count_in(self, area: WatchedArea) -> None:
        """Have movement count in an area only. For any thread."""
        if self._gate is not None:
            self._gate.area = area

    def connected(self) -> None:
        """Note a new connection."""
        self._sampler = Sampler()
        self._opens_connection = True
        self.is_still = False
        self._report_due_seconds = 0.0

    def look(
        self,
        frame: SourceFrame,
        stream_seconds: float,
        captured_ms: int,
        arrival: Instant,
        *,
        was_held_back: bool = False,
    ) -> None:
        """Add the next frame of a stream that is decoded whole, or was held back until now."""
        self._decoded += 1
        if self._sampler.takes(stream_seconds, self.sample_fps):
            self._attempt(frame, captured_ms, arrival)
        self._report_seen(frame, captured_ms, arrival, holds_back=was_held_back)

    def glimpse(
        self, frame: SourceFrame, captured_ms: int, arrival: Instant, *, has_older: bool = False
    ) -> None:
        """Look at a key frame of a stream whose other frames are held back.

        Where something moves in it (:attr:`is_still`), they come next, and then itself again.
        ``has_older``: some of them are from before it.
        """
        self._decoded += 1
        try:
            if self._gate is None or not self._stays_still(self._gate, frame, captured_ms, arrival):
                self.is_still = False
                return
        except Exception:
            # To be looked at, and to fail, as any other frame.
            self.is_still = False
            return
        self._attempt(frame, captured_ms, arrival, is_known_still=True)
        if not has_older:
            self._report_seen(frame, captured_ms, arrival, holds_back=True)

    def kept(self, captured_ms: int, oldest: Instant, arrival: Instant) -> None:
        """Note frames that are kept undecoded: the oldest's times, and the latest's arrival."""
        if self._shown is not None and arrival.seconds >= self._report_due_seconds:
            self._tell(self._shown, _moment(captured_ms, oldest), arrival, holds_back=True)

    def _attempt(
        self,
        frame: SourceFrame,
        captured_ms: int,
        arrival: Instant,
        *,
        is_known_still: bool = False,
    ) -> None:
        try:
            moves = not is_known_still and self._passes_gate(frame, captured_ms, arrival)
            self._send(frame, moves, captured_ms, arrival)
        except Exception:
            # Such as for want of memory. The next frame has its turn.
            self._failed += 1
            if arrival.seconds >= self._log_due_seconds:
                self._log_due_seconds = arrival.seconds + _LOG_FAILURE_SECONDS
                log.exception("picture_failed", capture=self._number)

    def _send(self, frame: SourceFrame, moves: bool, captured_ms: int, arrival: Instant) -> None:
        if not moves:
            self._still += 1
        is_snapshot = arrival.seconds >= self._snapshot_due_seconds
        if not moves and not is_snapshot:
            return
        image = frame.jpeg(self._settings.jpeg_quality, self._settings.max_width_px)
        changed: tuple[Box, ...] | None = None
        if moves and self._grey is not None:
            changed = self._changes.sent(self._grey, image.width_px, image.height_px)
        if is_snapshot:
            interval_seconds = self._settings.snapshot_interval_seconds
            self._snapshot_due_seconds = arrival.seconds + interval_seconds
        self._report(
            Looked(
                number=self._number,
                taken=_moment(captured_ms, arrival),
                width_px=frame.width_px,
                image=image,
                moves=moves,
                is_snapshot=is_snapshot,
                changed=changed,
            )
        )

    def _passes_gate(self, frame: SourceFrame, captured_ms: int, arrival: Instant) -> bool:
        if self._gate is None:
            return True
        if self._opens_connection:
            self._gate.reset()
            self._changes.reset()
            self._opens_connection = False
        return self._moves(self._gate, frame, captured_ms, arrival)

    def _moves(
        self, gate: MotionGate, frame: SourceFrame, captured_ms: int, arrival: Instant
    ) -> bool:
        self._grey = frame.grey()
        passes = gate.passes(self._grey, captured_ms)
        if self.on_judged is not None:
            self.on_judged(self._grey, gate.has_moved, arrival.seconds)
        self.is_still = not passes
        return passes

    def _stays_still(
        self, gate: MotionGate, frame: SourceFrame, captured_ms: int, arrival: Instant
    ) -> bool:
        grey = frame.grey()
        is_still = gate.stays_still(grey, captured_ms)
        if is_still:
            self._grey = grey
        if self.on_judged is not None:
            self.on_judged(grey, gate.has_moved, arrival.seconds)
        return is_still

    def _report_seen(
        self, frame: SourceFrame, captured_ms: int, arrival: Instant, *, holds_back: bool
    ) -> None:
        self._shown = (frame.width_px, frame.height_px, frame.decoder)
        if arrival.seconds >= self._report_due_seconds:
            self._tell(self._shown, _moment(captured_ms, arrival), arrival, holds_back=holds_back)

    def _tell(
        self,
        shown: tuple[int, int, str],
        settled: Moment,
        arrival: Instant,
        *,
        holds_back: bool,
    ) -> None:
        self._report_due_seconds = arrival.seconds + _REPORT_SECONDS
        width_px, height_px, decoder = shown
        self._report(
            Seen(
                number=self._number,
                settled=settled,
                width_px=width_px,
                height_px=height_px,
                decoded=self._decoded,
                still=self._still,
                failed=self._failed,
                is_still=self.is_still,
                holds_back=holds_back,
                decoder=decoder,
                alive_seconds=arrival.seconds,
            )
        )
        self._decoded = self._still = self._failed = 0


def _moment(captured_ms: int, arrival: Instant) -> Moment:
    return Moment(arrival_seconds=arrival.seconds, age_ms=arrival.unix_ms - captured_ms)
