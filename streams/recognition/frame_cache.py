"""Frames with plates, kept in memory until their pass is settled."""

from collections import OrderedDict
from collections.abc import Collection

from contracts.frames import FrameReference


class FrameCache:
    """JPEG files of cameras by reference; the oldest goes first when the memory is used up."""

    def __init__(self, limit_bytes: int) -> None:
        """Take the most bytes that may be kept; 0 keeps nothing."""
        self._limit_bytes = limit_bytes
        self._frames: OrderedDict[FrameReference, bytes] = OrderedDict()
        self._camera_of: dict[FrameReference, bytes] = {}
        self._of_camera: dict[bytes, set[FrameReference]] = {}
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes kept."""
        return self._size_bytes

    def put(self, camera: bytes, reference: FrameReference, jpeg: bytes) -> None:
        """Keep a frame."""
        self._drop(reference)
        self._frames[reference] = jpeg
        self._camera_of[reference] = camera
        self._of_camera.setdefault(camera, set()).add(reference)
        self._size_bytes += len(jpeg)
        while self._size_bytes > self._limit_bytes:
            self._drop(next(iter(self._frames)))

    def get(self, reference: FrameReference) -> bytes | None:
        """Return a frame, or None where it is not kept (any more)."""
        return self._frames.get(reference)

    def keep_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Let a camera's frames go that are not needed, up to and with one place."""
        for reference in list(self._of_camera.get(camera, ())):
            is_settled = reference.partition == up_to.partition and reference.offset <= up_to.offset
            if is_settled and reference not in needed:
                self._drop(reference)

    def _drop(self, reference: FrameReference) -> None:
        jpeg = self._frames.pop(reference, None)
        if jpeg is None:
            return
        self._size_bytes -= len(jpeg)
        camera = self._camera_of.pop(reference)
        self._of_camera[camera].discard(reference)
        if not self._of_camera[camera]:
            del self._of_camera[camera]
