"""The road seen by the camera: asphalt, markings, kerbs, pavement, verge, up to a crest."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.synthetic.camera import Camera
from tools.synthetic.noise import Plane, grain_tile, sample_tile

CREST_Y_M = 150.0
"""Where the road goes over a crest; cars rise from behind it."""

LANE_X_M = 1.66
"""How far the middle of a lane lies from the middle of the road."""

EDGE_X_M = 3.62
"""Where the asphalt ends."""

_FALL_PER_M2 = 0.004


def road_height(y: float) -> float:
    """Return the height of the road surface at distance y, metres; level up to the crest."""
    return -_FALL_PER_M2 * max(0.0, y - CREST_Y_M) ** 2


@dataclass(frozen=True)
class Ground:
    """The ground as a picture: `colour` height x width x 3 float32 BGR, `seen` where it shows."""

    colour: NDArray[np.float32]
    seen: NDArray[np.bool_]


@dataclass(frozen=True)
class _Spots:
    """Ground places of pixels and how much ground a pixel covers, all in metres."""

    x: Plane
    y: Plane
    wide: Plane
    deep: Plane


def paint_ground(camera: Camera, rng: np.random.Generator) -> Ground:
    """Paint the ground by daylight."""
    x, y = camera.ground()
    seen = np.isfinite(y) & (y > 0) & (y < CREST_Y_M)
    x, y = np.where(seen, x, 0).astype(np.float32), np.where(seen, y, 1).astype(np.float32)
    wide = y / camera.focal_px
    spots = _Spots(x, y, wide, y * y / (camera.focal_px * camera.place[2]))
    colour = _asphalt(spots, rng)
    _mark(colour, spots, rng)
    _blend(colour, _verge(spots, rng), _share(spots.x - EDGE_X_M, spots.wide))
    _blend(colour, _pavement(spots, rng), _share(-EDGE_X_M - spots.x, spots.wide))
    _kerbs(colour, spots, rng)
    haze = np.clip((y - 50) / 400, 0, 0.22)[..., None]
    colour += haze * (np.array((196, 190, 184), dtype=np.float32) - colour)
    return Ground(colour, seen)


def _share(inside: NDArray[np.floating[Any]], pixel: Plane) -> Plane:
    """How much of a pixel lies inside an edge, from its distance to it in metres."""
    share = np.clip(inside / np.maximum(pixel, 1e-4) + 0.5, 0, 1)
    return np.asarray(share, dtype=np.float32)


def _blend(colour: NDArray[np.float32], other: NDArray[np.float32], share: Plane) -> None:
    colour += share[..., None] * (other - colour)


def _plain(spots: _Spots, tone: Plane, tint: tuple[float, float, float]) -> NDArray[np.float32]:
    del spots
    return np.asarray(tone[..., None] * np.array(tint, dtype=np.float32), dtype=np.float32)


def _grain(spots: _Spots, rng: np.random.Generator, size_m: float) -> Plane:
    """Grain of a size, fading where a pixel covers many grains."""
    tile = grain_tile(512, rng, 1.0)
    covered = np.sqrt(np.maximum(spots.wide, size_m * 0.3) * np.maximum(spots.deep, size_m * 0.3))
    fade = np.clip(size_m / covered, 0, 1)
    return np.asarray(sample_tile(tile, spots.x, spots.y, size_m / 2) * fade, dtype=np.float32)


def _asphalt(spots: _Spots, rng: np.random.Generator) -> NDArray[np.float32]:
    tone = 98 + 8.0 * _grain(spots, rng, 0.014) + 4.0 * _grain(spots, rng, 0.08)
    tone += 3.5 * _grain(spots, rng, 0.9) + 2.5 * sample_tile(
        grain_tile(256, rng, 2.0), spots.x * 12, spots.y * 0.8, 0.4
    )
    from_middle = np.abs(np.abs(spots.x) - LANE_X_M)
    tone -= 7 * np.exp(-(((from_middle - 0.74) / 0.22) ** 2))
    tone -= 5 * np.exp(-((from_middle / 0.20) ** 2))
    tone += 4 * np.clip((np.abs(spots.x) - 2.9) / 0.6, 0, 1)
    _repairs(tone, spots)
    return _plain(spots, tone, (1.0, 0.995, 0.985))


def _repairs(tone: Plane, spots: _Spots) -> None:
    """Darken trenches that were filled again, and set a manhole cover."""
    for left, right, near, far, darker in (
        (-2.9, -1.9, 26.0, 39.0, 13.0),
        (0.5, 3.3, 33.0, 34.6, 15.0),
        (0.9, 1.5, 58.0, 90.0, 10.0),
        (-3.3, -0.2, 71.0, 74.0, 11.0),
    ):
        inside = _share(spots.x - left, spots.wide) * _share(right - spots.x, spots.wide)
        inside *= _share(spots.y - near, spots.deep) * _share(far - spots.y, spots.deep)
        tone -= darker * inside
    for x, y in ((-0.75, 21.5), (2.2, 47.0)):
        out = np.hypot(spots.x - x, spots.y - y)
        tone -= 30 * _share(0.36 - out, spots.deep) - 16 * _share(0.31 - out, spots.deep)


def _mark(colour: NDArray[np.float32], spots: _Spots, rng: np.random.Generator) -> None:
    """Paint the dashed middle line and the solid edge lines, worn."""
    middle = _share(0.065 - np.abs(spots.x), spots.wide)
    along = np.mod(spots.y + 1.3, 9.0)
    dash = _share(np.minimum(along, 4.2 - along), spots.deep)
    edges = _share(0.06 - np.abs(np.abs(spots.x) - 3.30), spots.wide)
    worn = np.clip(0.80 + 0.16 * _grain(spots, rng, 0.05) + 0.08 * _grain(spots, rng, 0.5), 0.2, 1)
    share = np.clip(middle * dash + edges, 0, 1) * worn
    _blend(colour, np.full_like(colour, (206, 208, 207)), share)


def _verge(spots: _Spots, rng: np.random.Generator) -> NDArray[np.float32]:
    tone = 1 + 0.17 * _grain(spots, rng, 0.03) + 0.12 * _grain(spots, rng, 0.25)
    tone += 0.10 * _grain(spots, rng, 1.6)
    grass = _plain(spots, 96 * tone, (0.50, 0.98, 0.80))
    bare = np.clip(0.9 - (spots.x - EDGE_X_M) / 1.2 + 0.35 * _grain(spots, rng, 0.6), 0, 1)
    earth = _plain(spots, 104 * tone, (0.78, 0.95, 1.05))
    _blend(grass, earth, (bare * 0.7).astype(np.float32))
    return grass


def _pavement(spots: _Spots, rng: np.random.Generator) -> NDArray[np.float32]:
    tone = 134 + 5 * _grain(spots, rng, 0.02) + 4 * _grain(spots, rng, 0.7)
    for places, pixel, size in ((spots.x, spots.wide, 0.5), (spots.y, spots.deep, 0.75)):
        joint = np.abs(np.mod(places, size) - size / 2)
        visible = np.clip(0.05 / np.maximum(pixel, 1e-4), 0, 1)
        tone -= 26 * _share(0.008 - joint, pixel) * visible
    slabs = _plain(spots, tone, (0.97, 1.0, 1.01))
    garden = _verge(_Spots(spots.x + 20, spots.y, spots.wide, spots.deep), rng)
    _blend(slabs, garden, _share(-6.3 - spots.x, spots.wide))
    return slabs


def _kerbs(colour: NDArray[np.float32], spots: _Spots, rng: np.random.Generator) -> None:
    tone = 158 + 6 * _grain(spots, rng, 0.03)
    joint = np.abs(np.mod(spots.y, 1.0) - 0.5)
    tone -= 30 * _share(0.012 - joint, spots.deep) * np.clip(0.2 / spots.deep, 0, 1)
    kerb = _share(0.075 - np.abs(np.abs(spots.x) - EDGE_X_M - 0.05), spots.wide)
    _blend(colour, _plain(spots, tone, (0.98, 1.0, 1.0)), kerb)
    gutter = _share(0.12 - np.abs(np.abs(spots.x) - EDGE_X_M + 0.12), spots.wide)
    colour *= (1 - 0.16 * gutter)[..., None]
