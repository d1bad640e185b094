"""Frames with plates, kept in memory until their pass is settled."""

from collections import OrderedDict

from contracts.records import FrameReference


class FrameCache:
    """JPEG files by reference; what was put in first goes first when the memory is used up."""

    def __init__(self, limit_bytes: int) -> None:
        """Take the most bytes that may be kept; 0 keeps nothing."""
        self._limit_bytes = limit_bytes
        self._frames: OrderedDict[FrameReference, bytes] = OrderedDict()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes kept."""
        return self._size_bytes

    def put(self, reference: FrameReference, jpeg: bytes) -> None:
        """Keep a frame."""
        self._size_bytes += len(jpeg) - len(self._frames.pop(reference, b""))
        self._frames[reference] = jpeg
        while self._size_bytes > self._limit_bytes:
            _, gone = self._frames.popitem(last=False)
            self._size_bytes -= len(gone)

    def get(self, reference: FrameReference) -> bytes | None:
        """Return a frame, or None where it is not kept (any more)."""
        return self._frames.get(reference)
