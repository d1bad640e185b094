"""Between an ingest worker and the processes that capture for it: settings, commands, reports.

Nothing here needs FFmpeg or OpenCV: the worker imports neither.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from common.settings import LogFormat
from common.urls.streams import StreamUrl, StreamUrlRules
from ingest.errors import CaptureErrorCode


@dataclass(frozen=True, kw_only=True)
class CaptureLimits:
    """Time-outs of a silent peer, the threads that decode one stream, and whom to trust.

    ``ca_file`` holds the certificates (PEM) by which those of cameras must be signed; empty: they
    are not verified.
    """

    open_timeout_seconds: float
    read_timeout_seconds: float
    decoder_threads: int
    ca_file: str = ""


@dataclass(frozen=True, kw_only=True)
class ReaderSettings:
    """The addresses that are allowed, time-outs, and the pauses between connections.

    ``hardware`` says what decodes (:func:`ingest.capture.hardware.find_device`).
    """

    addresses: StreamUrlRules
    limits: CaptureLimits
    reconnect_min_seconds: float
    reconnect_max_seconds: float
    hardware: str = "off"


@dataclass(frozen=True, kw_only=True)
class MotionRules:
    """The time for which frames still pass after the last movement."""

    hold_seconds: float


@dataclass(frozen=True, kw_only=True)
class FrameSettings:
    """What becomes of decoded frames; a ``max_width_px`` of 0 means no limit.

    ``may_reduce``: while nothing moves in a live stream, its key frames only are decoded.
    """

    motion: MotionRules | None
    jpeg_quality: int
    max_width_px: int
    snapshot_interval_seconds: float
    may_reduce: bool = True


class Configure(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first command: what is the same for all cameras of a process.

    ``memory_bytes`` is what it may take beyond what it starts with.
    """

    reader: ReaderSettings
    frames: FrameSettings
    memory_bytes: int
    max_captures: int
    log_level: str
    log_format: LogFormat


class Start(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Capture a stream. ``number`` names the capture from here on, ``name`` names it in logs."""

    number: int
    name: str
    url: StreamUrl
    sample_fps: float


class Update(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Sample at another rate."""

    number: int
    sample_fps: float


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End a capture."""

    number: int


Command = Configure | Start | Update | Stop


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """A JPEG and its size."""

    data: bytes
    width_px: int
    height_px: int


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """When a frame was taken: so long before it arrived.

    ``arrival_seconds`` is monotonic time, which all processes of a machine share; their times of
    day may differ while its clock is set back (:class:`ingest.clocks.MonotonicWallClock`).
    """

    arrival_seconds: float
    age_ms: int


class Running(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A capture's thread, by which a crash is laid to it. ``thread_id`` is pthread's."""

    number: int
    thread_id: int


class Connected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A connection to the camera is open."""

    number: int


class Sampled(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A sampled frame as JPEG: something moves in it, or it is to be the snapshot, or both.

    ``width_px`` is that of the frame as captured.
    """

    number: int
    captured: Moment
    width_px: int
    image: EncodedImage
    moves: bool
    is_snapshot: bool


class StatusReport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The camera gives frames: the last one, and what became of those since the report before.

    No frame from before ``settled`` is still to come. ``still``: of the sampled ones, those in
    which nothing moved. ``is_still``: nothing moved in the last of them. ``holds_back``: frames
    that came after ``settled`` wait, and are decoded only if something moves. ``decoder``: what
    decoded it, :data:`ingest.capture.hardware.SOFTWARE` or the kind of a device. ``alive_seconds``
    is when the last packet came (monotonic).
    """

    number: int
    settled: Moment
    width_px: int
    height_px: int
    decoded: int
    still: int
    failed: int
    is_still: bool
    holds_back: bool
    decoder: str
    alive_seconds: float


class Dropped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Frames that were left out, because the worker did not take them in time."""

    number: int
    count: int


class Disconnected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The connection failed or ended; another one follows. ``fault`` names a CaptureErrorCode."""

    number: int
    fault: str

    @property
    def code(self) -> CaptureErrorCode:
        """The reason; a name that is none is an internal one."""
        return CaptureErrorCode.__members__.get(self.fault, CaptureErrorCode.INTERNAL)


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A capture has ended, as it was told to."""

    number: int


class Alive(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The process is alive."""


Report = Running | Connected | Sampled | StatusReport | Dropped | Disconnected | Stopped | Alive

LENGTH_BYTES: Final = 4
MAX_REPORT_BYTES: Final = 64 * 1024 * 1024
"""The largest frame (40 megapixels) takes half of it as JPEG of the best quality."""


def _as_text(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _from_text(kind: type, value: Any) -> object:
    if kind is Path:
        return Path(value)
    raise NotImplementedError


_encoder: Final = msgspec.msgpack.Encoder(enc_hook=_as_text)
_commands: Final[msgspec.msgpack.Decoder[Command]] = msgspec.msgpack.Decoder(
    Command, dec_hook=_from_text
)
_reports: Final[msgspec.msgpack.Decoder[Report]] = msgspec.msgpack.Decoder(Report)


def framed(message: Command | Report) -> bytes:
    """Return a message as it is sent: its length, then itself."""
    body = _encoder.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def read_command(read_exactly: Callable[[int], bytes]) -> Command:
    """Return the next command; whatever ``read_exactly`` raises at the end passes through."""
    return _commands.decode(read_exactly(_length(read_exactly)))


def read_report(read_exactly: Callable[[int], bytes]) -> Report:
    """Return the next report. The process that sends it reads what strangers send.

    Raises:
        msgspec.MsgspecError: it is none.
        ValueError: it is too long for one.
    """
    length = _length(read_exactly)
    if length > MAX_REPORT_BYTES:
        raise ValueError(f"a report of {length} bytes")
    return _reports.decode(read_exactly(length))


def _length(read_exactly: Callable[[int], bytes]) -> int:
    return int.from_bytes(read_exactly(LENGTH_BYTES), "big")
