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
from collections.abc import Callable
from typing import BinaryIO, Final

import msgspec

from common.errors import InvalidInputError
from common.settings import load_settings
from common.urls.camera_settings import CameraAddressSettings, stream_url_rules
from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.messages import CaptureLimits, EncodedImage
from ingest.capture.opening import open_stream
from ingest.errors import CaptureError, CaptureErrorCode
from ingest.processes.limits import limit_process

MAX_ADDRESS_BYTES: Final = 16_384
PROBE_SECONDS: Final = 12.0
"""Time limit of the whole probe. Some streams send only one key frame every ten seconds."""
_OPEN_SECONDS: Final = 8.0
_READ_SECONDS: Final = 5.0
MEMORY_BYTES: Final = 1024**3
"""Maximum memory of a probe, in addition to the memory that its libraries reserve."""
_PROCESSOR_SECONDS: Final = 20
_QUALITY: Final = 80
_WIDTH_PX: Final = 1280


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Result of a probe. ``code`` and ``error`` are the reason for a missing frame, or None.

    Width and height are the size of the camera's frame, before scaling.
    """

    code: str | None = None
    error: str | None = None
    frame_width_px: int = 0
    frame_height_px: int = 0
    milliseconds: int = 0


def probe_stream(
    address: str,
    rules: StreamUrlRules,
    ca_file: str = "",
    *,
    seconds: float = PROBE_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[ProbeReport, bytes]:
    """Probe a stream URL for at most ``seconds``. Return the report and the first frame (JPEG)."""
    began, deadline = clock(), ConnectionDeadline()
    alarm = threading.Timer(seconds, deadline.stop)
    alarm.daemon = True
    alarm.start()
    try:
        width_px, height_px, image = _first_frame(address, rules, ca_file, deadline)
    except (CaptureError, InvalidInputError) as error:
        code = error.code if isinstance(error, CaptureError) else CaptureErrorCode.FORBIDDEN
        return ProbeReport(code=code.name.lower(), error=code.value), b""
    finally:
        alarm.cancel()
    spent_ms = round((clock() - began) * 1000)
    report = ProbeReport(frame_width_px=width_px, frame_height_px=height_px, milliseconds=spent_ms)
    return report, image.data


def _first_frame(
    address: str, rules: StreamUrlRules, ca_file: str, deadline: ConnectionDeadline
) -> tuple[int, int, EncodedImage]:
    limits = CaptureLimits(
        open_timeout_seconds=_OPEN_SECONDS,
        read_timeout_seconds=_READ_SECONDS,
        decoder_threads=1,
        ca_file=ca_file,
    )
    with open_stream(parse_stream_url(address, rules), rules, limits, deadline) as stream:
        for seen in stream.frames():
            frame = seen.decoded
            return frame.width_px, frame.height_px, frame.jpeg(_QUALITY, _WIDTH_PX)
    raise CaptureError(CaptureErrorCode.SILENT)


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
