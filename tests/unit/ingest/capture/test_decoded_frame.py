"""Decoded frames give the right grey image and the right JPEG for every pixel format."""

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.capture.decoded_frame import DecodedFrame
from tests.odd_images import STRIP_SIZES, TINY_SIZES

FORMATS = ["yuv420p", "yuvj420p", "yuv422p", "nv12", "bgr24", "gray", "yuv420p10le"]


def _scene(width_px: int, height_px: int) -> NDArray[np.uint8]:
    scene = np.full((height_px, width_px, 3), 90, np.uint8)
    scene[: height_px // 2, : width_px // 2] = (200, 200, 200)
    return scene


def _frame(name: str, width_px: int = 640, height_px: int = 360) -> av.VideoFrame:
    frame = av.VideoFrame.from_ndarray(_scene(width_px, height_px), format="bgr24")
    return frame if name == "bgr24" else frame.reformat(format=name)


@pytest.mark.parametrize("name", FORMATS)
def test_the_jpeg_shows_the_scene(name: str) -> None:
    jpeg = DecodedFrame(_frame(name)).jpeg(90)

    image = cv2.imdecode(np.frombuffer(jpeg.data, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    assert image.shape == (360, 640, 3)
    assert (jpeg.width_px, jpeg.height_px) == (640, 360)
    assert abs(int(image[90, 160, 1]) - 200) <= 12
    assert abs(int(image[270, 480, 1]) - 90) <= 12


@pytest.mark.parametrize("name", FORMATS)
def test_the_grey_frame_is_small_and_true(name: str) -> None:
    grey = DecodedFrame(_frame(name)).grey()

    assert grey.shape == (100, 178)
    assert int(grey[25, 40]) - int(grey[75, 130]) > 80


@pytest.mark.parametrize("name", [*FORMATS, "yuvj422p", "yuvj444p"])
def test_a_frame_of_any_size_becomes_a_jpeg_and_a_grey_frame(name: str) -> None:
    for width_px, height_px in (*TINY_SIZES, *STRIP_SIZES, (641, 361), (352, 288)):
        frame = DecodedFrame(_frame(name, width_px, height_px))
        jpeg, scaled = frame.jpeg(80), frame.jpeg(80, 1280)

        assert (jpeg.width_px, jpeg.height_px) == (width_px, height_px)
        assert scaled.width_px == min(1280, width_px)
        assert frame.grey().shape[0] == 100


@pytest.mark.parametrize(
    ("width_px", "height_px", "grey_width_px"),
    [(1920, 1080, 178), (4096, 512, 800), (4096, 2, 1000), (10_000, 2, 1000), (2, 4096, 1)],
)
def test_the_grey_frame_of_a_strip_stays_small(
    width_px: int, height_px: int, grey_width_px: int
) -> None:
    assert DecodedFrame(_frame("yuv420p", width_px, height_px)).grey().shape == (100, grey_width_px)


def test_wide_frames_are_scaled_down_and_narrow_ones_are_not() -> None:
    frame = DecodedFrame(_frame("yuv420p", 1920, 1080))

    assert (frame.jpeg(80, 1280).width_px, frame.jpeg(80, 1280).height_px) == (1280, 720)
    assert frame.jpeg(80, 1920).width_px == 1920
    assert frame.jpeg(80, 4000).width_px == 1920
