"""Counts of a camera's frames and plates on their way to recognitions."""

from typing import Final
from uuid import UUID

import msgspec

from common.records.codec import Record


class CaptureCounts(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What became of a camera's frames since its worker took it over, at ``since_ms`` (Unix ms).

    They only grow, so what is lost on the way is made up for by the next. ``still``: looked at, and
    nothing moved; ``failed``: no picture could be made; ``slow``: the worker did not take them in
    time; ``unsent``: there was no room for them, or they are too large; ``sent``: given to Kafka.
    """

    since_ms: int
    decoded: int = 0
    still: int = 0
    failed: int = 0
    slow: int = 0
    unsent: int = 0
    sent: int = 0


class PlatesLeft(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Plates of a frame that give no reading.

    ``small``: narrower than the camera's least width; ``unread``: too short or too unsure a text;
    ``outside``: not in the camera's zones.
    """

    small: int = 0
    unread: int = 0
    outside: int = 0


class FrameCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a camera's frames and vehicles came. The names are those of columns and of the API.

    ``decoded`` to ``unsent`` are those of :class:`CaptureCounts`. Of the frames that were sent
    ``lost`` never came to recognition (Kafka did not take them, or its retention did), ``stale``
    were left out among late ones, ``surplus`` were beyond their owner's share, ``refused`` cannot
    be decoded; ``read`` were looked at, or show nothing new, and ``found`` of these have a plate
    that was read or is followed.
    ``small`` to ``outside`` are plates (:class:`PlatesLeft`), ``readings`` those that were read.
    Ended passes are ``reported`` as recognitions, ``repeated`` (the plate was reported shortly
    before), ``unsure`` (no text is sure enough) or ``fragments`` of another vehicle's.
    """

    decoded: int = 0
    still: int = 0
    failed: int = 0
    slow: int = 0
    unsent: int = 0
    lost: int = 0
    stale: int = 0
    surplus: int = 0
    refused: int = 0
    read: int = 0
    found: int = 0
    small: int = 0
    unread: int = 0
    outside: int = 0
    readings: int = 0
    reported: int = 0
    repeated: int = 0
    unsure: int = 0
    fragments: int = 0


COUNT_NAMES: Final = FrameCounts.__struct_fields__
"""All of them, in their order."""


class CameraCounts(Record, frozen=True, kw_only=True):
    """On camera-counts: a minute of a camera, in the camera's time; ``minute_ms`` begins it.

    ``records`` of the frames topic are counted: of two of the same minute that with more of them
    is the more complete one.
    """

    camera_id: UUID
    owner_id: UUID
    minute_ms: int
    records: int
    counts: FrameCounts
