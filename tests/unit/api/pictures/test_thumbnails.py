"""Thumbnails: size, aspect ratio, file types, and caching."""

import io

import numpy as np
import pytest
from PIL import Image

from api.pictures.service import MAX_WIDTH_PX, MIN_WIDTH_PX, Thumbnails, shrunk
from common.errors import InvalidInputError
from tests.odd_images import STRIP_SIZES, TINY_SIZES, files_of_every_kind


def _file(width: int, height: int, kind: str = "JPEG", orientation: int | None = None) -> bytes:
    pixels = np.full((height, width, 3), 90, np.uint8)
    pixels[:, : width // 2] = (200, 30, 30)
    data = io.BytesIO()
    exif = Image.Exif()
    if orientation is not None:
        exif[0x0112] = orientation
    Image.fromarray(pixels).save(data, kind, exif=exif)
    return data.getvalue()


def _size(data: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "JPEG"
        return image.size


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize(
    ("size", "width", "expected"),
    [
        ((1920, 1080), 320, (320, 180)),
        ((1920, 1080), 1024, (1024, 576)),
        ((97, 31), 160, (97, 31)),
        ((1000, 4), 16, (16, 1)),
        ((40, 1200), 16, (16, 480)),
    ],
)
def test_it_is_as_wide_as_wanted_and_never_wider_than_the_image(
    kind: str, size: tuple[int, int], width: int, expected: tuple[int, int]
) -> None:
    assert _size(shrunk(_file(*size, kind), width)) == expected


@pytest.mark.parametrize("size", [*TINY_SIZES[::5], *STRIP_SIZES])
def test_it_is_made_of_every_kind_and_size(size: tuple[int, int]) -> None:
    for name, data in files_of_every_kind(*size).items():
        upright = size[::-1] if name.endswith(("turned 6", "turned 7")) else size
        for width in (MIN_WIDTH_PX, MAX_WIDTH_PX):
            assert _size(shrunk(data, width))[0] == min(width, upright[0]), name


def test_it_is_upright_and_keeps_its_colours() -> None:
    small = shrunk(_file(1600, 800, orientation=6), 200)

    with Image.open(io.BytesIO(small)) as image:
        assert image.size == (200, 400)
        # The image is rotated clockwise, so the left edge becomes the top.
        red, _, blue = image.convert("RGB").getpixel((100, 100))  # type: ignore[misc] # RGB has three
    assert red > 150 > blue


@pytest.mark.parametrize("data", [b"", b"nothing", _file(64, 64)[:40]])
def test_what_is_no_image_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInputError):
        shrunk(data, 32)


async def test_it_is_made_once_for_each_version_and_width() -> None:
    thumbnails = Thumbnails()
    made = await thumbnails.make("one", _file(640, 480), 64)

    assert thumbnails.known("one", 64) == made
    assert thumbnails.known("one", 65) is None
    assert thumbnails.known("other", 64) is None
    await thumbnails.close()


async def test_what_is_remembered_is_bounded_by_its_bytes() -> None:
    sample = shrunk(_file(640, 480), 64)
    thumbnails = Thumbnails(cache_bytes=9 * len(sample))
    for number in range(12):
        await thumbnails.make(str(number), _file(640, 480), 64)

    assert [thumbnails.known(str(number), 64) is not None for number in range(12)] == [
        *[False] * 3,
        *[True] * 9,
    ]
    await thumbnails.close()
