"""Decoded frames, their grey and JPEG images, and the threads that encode them."""

import queue
import threading
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import av
import cv2
import numpy as np
import structlog
from av.video.reformatter import ColorRange, Interpolation
from numpy.typing import NDArray

from ingest.frames.sampling import GreyImage

_GREY_HEIGHT_PX: Final = 100
_GREY_MAX_WIDTH_PX: Final = 1_000
"""Of the widest panoramas: a frame of 4096 x 1 px took 809 MiB when only its height counted."""

_STRIDED_HEIGHT_PX: Final = 270
"""Every n-th pixel first, then an average: 0.35 ms for 1080p where averaging all takes 4 ms."""

_PLANAR_8_BIT: Final = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "gray", "nv12"})

# Each image is encoded by one thread; the pool of threads is the parallelism.
cv2.setNumThreads(1)


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """A JPEG and its size."""

    data: bytes
    width_px: int
    height_px: int


class DecodedFrame:
    """A decoded frame. Nothing is converted until it is asked for."""

    __slots__ = ("_frame",)

    def __init__(self, frame: av.VideoFrame) -> None:
        self._frame = frame

    @property
    def width_px(self) -> int:
        """Width of the frame as captured."""
        return int(self._frame.width)

    @property
    def height_px(self) -> int:
        """Height of the frame as captured."""
        return int(self._frame.height)

    def grey(self) -> GreyImage:
        """Return the brightness, 100 px high and up to 1,000 px wide."""
        brightness = self._brightness()
        height_px, width_px = brightness.shape
        step = max(1, height_px // _STRIDED_HEIGHT_PX)
        grey_width_px = max(1, round(width_px * _GREY_HEIGHT_PX / height_px))
        size = (min(grey_width_px, _GREY_MAX_WIDTH_PX), _GREY_HEIGHT_PX)
        small = cv2.resize(brightness[::step, ::step], size, interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)

    def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
        """Return the frame as JPEG, scaled down where it is wider than ``max_width_px`` (0: no).

        ``quality`` is libjpeg's, 1..100.
        """
        image = self._bgr(max_width_px)
        coded, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
        assert coded, "OpenCV encodes every image of 8 bits and three channels"
        return EncodedImage(data.tobytes(), image.shape[1], image.shape[0])

    def _brightness(self) -> NDArray[np.uint8]:
        frame = self._frame
        if frame.format.name not in _PLANAR_8_BIT:
            return np.asarray(frame.to_ndarray(format="gray"))
        plane = frame.planes[0]
        rows = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(-1, plane.line_size)
        return np.asarray(rows[: frame.height, : frame.width])

    def _bgr(self, max_width_px: int) -> NDArray[np.uint8]:
        """Return the pixels, shape (height, width, 3), blue first."""
        frame = self._frame
        if 0 < max_width_px < frame.width:
            height_px = max(2, round(frame.height * max_width_px / frame.width))
            scaled = frame.reformat(
                max_width_px, height_px, "bgr24", interpolation=Interpolation.AREA
            )
            return np.asarray(scaled.to_ndarray())
        if self._is_plain():
            # 2 ms for 1080p where FFmpeg's own conversion takes 5.
            return np.asarray(cv2.cvtColor(frame.to_ndarray(), cv2.COLOR_YUV2BGR_I420))
        return np.asarray(frame.to_ndarray(format="bgr24"))

    def _is_plain(self) -> bool:
        frame = self._frame
        even = frame.width % 2 == 0 and frame.height % 2 == 0
        return frame.format.name == "yuv420p" and even and frame.color_range != ColorRange.JPEG


log = structlog.get_logger(__name__)


class EncodingTask(Protocol):
    """The work of an encoder thread (see :class:`ingest.frames.pipeline.FramePipeline`)."""

    @property
    def camera_id(self) -> UUID:
        """The camera whose frame is encoded."""

    def work(self) -> None:
        """Encode the frame that waits."""

    def work_failed(self) -> bool:
        """Count a frame for which :meth:`work` raised; returns whether to log it."""


class EncoderPool:
    """Calls the pipelines that have a frame, in the order in which they got one.

    A pipeline is queued once, so the queue is bounded by the number of cameras.
    """

    def __init__(self, threads: int) -> None:
        """Start the threads."""
        self._queue: queue.SimpleQueue[EncodingTask | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"encoder-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, task: EncodingTask) -> None:
        """Queue a pipeline's frame. Returns immediately."""
        self._queue.put(task)

    def stop(self, timeout_seconds: float) -> bool:
        """End the threads; returns whether all did within the time."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout_seconds / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (task := self._queue.get()) is not None:
            try:
                task.work()
            except Exception:
                # One camera's odd frame must not take the thread from all others.
                if task.work_failed():
                    log.exception("picture_failed", camera_id=str(task.camera_id))
