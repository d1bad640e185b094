"""Images for the console: frames of the demo's road scene, and the plates in these frames."""

import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import av
from PIL import Image

_CLIP = Path(__file__).resolve().parents[3] / "deploy" / "local" / "demo" / "road.mp4"
_FPS = 25
_WIDTH_PX = 1280
_MARGIN_PX = 6


@dataclass(frozen=True)
class Seen:
    """A plate in a frame of the clip, as the recogniser read it.

    ``box`` is left, top, width and height in pixels of a 1920 × 1080 frame.
    """

    frame: int
    plate: str
    region: str
    characters: tuple[float, ...]
    box: tuple[float, float, float, float]


SEEN = (
    Seen(
        703,
        "VA677VR",
        "France",
        (0.979, 0.981, 0.991, 0.986, 0.985, 0.962, 0.993),
        (315, 819, 169, 48),
    ),
    Seen(
        768,
        "VE219HC",
        "France",
        (0.986, 0.994, 0.991, 0.984, 0.993, 0.992, 0.993),
        (1250, 713, 175, 53),
    ),
    Seen(
        835,
        "J915ZE",
        "Netherlands",
        (0.989, 0.977, 0.972, 0.981, 0.987, 0.954),
        (345, 822, 163, 46),
    ),
    Seen(
        896,
        "UGL2559",
        "Brazil",
        (0.989, 0.988, 0.987, 0.986, 0.964, 0.987, 0.982),
        (1339, 738, 100, 62),
    ),
    Seen(
        1706,
        "RJYU878",
        "Germany",
        (0.998, 0.993, 0.993, 0.997, 0.993, 0.99, 0.986),
        (344, 837, 172, 52),
    ),
    Seen(
        1910,
        "TM36173",
        "Spain",
        (0.975, 0.957, 0.968, 0.98, 0.977, 0.962, 0.681),
        (1329, 748, 186, 61),
    ),
)


@dataclass(frozen=True)
class Pictures:
    """The photo and the crop of a recognition, as JPEG files."""

    photo: bytes
    crop: bytes


@cache
def pictures() -> tuple[Pictures, ...]:
    """Return the images of all detected plates, in order."""
    with av.open(str(_CLIP)) as clip:
        return tuple(_pictures(clip, seen) for seen in SEEN)


def scaled_box(seen: Seen) -> tuple[float, float, float, float]:
    """Return the plate's box in pixels of the photo."""
    left, top, width, height = (round(each * _WIDTH_PX / 1920, 1) for each in seen.box)
    return left, top, width, height


def _pictures(clip: av.container.InputContainer, seen: Seen) -> Pictures:
    frame = _frame(clip, seen.frame)
    left, top, width, height = seen.box
    plate = frame.crop(
        (
            int(left) - _MARGIN_PX,
            int(top) - _MARGIN_PX,
            int(left + width) + _MARGIN_PX,
            int(top + height) + _MARGIN_PX,
        )
    )
    return Pictures(_jpeg(frame.resize((_WIDTH_PX, _WIDTH_PX * 9 // 16))), _jpeg(plate))


def _frame(clip: av.container.InputContainer, number: int) -> Image.Image:
    stream = clip.streams.video[0]
    assert stream.time_base is not None
    clip.seek(int(number / _FPS / stream.time_base), stream=stream)
    for frame in clip.decode(stream):
        if frame.time is not None and round(frame.time * _FPS) >= number:
            return Image.fromarray(frame.to_ndarray(format="rgb24"))
    raise AssertionError(f"the clip has no frame {number}")


def _jpeg(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=82)
    return buffer.getvalue()
