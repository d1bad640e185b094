"""Cuts the plate out of a frame for the stored crop."""

import cv2
import numpy as np

from contracts.errors import InvalidInputError
from contracts.frames import Box
from recognition.images import decode_image

_MARGIN = 0.15
_JPEG_QUALITY = 92


def cut_crop(jpeg: bytes, box: Box) -> bytes | None:
    """Return the plate with a margin around it as JPEG, or None where the frame is not readable.

    Decodes the whole frame, several milliseconds for 1080p: call it in a thread.
    """
    try:
        image = decode_image(jpeg)
    except InvalidInputError:
        return None
    height, width = image.shape[:2]
    margin_x, margin_y = _MARGIN * box.width, _MARGIN * box.height
    left = min(max(0, round(box.x - margin_x)), width - 1)
    top = min(max(0, round(box.y - margin_y)), height - 1)
    right = min(width, max(left + 1, round(box.x + box.width + margin_x)))
    bottom = min(height, max(top + 1, round(box.y + box.height + margin_y)))
    crop = np.ascontiguousarray(image[top:bottom, left:right])
    _, data = cv2.imencode(".jpg", crop, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    return data.tobytes()
