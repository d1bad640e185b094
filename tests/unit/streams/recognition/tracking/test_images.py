import pytest

from common.records.frames import Box
from recognition.images import decode_image
from streams.recognition.tracking.images import cut_crop
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


def test_no_crop_of_what_is_no_jpeg_image() -> None:
    assert cut_crop(b"nothing", BOX) is None
