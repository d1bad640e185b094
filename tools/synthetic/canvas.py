"""A picture being painted: colours by day, lights that burn at dusk, and where the sky shows."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.camera import Camera

Colour = tuple[float, float, float]
Spots = NDArray[np.float64]
"""N x 2 places in pixels, or N x 3 in world metres."""

_SHIFT = 4


@dataclass(frozen=True)
class Canvas:
    """`colour` and `glow` height x width x 3 uint8 BGR, `sky` height x width uint8 (255: sky)."""

    camera: Camera
    colour: NDArray[np.uint8]
    glow: NDArray[np.uint8]
    sky: NDArray[np.uint8]

    @classmethod
    def blank(cls, camera: Camera) -> "Canvas":
        """Return a canvas that is all sky."""
        shape = (camera.height_px, camera.width_px)
        return cls(
            camera,
            np.zeros((*shape, 3), dtype=np.uint8),
            np.zeros((*shape, 3), dtype=np.uint8),
            np.full(shape, 255, dtype=np.uint8),
        )

    def places(self, points: list[tuple[float, float, float]]) -> Spots:
        """Return the pixels of world points."""
        return self.camera.project(np.array(points, dtype=np.float64))[0]

    def polygon(self, places: Spots, colour: Colour, glow: Colour = (0, 0, 0)) -> None:
        """Fill a polygon given in pixels."""
        fixed = [np.round(places * (1 << _SHIFT)).astype(np.int32)]
        cv2.fillPoly(self.colour, fixed, colour, cv2.LINE_AA, _SHIFT)
        cv2.fillPoly(self.glow, fixed, glow, cv2.LINE_AA, _SHIFT)
        cv2.fillPoly(self.sky, fixed, (0,), cv2.LINE_AA, _SHIFT)

    def shade(self, outline: list[tuple[float, float, float]], strength: float) -> None:
        """Cast a soft shadow on what is painted so far; `strength` 0 to 1."""
        places = self.places(outline)
        low = np.maximum(places.min(axis=0) - 12, 0).astype(int)
        high = np.minimum(places.max(axis=0) + 12, self.colour.shape[1::-1]).astype(int)
        if (high - low < 2).any():
            return
        window = (slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0])))
        mask = _cover(places - low, (int(high[1] - low[1]), int(high[0] - low[0])))
        soft = np.asarray(cv2.GaussianBlur(mask, (0, 0), 3.0))[..., None]
        self.colour[window] = (self.colour[window] * (1 - strength * soft)).astype(np.uint8)

    def panel(
        self, corners: Spots, colour: NDArray[np.uint8], glow: NDArray[np.uint8] | None = None
    ) -> None:
        """Stretch a texture over four corners in pixels, clockwise from its top left."""
        low = np.maximum(np.floor(corners.min(axis=0)).astype(int), 0)
        size = np.array([self.camera.width_px, self.camera.height_px])
        high = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + 1, size)
        if (high <= low).any():
            return
        window = (slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0])))
        mask = _cover(corners - low, (int(high[1] - low[1]), int(high[0] - low[0])))
        for layer, texture in ((self.colour, colour), (self.glow, glow)):
            if texture is None:
                texture = np.zeros((2, 2, 3), dtype=np.uint8)
            drawn = _stretched(texture, corners - low, mask.shape)
            under = layer[window]
            under[:] = (under + mask[..., None] * (drawn.astype(np.float32) - under)).astype(
                np.uint8
            )
        sky = self.sky[window]
        sky[:] = (sky * (1 - mask)).astype(np.uint8)


def _cover(corners: Spots, shape: tuple[int, int]) -> NDArray[np.float32]:
    mask = np.zeros(shape, dtype=np.uint8)
    fixed = np.round(corners * (1 << _SHIFT)).astype(np.int32)
    cv2.fillPoly(mask, [fixed], (255,), cv2.LINE_AA, _SHIFT)
    return np.divide(mask, 255, dtype=np.float32)


def _stretched(
    texture: NDArray[np.uint8], corners: Spots, shape: tuple[int, ...]
) -> NDArray[np.uint8]:
    """Warp a texture, shrunk first to about the size it will have, so that it does not flicker."""
    across = max(np.ptp(corners[:, 0]), 2.0)
    down = max(np.linalg.norm(corners[3] - corners[0]), np.linalg.norm(corners[2] - corners[1]))
    wide = int(np.clip(across * 1.5, 2, texture.shape[1]))
    tall = int(np.clip(down * 1.5, 2, texture.shape[0]))
    small = cv2.resize(texture, (wide, tall), interpolation=cv2.INTER_AREA)
    source = np.array([(0, 0), (wide, 0), (wide, tall), (0, tall)], dtype=np.float32) - 0.5
    move = cv2.getPerspectiveTransform(source, corners.astype(np.float32))
    drawn = cv2.warpPerspective(
        small, move, (shape[1], shape[0]), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(drawn, dtype=np.uint8)


def hazed(colour: Colour, distance_m: float, clear_m: float = 520.0) -> Colour:
    """Return a colour as seen through the air of a distance."""
    share = 1 - float(np.exp(-max(0.0, distance_m - 30) / clear_m))
    blue, green, red = (
        own + share * (air - own) for own, air in zip(colour, (206, 200, 194), strict=True)
    )
    return blue, green, red
