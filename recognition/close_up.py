"""Pictures that show little but a plate: the detector knows plates on cars, so it gets a frame.

Of 126 plates cut out of their photos along the box none was read right; with a grey frame around
them 94 are.
"""

import cv2
import msgspec
import numpy as np

from contracts.frames import Box as FrameBox
from contracts.readings import PlateReading
from recognition.types import BgrImage

FRAME = 2.0
"""Width of the frame on each side, as a share of the picture's."""

SMALL_SIDE_PX, FLAT_ASPECT = 512, 2.2
"""Pictures up to this size, or as wide for their height as a plate, may be close-ups."""

LARGEST_PX = 640
"""Of what is framed: more pixels of a plate alone say nothing more, and the frame is wider yet."""

FILLING_SHARE = 0.6

_LEAST_HEIGHT_SHARE = 1 / 3
_GREY = (114, 114, 114)


def may_be_close_up(image: BgrImage) -> bool:
    """Tell whether a picture is as small or as flat as one of a plate alone."""
    height, width = image.shape[:2]
    return bool(max(height, width) <= SMALL_SIDE_PX or width >= FLAT_ASPECT * height)


def fills(reading: PlateReading, image: BgrImage) -> bool:
    """Tell whether a plate takes most of the picture's width."""
    return bool(reading.box.width >= FILLING_SHARE * image.shape[1])


def framed(image: BgrImage) -> BgrImage:
    """Return the picture, at most ``LARGEST_PX`` wide, with grey around it."""
    width, height, left, top = _layout(image)
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    bordered = cv2.copyMakeBorder(small, top, top, left, left, cv2.BORDER_CONSTANT, value=_GREY)
    return np.asarray(bordered, np.uint8)


def unframed(reading: PlateReading, image: BgrImage) -> PlateReading:
    """Return a reading of the framed picture with its box in pixels of the picture itself."""
    width, height, left, top = _layout(image)
    box = reading.box
    x1, x2 = _within(box.x - left, box.width, width, image.shape[1])
    y1, y2 = _within(box.y - top, box.height, height, image.shape[0])
    whole = FrameBox(x=x1, y=y1, width=x2 - x1, height=y2 - y1)
    return msgspec.structs.replace(reading, box=whole)


def _layout(image: BgrImage) -> tuple[int, int, int, int]:
    """Width and height of the picture in its frame, and how wide that is beside it and above."""
    height, width = image.shape[:2]
    scale = min(1.0, LARGEST_PX / width)
    width, height = max(1, round(width * scale)), max(1, round(height * scale))
    return width, height, int(FRAME * width), int(FRAME * max(height, width * _LEAST_HEIGHT_SHARE))


def _within(start: float, length: float, framed_px: int, own_px: int) -> tuple[float, float]:
    """The ends of a span of the framed picture, inside the picture itself and in its pixels."""
    scale = own_px / framed_px
    first, last = (min(max(end, 0.0), framed_px) * scale for end in (start, start + length))
    return first, last
