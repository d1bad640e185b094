import io
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps

from common.errors import InvalidInputError
from recognition.images import decode_image
from tests.odd_images import STRIP_SIZES, TINY_SIZES, TOO_LONG_SIZES, files_of_every_kind
from tests.odd_images import jpeg as odd_jpeg


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def red(mode: str = "RGB", size: tuple[int, int] = (40, 20)) -> Image.Image:
    return Image.new("RGB", size, (255, 0, 0)).convert(mode)


def png_header(width: int, height: int) -> bytes:
    chunk = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    data = b"IDAT" + zlib.compress(b"\0" * 1000)
    parts = [b"\x89PNG\r\n\x1a\n"]
    for body in (chunk, data, b"IEND"):
        parts += [(len(body) - 4).to_bytes(4, "big"), body, zlib.crc32(body).to_bytes(4, "big")]
    return b"".join(parts)


@pytest.mark.parametrize(
    "data",
    [
        encoded(red(), "JPEG"),
        encoded(red(), "JPEG", progressive=True),
        encoded(red("CMYK"), "JPEG"),
        encoded(red(), "PNG"),
        encoded(red("RGBA"), "PNG"),
        encoded(red("P"), "PNG"),
    ],
    ids=["jpeg", "progressive", "cmyk", "png", "png-alpha", "png-palette"],
)
def test_decodes_to_bgr(data: bytes) -> None:
    image = decode_image(data)
    assert image.shape == (20, 40, 3)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    blue, green, redness = image[10, 20]
    assert redness > 200
    assert max(blue, green) < 60


@pytest.mark.parametrize("mode", ["L", "1", "LA"])
def test_grey_becomes_colour(mode: str) -> None:
    image = decode_image(encoded(Image.new("L", (8, 8), 255).convert(mode), "PNG"))
    assert (image == 255).all()


def test_grey_jpeg_becomes_colour() -> None:
    assert decode_image(encoded(red("L"), "JPEG")).shape == (20, 40, 3)


def test_16_bit_png_keeps_the_upper_byte() -> None:
    ok, data = cv2.imencode(".png", np.full((4, 4), 0x8012, np.uint16))
    assert ok
    assert (decode_image(data.tobytes()) == 0x80).all()


