"""Images that cameras rarely send: tiny, flat and tall ones, and every accepted kind."""

import io
import struct
import zlib

import cv2
import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image

TINY_SIZES = tuple((width, height) for width in range(1, 9) for height in range(1, 9))
_LENGTHS = (9, 16, 33, 160, 161, 640, 1_001, 2_000, 9_000, 10_000)
STRIP_SIZES = tuple(
    size
    for length in _LENGTHS
    for across in (1, 3)
    for size in ((length, across), (across, length))
)
TOO_LONG_SIZES = ((10_001, 1), (1, 10_001), (65_500, 1), (1, 65_500))
"""Sizes beyond the accepted limit, but within the limits of JPEG."""

_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2))
_ADAM7_PASSES = (*_ADAM7, (0, 1, 1, 2))
"""Left, top, horizontal step and vertical step of each pass."""

Pixels = npt.NDArray[np.uint8]


def noise(width_px: int, height_px: int) -> Pixels:
    """Return coloured noise, height x width x 3."""
    return np.random.default_rng(1).integers(0, 256, (height_px, width_px, 3), np.uint8)


def jpeg(width_px: int, height_px: int) -> bytes:
    """Return noise as JPEG."""
    return _encoded(Image.fromarray(noise(width_px, height_px)), "JPEG")


def files_of_every_kind(width_px: int, height_px: int) -> dict[str, bytes]:
    """Return the same image as every kind of JPEG and PNG, by file name."""
    pixels = noise(width_px, height_px)
    image = Image.fromarray(pixels)
    deep = pixels.astype(np.uint16) * 257
    files = {
        "jpeg": _encoded(image, "JPEG"),
        "jpeg 4:4:4": _encoded(image, "JPEG", subsampling=0),
        "jpeg progressive": _encoded(image, "JPEG", progressive=True),
        "jpeg grey": _encoded(image.convert("L"), "JPEG"),
        "jpeg CMYK": _encoded(image.convert("CMYK"), "JPEG"),
        "png": _encoded(image, "PNG"),
        "png interlaced": _interlaced_png(pixels),
        "png 16 bit": cv2.imencode(".png", deep)[1].tobytes(),
        "png 16 bit grey": _encoded(Image.fromarray(deep[..., 0]), "PNG"),
        "png transparent": _encoded(image, "PNG", transparency=(1, 2, 3)),
    }
    for mode in ("1", "L", "LA", "P", "RGBA"):
        files[f"png {mode}"] = _encoded(image.convert("RGBA").convert(mode), "PNG")
    for orientation in (3, 6, 7):
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = orientation
        files[f"jpeg turned {orientation}"] = _encoded(image, "JPEG", exif=exif)
        files[f"png turned {orientation}"] = _encoded(image, "PNG", exif=exif)
    return files


def _encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _interlaced_png(pixels: Pixels) -> bytes:
    """Return a PNG in seven passes, which no library here writes. **Source:** PNG, section 8."""
    passes = (pixels[top::down, left::across] for left, top, across, down in _ADAM7_PASSES)
    rows = b"".join(b"\0" + row.tobytes() for part in passes if part.size for row in part)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 1)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
