"""Pictures for tests that need the bytes of one."""

from functools import cache

import cv2
import numpy as np


@cache
def picture(width: int = 1920, height: int = 1080) -> bytes:
    """Return a grey JPEG with a white patch where :func:`builders.reading` puts its box."""
    image = np.full((height, width, 3), 90, np.uint8)
    image[500:530, 800:920] = 255
    _, data = cv2.imencode(".jpg", image)
    return data.tobytes()