def test_transparent_parts_become_white() -> None:
    image = decode_image(encoded(Image.new("RGBA", (4, 4), (0, 0, 0, 0)), "PNG"))
    assert (image == 255).all()


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_applies_exif_orientation(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    corners = Image.new("RGB", (48, 32), "white")
    corners.paste("black", (0, 0, 24, 16))
    corners.paste("red", (24, 0, 48, 16))
    data = encoded(corners, kind, exif=exif.tobytes())
    seen = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    image = decode_image(data)
    assert image.flags.c_contiguous
    assert image.shape == np.asarray(seen).shape
    assert np.abs(image[..., ::-1].astype(int) - np.asarray(seen)).mean() < 2


@pytest.mark.parametrize("size", [*TINY_SIZES, *STRIP_SIZES])
def test_every_kind_decodes_at_every_size(size: tuple[int, int]) -> None:
    for name, data in files_of_every_kind(*size).items():
        is_on_its_side = name.endswith(("turned 6", "turned 7"))
        expected = size if is_on_its_side else size[::-1]
        assert decode_image(data).shape == (*expected, 3), name


def with_exif(data: bytes, exif: bytes) -> bytes:
    """Return a JPEG or PNG with these bytes as its EXIF data."""
    if data.startswith(b"\x89PNG"):
        chunk = b"eXIf" + exif
        whole = len(exif).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
        return data[:33] + whole + data[33:]
    app1 = b"Exif\0\0" + exif
    return data[:2] + b"\xff\xe1" + (len(app1) + 2).to_bytes(2, "big") + app1 + data[2:]


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
@pytest.mark.parametrize(
    "exif", [b"MM\0*\0\0\0\x08\xff\xff\x01\x12", b"II*\0", b"II+\0", b"", b"M"]
)
@pytest.mark.parametrize(("kind", "mode"), [("JPEG", "RGB"), ("JPEG", "CMYK"), ("PNG", "RGB")])
def test_damaged_exif_says_nothing(kind: str, mode: str, exif: bytes) -> None:
    data = with_exif(encoded(red().convert(mode), kind), exif)
    assert decode_image(data).shape == (20, 40, 3)


def jpeg_with_thumbnail() -> bytes:
    thumbnail = encoded(red(size=(16, 16)), "JPEG")
    app1 = b"Exif\0\0" + thumbnail
    data = encoded(red(size=(64, 64)), "JPEG")
    return data[:2] + b"\xff\xe1" + (len(app1) + 2).to_bytes(2, "big") + app1 + data[2:]


def noise_jpeg(**options: object) -> bytes:
    pixels = np.random.default_rng(1).integers(0, 255, (80, 80, 3), np.uint8)
    return encoded(Image.fromarray(pixels), "JPEG", **options)


@pytest.mark.parametrize(
    "data", [noise_jpeg(), noise_jpeg(progressive=True), jpeg_with_thumbnail()]
)
def test_takes_a_complete_jpeg_without_its_end_marker(data: bytes) -> None:
    assert np.array_equal(decode_image(data[:-2]), decode_image(data))


def test_takes_what_cameras_append() -> None:
    assert decode_image(noise_jpeg() + b"\0" * 100 + b"junk").shape == (80, 80, 3)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_image"),
        (b"GIF89a" + b"\0" * 50, "unsupported_image"),
        (b"\xff\xd8\xff\xe0garbage", "unreadable_image"),
        (b"\x89PNG\r\n\x1a\ngarbage", "unreadable_image"),
        (png_header(20_000, 20_000), "image_too_large"),
        (png_header(10_001, 10), "image_too_large"),
        (png_header(8_000, 8_000), "image_too_large"),
        (png_header(0, 10), "unreadable_image"),
        (b"<html>no image</html>", "unsupported_image"),
        *((odd_jpeg(*size), "image_too_large") for size in TOO_LONG_SIZES),
        (noise_jpeg()[:-12], "truncated_image"),
        (noise_jpeg()[:2000], "truncated_image"),
        (noise_jpeg(progressive=True)[:-10], "truncated_image"),
        # The thumbnail has an end marker.
        (jpeg_with_thumbnail()[:-20], "truncated_image"),
        (encoded(Image.fromarray(np.zeros((50, 50), np.uint8)), "PNG")[:60], "truncated_image"),
    ],
)
def test_refuses_with_a_code(data: bytes, code: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        decode_image(data)
    assert refused.value.code == code
    assert str(refused.value).endswith(".")


def test_refuses_a_png_with_an_empty_profile_after_its_pixels() -> None:
    data = encoded(red(), "PNG")
    profile = b"\0\0\0\0iCCP" + zlib.crc32(b"iCCP").to_bytes(4, "big")
    with pytest.raises(InvalidInputError) as refused:
        decode_image(data[:-12] + profile + data[-12:])

    assert refused.value.code == "unreadable_image"


def test_refuses_a_jpeg_that_goes_over_its_pixels_without_end() -> None:
    data = noise_jpeg(progressive=True)
    start = data.rindex(b"\xff\xda")
    scan = data[start:-2]
    assert decode_image(data[:-2] + 20 * scan + data[-2:]).shape == (80, 80, 3)
    with pytest.raises(InvalidInputError) as refused:
        decode_image(data[:-2] + 100 * scan + data[-2:])

    assert refused.value.code == "unreadable_image"


def test_a_palette_that_is_not_there_is_refused() -> None:
    data = encoded(red().convert("P"), "PNG")
    start = data.index(b"PLTE") - 4
    size = 12 + int.from_bytes(data[start : start + 4], "big")
    with_alpha = data[:start] + data[start + size :]
    with pytest.raises(InvalidInputError) as refused:
        decode_image(with_alpha)

    assert refused.value.code == "unreadable_image"


@pytest.mark.parametrize(("bits", "white"), [(8, 0xFF), (10, 0x3FF), (14, 0x3FFF), (16, 0xFFFF)])
def test_the_bits_that_a_camera_uses_are_the_ones_that_stay(bits: int, white: int) -> None:
    samples = np.linspace(0, white, 50 * 50).astype(np.uint16).reshape(50, 50)
    image = decode_image(encoded(Image.fromarray(samples), "PNG"))

    assert (int(image.min()), int(image.max())) == (0, 255)
