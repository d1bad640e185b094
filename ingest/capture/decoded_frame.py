"""Converts decoded frames to grey and JPEG images."""

from dataclasses import dataclass
from typing import Final

import av
import cv2
import numpy as np
import simplejpeg
from av.video.reformatter import ColorRange, Interpolation
from numpy.typing import NDArray

from ingest.capture.hardware import SOFTWARE
from ingest.capture.messages import EncodedImage
from ingest.capture.sampling import GreyImage
from ingest.clocks import Instant

_GREY_HEIGHT_PX: Final = 100
_GREY_MAX_WIDTH_PX: Final = 1_000
"""Maximum width of a grey image. A 4096 x 1 px frame took 809 MiB with only the height limited."""

_STRIDED_HEIGHT_PX: Final = 270
"""Height to which frames are subsampled before averaging (0.35 ms at 1080p, instead of 4 ms)."""

_PLANAR_8_BIT: Final = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "gray", "nv12"})

_LUMA_GAIN, _CHROMA_GAIN = 255 / 219, 255 / 224
"""Video uses the levels 16 to 235 (luma) and 16 to 240 (chroma), JPEG uses 0 to 255.

**Source:** ITU-R BT.601; JFIF 1.02."""

# Each camera has a thread, so OpenCV needs no additional threads.
cv2.setNumThreads(1)


class DecodedFrame:
    """A decoded frame, which is converted only on request."""

    __slots__ = ("_frame", "decoder")

    def __init__(self, frame: av.VideoFrame, decoder: str = SOFTWARE) -> None:
        self._frame = frame
        self.decoder = decoder
        """Name of the decoder (:func:`ingest.capture.hardware.decoder_of`)."""

    @property
    def width_px(self) -> int:
        """Width of the frame as captured."""
        return int(self._frame.width)

    @property
    def height_px(self) -> int:
        """Height of the frame as captured."""
        return int(self._frame.height)

    def grey(self) -> GreyImage:
        """Return the brightness image, 100 px high and at most 1,000 px wide."""
        brightness = self._brightness()
        height_px, width_px = brightness.shape
        step = max(1, height_px // _STRIDED_HEIGHT_PX)
        grey_width_px = max(1, round(width_px * _GREY_HEIGHT_PX / height_px))
        size = (min(grey_width_px, _GREY_MAX_WIDTH_PX), _GREY_HEIGHT_PX)
        small = cv2.resize(brightness[::step, ::step], size, interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)

    def jpeg(self, quality: int, max_width_px: int = 0) -> EncodedImage:
        """Return the frame as JPEG, scaled down to ``max_width_px`` if it is wider (0: no limit).

        ``quality`` is libjpeg's quality, 1 to 100.
        """
        planes = None if 0 < max_width_px < self._frame.width else self._jpeg_planes()
        if planes is not None:
            # At 1080p, this takes 5.4 ms. From BGR pixels, it takes 8 ms.
            data = simplejpeg.encode_jpeg_yuv_planes(*planes, quality=quality)
            return EncodedImage(data, self.width_px, self.height_px)
        image = self._bgr(max_width_px)
        data = simplejpeg.encode_jpeg(image, quality, "BGR", "420")
        return EncodedImage(data, image.shape[1], image.shape[0])

    def _brightness(self) -> NDArray[np.uint8]:
        frame = self._frame
        if frame.format.name not in _PLANAR_8_BIT:
            return np.asarray(frame.to_ndarray(format="gray"))
        return _plane(frame, 0, frame.height, frame.width)

    def _jpeg_planes(self) -> list[NDArray[np.uint8]] | None:
        """Return the planes Y, U and V with the levels of a JPEG, or None in other formats."""
        frame = self._frame
        if frame.format.name == "nv12":
            frame = frame.reformat(format="yuv420p")
        height_px, width_px = frame.height, frame.width
        if not frame.format.name.endswith("420p") or height_px % 2 or width_px % 2:
            return None
        luma = _plane(frame, 0, height_px, width_px)
        chroma = [_plane(frame, number, height_px // 2, width_px // 2) for number in (1, 2)]
        if frame.format.name == "yuvj420p" or frame.color_range == ColorRange.JPEG:
            return [np.ascontiguousarray(plane) for plane in (luma, *chroma)]
        return [
            _stretched(luma, _LUMA_GAIN, -16 * _LUMA_GAIN),
            *(_stretched(plane, _CHROMA_GAIN, 128 - 128 * _CHROMA_GAIN) for plane in chroma),
        ]

    def _bgr(self, max_width_px: int) -> NDArray[np.uint8]:
        """Return the pixels, in the shape (height, width, 3), with blue first."""
        frame = self._frame
        if 0 < max_width_px < frame.width:
            height_px = max(2, round(frame.height * max_width_px / frame.width))
            frame = frame.reformat(
                max_width_px, height_px, "bgr24", interpolation=Interpolation.AREA
            )
        return np.asarray(frame.to_ndarray(format="bgr24"))


def _plane(frame: av.VideoFrame, number: int, height_px: int, width_px: int) -> NDArray[np.uint8]:
    plane = frame.planes[number]
    rows = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(-1, plane.line_size)
    return np.asarray(rows[:height_px, :width_px])


def _stretched(plane: NDArray[np.uint8], gain: float, offset: float) -> NDArray[np.uint8]:
    return np.asarray(cv2.addWeighted(plane, gain, plane, 0.0, offset), dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """One decoded frame.

    ``stream_seconds`` is the frame's time within the stream, or None without times in the stream.
    ``sender_start_ms`` is the Unix time of the stream's zero by the camera's clock, and ``arrival``
    is the packet's arrival time. ``is_lone_key_frame``: the frame was decoded alone, because the
    scene is still and all other frames are held back. ``was_held_back``: the frame was held back.
    """

    decoded: DecodedFrame
    stream_seconds: float | None
    sender_start_ms: float | None
    arrival: Instant
    is_lone_key_frame: bool = False
    was_held_back: bool = False
