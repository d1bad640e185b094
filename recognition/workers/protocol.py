"""Defines the messages between a pool and its inference workers, sent over a socket pair.

A message is a length (8 bytes, big-endian), followed by a msgpack structure.
"""

import msgspec

from common.records.counts import PlatesLeft
from common.records.recognitions import PlateReading
from recognition.analysis_hints import NOTHING_KNOWN, AnalysisHints, KnownPlate

LENGTH_BYTES = 8

MISCONFIGURED = "misconfigured"
"""Error code of a worker that cannot start because of invalid settings or model files."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """An image to read: the original JPEG or PNG file."""

    image: bytes
    min_plate_width_px: int = 0
    hints: AnalysisHints = NOTHING_KNOWN


class ImageReadings(msgspec.Struct, frozen=True):
    """The plates of an image, the size of the upright image, and the worker's processing time.

    For ``view``, see :func:`recognition.scene.scene_view`. ``left`` counts plates without a
    reading. ``followed`` are plates at known positions of the hints.
    """

    readings: tuple[PlateReading, ...] = ()
    width_px: int = 0
    height_px: int = 0
    duration_ms: float = 0.0
    view: bytes = b""
    left: PlatesLeft = PlatesLeft()
    followed: tuple[KnownPlate, ...] = ()


class JobOutcome(ImageReadings, frozen=True, kw_only=True):
    """The outcome of a job: readings or an error. ``resident_bytes``: memory after the job.

    A worker's first outcome is the outcome of the worker's start.
    """

    resident_bytes: int = 0
    error_code: str | None = None
    error_message: str = ""


_encoder = msgspec.msgpack.Encoder()
job_decoder = msgspec.msgpack.Decoder(Job)
outcome_decoder = msgspec.msgpack.Decoder(JobOutcome)


def framed(message: Job | JobOutcome) -> bytes:
    """Return the bytes to send for a message."""
    body = _encoder.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body
