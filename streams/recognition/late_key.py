"""The keys under which a gap's late lane keeps what it knows of a camera."""

from common.records.frames import FrameGap


def late_prefix(partition: int, gap: FrameGap) -> bytes:
    """Return what the keys of all cameras of a gap begin with."""
    return b"late/%d/%d/" % (partition, gap.end)


def late_key(partition: int, gap: FrameGap, camera: bytes) -> bytes:
    """Return the key of a camera, whose own key is ``camera``."""
    return late_prefix(partition, gap) + camera
