"""Adds wear to a plate: relief, dirt, scratches, screws, uneven light and random noise."""

import cv2
import numpy as np
from numpy.typing import NDArray

Canvas = NDArray[np.float32]


def cloud(
    shape: tuple[int, int], rng: np.random.Generator, coarse: int, octaves: int
) -> NDArray[np.float32]:
    """Return smooth noise (0 to 1), with `coarse` cells along the longer side and finer octaves."""
    height, width = shape
    total = np.zeros(shape, dtype=np.float32)
    weight, cells = 1.0, float(coarse)
    for _ in range(octaves):
        rows = max(2, round(cells * height / max(shape)))
        columns = max(2, round(cells * width / max(shape)))
        grid = rng.random((rows, columns), dtype=np.float32)
        total += weight * cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC)
        weight, cells = weight * 0.5, cells * 2
    low, high = float(total.min()), float(total.max())
    return (total - low) / max(high - low, 1e-6)


def emboss(canvas: Canvas, relief: NDArray[np.float32], scale: float) -> None:
    """Shade raised letters and a raised border as if lit from above. `canvas` is modified.

    `relief` is 1 where the sheet is raised. `scale` is in px per mm.
    """
    height = cv2.GaussianBlur(relief, (0, 0), 0.9 * scale)
    slope = cv2.Sobel(height, cv2.CV_32F, 0, 1, ksize=3)
    side = cv2.Sobel(height, cv2.CV_32F, 1, 0, ksize=3)
    shade = np.clip(slope * 62 + side * 22, -60, 60)
    canvas += shade[..., None]


def weather(canvas: Canvas, rng: np.random.Generator, *, screws: bool) -> None:
    """Add typical wear to a plate. Most plates are clean, and a few are dirty.

    `canvas` is modified. If `screws`, some plates get screws.
    """
    dirt, fading, scratches = (float(part) for part in rng.beta(1.3, 4.0, 3))
    has_screws = rng.random() < 0.6
    canvas += (128.0 - canvas) * (0.22 * fading)
    _sheet_light(canvas, rng)
    if has_screws and screws:
        _screws(canvas, rng)
    _scratch(canvas, scratches, rng)
    _soil(canvas, dirt, rng)


def _sheet_light(canvas: Canvas, rng: np.random.Generator) -> None:
    height, width = canvas.shape[:2]
    tilt_x, tilt_y = rng.uniform(-0.05, 0.05), rng.uniform(-0.06, 0.02)
    x = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    canvas *= (1 + tilt_x * x + tilt_y * y)[..., None]


def _screws(canvas: Canvas, rng: np.random.Generator) -> None:
    height, width = canvas.shape[:2]
    scale = height / 110
    y = height * rng.uniform(0.45, 0.55)
    for x in (width * 0.25, width * 0.75):
        centre = (round(x), round(y))
        cv2.circle(canvas, centre, round(4.2 * scale), (105, 110, 112), -1, cv2.LINE_AA)
        cv2.circle(canvas, centre, round(3.2 * scale), (175, 178, 180), -1, cv2.LINE_AA)


def _scratch(canvas: Canvas, amount: float, rng: np.random.Generator) -> None:
    height, width = canvas.shape[:2]
    for _ in range(round(12 * amount)):
        x, y = rng.integers(width), rng.integers(height)
        dx, dy = rng.integers(-60, 61), rng.integers(-12, 13)
        tone = float(rng.uniform(110, 200))
        cv2.line(canvas, (int(x), int(y)), (int(x + dx), int(y + dy)), (tone, tone, tone), 1)


def _soil(canvas: Canvas, amount: float, rng: np.random.Generator) -> None:
    height, width = canvas.shape[:2]
    spots = cloud((height, width), rng, coarse=6, octaves=6)
    low = np.linspace(0.25, 1.0, height, dtype=np.float32)[:, None]
    cover = np.clip((spots - 0.55 + 0.25 * low) * 2.0, 0, 1) * (0.55 * amount)
    soil = np.array((62, 78, 92), dtype=np.float32)
    canvas += cover[..., None] * (soil - canvas)
    canvas += rng.normal(0, 1.5, (height, width, 1)).astype(np.float32)
