"""Valid and invalid image files for tests."""

import io
import struct
import zlib

from PIL import Image


def jpeg(width_px: int = 640, height_px: int = 480) -> bytes:
    """Return a grey JPEG."""
    buffer = io.BytesIO()
    Image.new("RGB", (width_px, height_px), (90, 90, 90)).save(buffer, "JPEG")
    return buffer.getvalue()


def png(width_px: int = 320, height_px: int = 200) -> bytes:
    """Return a grey PNG."""
    buffer = io.BytesIO()
    Image.new("RGB", (width_px, height_px), (90, 90, 90)).save(buffer, "PNG")
    return buffer.getvalue()


def gif() -> bytes:
    """Return a GIF, which clients sometimes name .jpg."""
    buffer = io.BytesIO()
    Image.new("P", (64, 64)).save(buffer, "GIF")
    return buffer.getvalue()


def truncated_jpeg() -> bytes:
    """Return the first half of a JPEG."""
    noisy = Image.effect_noise((800, 600), 60).convert("RGB")
    buffer = io.BytesIO()
    noisy.save(buffer, "JPEG")
    return buffer.getvalue()[: len(buffer.getvalue()) // 2]


def png_bomb(side_px: int = 20_000) -> bytes:
    """Return a PNG of under 50 kB that decodes to ``side_px`` × ``side_px`` pixels of one bit."""
    rows = (b"\x00" + b"\x00" * (side_px // 8)) * side_px
    header = struct.pack(">IIBBBBB", side_px, side_px, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
