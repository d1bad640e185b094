"""``python -m ingest.probe``: tests a stream URL in a separate process.

Reads the URL from standard input, so that it does not appear in the process list, and the URL rules
from the environment. Writes a line of JSON (:class:`ProbeReport`) and the first frame as JPEG to
standard output. A camera's data is untrusted. Memory and CPU time are limited here, and the caller
kills a process that takes too long.
"""

import resource
import sys
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from common.errors import InvalidInputError
from common.settings import load_settings
from common.urls.camera_settings import CameraAddressSettings, stream_url_rules
from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.decoded_frame import StreamFrame
from ingest.capture.messages import CaptureLimits
from ingest.capture.opening import open_stream
from ingest.errors import CaptureError, CaptureErrorCode
from ingest.processes.limits import limit_process

MAX_ADDRESS_BYTES: Final = 16_384
PROBE_SECONDS: Final = 12.0
"""Time limit of the whole probe. Some streams send only one key frame every ten seconds."""
_OPEN_SECONDS: Final = 8.0
_READ_SECONDS: Final = 5.0
_GOP_SECONDS: Final = 5.0
"""Maximum wait for the second key frame, after the first frame."""
MEMORY_BYTES: Final = 1024**3
"""Maximum memory of a probe, in addition to the memory that its libraries reserve."""
_PROCESSOR_SECONDS: Final = 20
_QUALITY: Final = 80
_WIDTH_PX: Final = 1280


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of a probe. ``code`` and ``error`` are the reason for a missing frame, or None.

    Width and height are the size of the camera's frame, before scaling. ``key_frame_seconds`` is
    the time between the first two key frames, or None if the second did not arrive in time.
    """

    code: str | None = None
    error: str | None = None
    frame_width: int | None = None
    frame_height: int | None = None
    milliseconds: int | None = None
    key_frame_seconds: float | None = None


def probe_stream(
    address: str, rules: StreamUrlRules, ca_file: str = ""
) -> tuple[ProbeReport, bytes]:
    """Probe a stream URL. Return the report and the first frame (JPEG), or no bytes."""
    began_seconds, deadline = time.monotonic(), ConnectionDeadline()
    alarm = threading.Timer(PROBE_SECONDS, deadline.stop)
    alarm.daemon = True
    alarm.start()
    report, image = ProbeReport(), b""
    shown: list[float] = []
    try:
        for frame in _key_frames(address, rules, ca_file, deadline):
            # FFmpeg gives the first RTP packet no time.
            shown.append(frame.stream_seconds or 0.0)
            if not image:
                image = frame.decoded.jpeg(_QUALITY, _WIDTH_PX).data
                report = ProbeReport(
                    frame_width=frame.decoded.width_px,
                    frame_height=frame.decoded.height_px,
                    milliseconds=round((time.monotonic() - began_seconds) * 1000),
                )
    except (CaptureError, InvalidInputError) as error:
        if not image:
            code = error.code if isinstance(error, CaptureError) else CaptureErrorCode.FORBIDDEN
            code = CaptureErrorCode.SILENT if alarm.finished.is_set() else code
            report = ProbeReport(code=code.name.lower(), error=code.value)
    finally:
        alarm.cancel()
    interval_seconds = round(shown[1] - shown[0], 1) if len(shown) > 1 else None
    return msgspec.structs.replace(report, key_frame_seconds=interval_seconds), image


def _key_frames(
    address: str, rules: StreamUrlRules, ca_file: str, deadline: ConnectionDeadline
) -> Iterator[StreamFrame]:
    """Yield the first frame and, if it comes soon, the next key frame."""
    limits = CaptureLimits(
        open_timeout_seconds=_OPEN_SECONDS, read_timeout_seconds=_READ_SECONDS, ca_file=ca_file
    )
    with open_stream(parse_stream_url(address, rules), rules, limits, deadline) as stream:
        frames = stream.frames()
        first = next(frames, None)
        if first is None:
            raise CaptureError(CaptureErrorCode.ENDED)
        yield first
        for frame in frames:
            if stream.at_keyframe:
                yield frame
            if stream.at_keyframe or frame.arrival.seconds > first.arrival.seconds + _GOP_SECONDS:
                return


def main(source: BinaryIO, output: BinaryIO) -> None:
    """Probe the stream URL read from ``source`` and write the result to ``output``."""
    limit_process(MEMORY_BYTES, {resource.RLIMIT_CPU: _PROCESSOR_SECONDS})
    settings = load_settings(CameraAddressSettings)
    address = source.read(MAX_ADDRESS_BYTES).decode()
    report, image = probe_stream(address, stream_url_rules(settings), settings.camera_ca_file)
    output.write(msgspec.json.encode(report) + b"\n" + image)
    output.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
