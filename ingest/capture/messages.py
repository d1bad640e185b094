"""Messages between an ingest worker and its capture processes: settings, commands, reports.

This module must not import FFmpeg or OpenCV, which the worker does not load.
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
    """Timeouts of connections, and trusted certificates.

    ``ca_file`` contains the certificates (PEM) that verify cameras' certificates. If it is empty,
    cameras' certificates are not verified.
    """

    open_timeout_seconds: float
    read_timeout_seconds: float
    ca_file: str = ""


@dataclass(frozen=True, kw_only=True)
class ReaderSettings:
    """Settings of a reader: allowed addresses, timeouts, and pauses between connections.

    ``hardware`` selects the decoder (:func:`ingest.capture.hardware.find_device`).
    """

    addresses: StreamUrlRules
    limits: CaptureLimits
    reconnect_min_seconds: float
    reconnect_max_seconds: float
    hardware: str = "off"


@dataclass(frozen=True, kw_only=True)
class FrameSettings:
    """Settings for processing decoded frames. A ``max_width_px`` of 0 means no limit.

    Frames are sent for ``motion_hold_seconds`` after the last motion (None: always).
    If ``may_reduce``, only key frames of a live stream are decoded while nothing moves.
    """

    motion_hold_seconds: float | None
    jpeg_quality: int
    max_width_px: int
    snapshot_interval_seconds: float
    may_reduce: bool = True


class Configure(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first command, with the settings for all cameras of a process.

    ``memory_bytes`` is the maximum memory beyond the process's initial size.
    """

    reader: ReaderSettings
    frames: FrameSettings
    memory_bytes: int
    max_captures: int
    log_level: str
    log_format: LogFormat


class Start(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Capture a stream. ``number`` identifies the capture in messages, ``name`` in logs."""

    number: int
    name: str
    url: StreamUrl
    sample_fps: float


class Update(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Change the sample rate of a capture."""

    number: int
    sample_fps: float


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Stop a capture."""

    number: int


Command = Configure | Start | Update | Stop


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """A JPEG image with its width and height."""

    data: bytes
    width_px: int
    height_px: int


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Capture time of a frame, given as the frame's age on arrival.

    ``arrival_seconds`` is monotonic time, which all processes share. Their wall clocks can differ
    after the machine's clock was set back (:class:`ingest.clocks.MonotonicWallClock`).
    """

    arrival_seconds: float
    age_ms: int


class Running(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The thread of a capture, to identify the cause of a crash. ``thread_id`` is a pthread ID."""

    number: int
    thread_id: int


class Connected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A connection to the camera is open."""

    number: int


class Sampled(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A sampled frame as JPEG. The frame shows motion, is the new snapshot, or both.

    ``width_px`` is the width of the captured frame, before scaling.
    """

    number: int
    captured: Moment
    width_px: int
    image: EncodedImage
    moves: bool
    is_snapshot: bool


class StatusReport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Progress of a stream: the latest frame, and counts of frames since the previous report.

    All frames up to ``settled`` have been reported. ``still`` counts sampled frames without motion;
    ``is_still``: the last sampled frame had no motion. ``holds_back``: frames after ``settled`` are
    waiting and are only decoded if something moves. ``decoder`` is the kind of a device, or
    :data:`ingest.capture.hardware.SOFTWARE`. ``alive_seconds``: last packet's arrival (monotonic).
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
    """Number of frames that were dropped because the worker was too slow."""

    number: int
    count: int


class Disconnected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The connection failed or ended. A new attempt follows. ``fault`` names a CaptureErrorCode."""

    number: int
    fault: str

    @property
    def code(self) -> CaptureErrorCode:
        """The reason as a CaptureErrorCode, or INTERNAL for an unknown name."""
        return CaptureErrorCode.__members__.get(self.fault, CaptureErrorCode.INTERNAL)


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A capture has ended after a :class:`Stop` command."""

    number: int


class Alive(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The process is alive, which it reports regularly."""


Report = Running | Connected | Sampled | StatusReport | Dropped | Disconnected | Stopped | Alive

LENGTH_BYTES: Final = 4
MAX_REPORT_BYTES: Final = 64 * 1024 * 1024
"""Maximum report size: twice the largest frame (40 megapixels) as a JPEG of the best quality."""


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
    """Return the bytes to send for a message: the length, then the content."""
    body = _encoder.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def read_command(read_exactly: Callable[[int], bytes]) -> Command:
    """Return the next command. Errors of ``read_exactly`` are not caught."""
    return _commands.decode(read_exactly(_length(read_exactly)))


def read_report(read_exactly: Callable[[int], bytes]) -> Report:
    """Return the next report, which is untrusted, because its sender decodes untrusted data.

    Raises:
        msgspec.MsgspecError: the data is not a report.
        ValueError: the report is too long.
    """
    length = _length(read_exactly)
    if length > MAX_REPORT_BYTES:
        raise ValueError(f"the report is too long: {length} bytes")
    return _reports.decode(read_exactly(length))


def _length(read_exactly: Callable[[int], bytes]) -> int:
    return int.from_bytes(read_exactly(LENGTH_BYTES), "big")
