import pytest

from common.records.frames import Box
from recognition.images import decode_image
from streams.recognition.tracking.images import cut_crop
from tests.odd_images import STRIP_SIZES, TINY_SIZES, jpeg
from tests.unit.streams.recognition.builders import jpeg_image

BOX = Box(x=100, y=100, width=100, height=20)


def test_crop_is_the_plate_with_a_margin() -> None:
    crop = cut_crop(jpeg_image(), Box(x=800, y=500, width=120, height=30))
    assert crop is not None
    image = decode_image(crop)
    assert image.shape[1] == pytest.approx(120 * 1.3, abs=2)
    assert image[image.shape[0] // 2, image.shape[1] // 2].min() > 240


@pytest.mark.parametrize("x", [-50, 1900, 5000])
def test_crop_at_the_edge_is_never_empty(x: float) -> None:
    crop = cut_crop(jpeg_image(), Box(x=x, y=500, width=120, height=30))
    assert crop is not None
    assert decode_image(crop).size


@pytest.mark.parametrize("size", [*TINY_SIZES, *STRIP_SIZES])
def test_crop_of_any_box_in_any_image_is_an_image(size: tuple[int, int]) -> None:
    frame, (width, height) = jpeg(*size), size
    for x, y in ((0, 0), (width, height), (-5, height / 2), (width - 0.1, -0.1), (1e6, 1e6)):
        for box_width, box_height in ((0, 0), (0.3, height), (width, 0), (1e6, 1e6)):
            crop = cut_crop(frame, Box(x=x, y=y, width=box_width, height=box_height))
            assert crop is not None
            assert decode_image(crop).size


def test_no_crop_of_what_is_no_jpeg_image() -> None:
    assert cut_crop(b"nothing", BOX) is None
