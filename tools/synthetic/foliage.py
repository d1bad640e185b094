"""Trees, hedges and the wooded skyline."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tools.synthetic.canvas import Canvas, Colour, hazed
from tools.synthetic.noise import Plane, grain_tile

_LEAVES: tuple[Colour, ...] = (
    (48, 118, 98),
    (44, 104, 82),
    (54, 128, 116),
    (52, 124, 136),
    (46, 98, 86),
)

_GRAIN_SIZES = (0.7, 1.1, 1.8, 3.0, 5.0, 8.0)


@dataclass(frozen=True)
class _Clump:
    """A round mass of leaves, in pixels; light falls from the upper left."""

    x: float
    y: float
    wide: float
    tall: float


def paint_skyline(canvas: Canvas, rng: np.random.Generator) -> None:
    """Paint what stands beyond the crest: far hills, woods."""
    width = canvas.camera.width_px
    _hill(canvas, 900.0, 15.0, (150, 148, 124), rng)
    _hill(canvas, 480.0, 4.5, (126, 138, 108), rng)
    base = canvas.places([(0, 150, 0)])[0][1]
    unit = width / 1920
    x = -20.0
    while x < width + 20:
        wide, tall = rng.uniform(26, 60) * unit, rng.uniform(24, 66) * unit
        clump = _Clump(x, base - tall * 0.55, wide, tall)
        _leaves(canvas, clump, hazed(_leaf(rng), 190), 1.6 * unit, rng)
        x += wide * rng.uniform(0.5, 1.0)


def _hill(
    canvas: Canvas, distance: float, height: float, colour: Colour, rng: np.random.Generator
) -> None:
    steps = np.linspace(-0.25, 0.25, 60) * distance
    phase = rng.uniform(0, 6, 2)
    waves = 0.3 * np.sin(steps / 61 + phase[0]) + 0.1 * np.sin(steps / 19 + phase[1])
    tops = [
        (float(x), distance, height * (0.7 + float(w))) for x, w in zip(steps, waves, strict=True)
    ]
    outline = [*tops, (tops[-1][0], distance, -6.0), (tops[0][0], distance, -6.0)]
    canvas.polygon(canvas.places(outline), hazed(colour, distance))


def paint_gardens(canvas: Canvas, rng: np.random.Generator) -> None:
    """Paint shrubs before the houses, far ones first."""
    for y in np.arange(146.0, 34.0, -2.4):
        if rng.random() < 0.7:
            size = float(rng.uniform(0.45, 0.95))
            _shrub(canvas, (-7.7 + rng.uniform(-0.5, 0.3), y, 0.55 * size + 0.1), size, rng)


def paint_trees(canvas: Canvas, rng: np.random.Generator) -> None:
    """Paint the hedge on the right and the trees before it, far ones first."""
    for y in np.arange(147.0, 38.0, -1.9):
        _shrub(canvas, (8.9 + rng.uniform(-0.15, 0.15), y, 0.85), 1.15, rng, leaf=_LEAVES[1])
    for y in (143.0, 134.0, 122.0, 111.0, 98.0, 86.0, 73.0, 60.0, 49.0):
        x = float(rng.uniform(6.0, 7.2))
        turns = np.linspace(0, 2 * math.pi, 24)
        ring = [(x + 1.2 + 2.3 * math.cos(a), y + 2.0 + 2.6 * math.sin(a), 0.0) for a in turns]
        canvas.shade(ring, 0.38)
        _tree(canvas, (x, y), float(rng.uniform(0.85, 1.1)), rng)


def _leaf(rng: np.random.Generator) -> Colour:
    return _LEAVES[int(rng.integers(len(_LEAVES)))]


def _shrub(
    canvas: Canvas,
    at: tuple[float, float, float],
    size: float,
    rng: np.random.Generator,
    leaf: Colour | None = None,
) -> None:
    place = canvas.places([at])[0]
    unit = canvas.camera.focal_px / at[1]
    clump = _Clump(place[0], place[1], 1.5 * size * unit, 0.95 * size * unit)
    _leaves(canvas, clump, hazed(leaf or _leaf(rng), at[1]), 0.05 * unit, rng)


def _tree(canvas: Canvas, at: tuple[float, float], size: float, rng: np.random.Generator) -> None:
    x, y = at
    unit = canvas.camera.focal_px / y
    half = 0.17 * size
    trunk = [(x - half, y, 0), (x + half, y, 0), (x + half * 0.7, y, 3.2), (x - half * 0.7, y, 3.2)]
    canvas.polygon(canvas.places(trunk), hazed((66, 82, 98), y))
    dark = [(x + half * 0.1, y, 0), trunk[1], trunk[2], (x + half * 0.2, y, 3.2)]
    canvas.polygon(canvas.places(dark), hazed((42, 52, 62), y))
    leaf = hazed(_leaf(rng), y)
    clumps = []
    for _ in range(11):
        angle, out = rng.uniform(0, 2 * math.pi), math.sqrt(rng.random()) * 1.9 * size
        centre = (x + out * math.cos(angle), y, 4.6 * size + 1.15 * out * math.sin(angle))
        place = canvas.places([centre])[0]
        radius = rng.uniform(0.8, 1.35) * size * unit
        clumps.append(_Clump(place[0], place[1], radius, radius * 0.85))
    for clump in sorted(clumps, key=lambda c: -c.y):
        _leaves(canvas, clump, leaf, 0.055 * unit, rng)


def _leaves(
    canvas: Canvas, clump: _Clump, colour: Colour, leaf_px: float, rng: np.random.Generator
) -> None:
    """Paint a mass of leaves: ragged outline, grain of leaves, light from the upper left."""
    size = np.array([canvas.camera.width_px, canvas.camera.height_px])
    reach = 1.25 * np.array([clump.wide, clump.tall])
    low = np.maximum(np.floor((clump.x, clump.y) - reach).astype(int), 0)
    high = np.minimum(np.ceil((clump.x, clump.y) + reach).astype(int), size)
    if (high - low < 2).any():
        return
    dx = ((np.arange(low[0], high[0]) - clump.x) / clump.wide).astype(np.float32)[None, :]
    dy = ((np.arange(low[1], high[1]) - clump.y) / clump.tall).astype(np.float32)[:, None]
    shape = (int(high[1] - low[1]), int(high[0] - low[0]))
    fine, twigs = _grain(shape, leaf_px, rng), _grain(shape, leaf_px * 4, rng)
    distance = dx * dx + dy * dy
    cover = np.clip((0.86 - distance + 0.26 * fine + 0.20 * twigs) * 5, 0, 1)
    light = 0.66 - 0.17 * dx - 0.34 * dy + 0.15 * fine + 0.13 * twigs
    lit = np.clip(light, 0.16, 1.35)[..., None] * np.array(colour, dtype=np.float32)
    window = (slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0])))
    under = canvas.colour[window]
    under[:] = np.clip(under + cover[..., None] * (lit - under), 0, 255)
    for layer in (canvas.glow, canvas.sky):
        part = layer[window]
        part[:] = part * (1 - cover.reshape(*shape, *([1] * (part.ndim - 2))))


@lru_cache(maxsize=8)
def _tile(blur_px: float) -> Plane:
    return grain_tile(640, np.random.default_rng(round(blur_px * 100)), blur_px)


def _grain(shape: tuple[int, int], size_px: float, rng: np.random.Generator) -> Plane:
    """Return a random piece of grain about `size_px` large."""
    blur = float(min(_GRAIN_SIZES, key=lambda known: abs(known - size_px * 0.5)))
    left, top = (int(v) for v in rng.integers(640, size=2))
    rows, columns = (np.arange(shape[0]) + top) % 640, (np.arange(shape[1]) + left) % 640
    return np.asarray(_tile(blur)[np.ix_(rows, columns)])
