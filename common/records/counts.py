"""Records of the counts of a camera's frames and plates, from capture to recognition."""

from typing import Final
from uuid import UUID

import msgspec

from common.records.codec import Record


class CaptureCounts(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Counts of a camera's frames since the worker took over the camera, at ``since_ms`` (Unix ms).

    Counts only increase, so the next record makes up for a lost record. ``still``: frames without
    motion. ``failed``: frames that could not be encoded. ``slow``: frames not read in time.
    ``unsent``: frames that are too large, or for which the buffer was full. ``sent``: frames passed
    to Kafka.
    """

    since_ms: int
    decoded: int = 0
    still: int = 0
    failed: int = 0
    slow: int = 0
    unsent: int = 0
    sent: int = 0


class PlatesLeft(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Numbers of a frame's plates without a reading, by reason.

    ``small``: narrower than the camera's minimum width. ``unread``: the text is too short or its
    confidence too low. ``outside``: outside the camera's zones.
    """

    small: int = 0
    unread: int = 0
    outside: int = 0


class FrameCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Outcomes of a camera's frames, plates and vehicles. Columns and API fields have these names.

    ``decoded`` to ``unsent`` are as in :class:`CaptureCounts`. Sent frames are ``lost`` (not
    received by recognition: rejected by Kafka, or expired), ``stale`` (late and skipped),
    ``surplus`` (beyond the account's share), ``refused`` (cannot be decoded) or ``read`` (analysed,
    or without anything new). ``found`` frames show a plate that was read or tracked. ``small`` to
    ``outside`` are plates without a reading (:class:`PlatesLeft`), ``readings`` are plates read.
    Ended passes are ``reported`` as recognitions, ``repeated`` (the plate was reported shortly
    before), ``unsure`` (confidence too low) or ``fragments`` of another vehicle's pass.
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
"""All count names, in order."""


class CameraCounts(Record, frozen=True, kw_only=True):
    """Record on camera-counts: a camera's counts of one minute of capture time from ``minute_ms``.

    ``records`` is the number of counted records of the frames topic. Of two records for the same
    minute, the record with the higher number is more complete.
    """

    camera_id: UUID
    owner_id: UUID
    minute_ms: int
    records: int
    counts: FrameCounts
