"""Random textures: soft clouds, tiles of grain."""

import cv2
import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]


def cloud(shape: tuple[int, int], rng: np.random.Generator, coarse: int, octaves: int = 4) -> Plane:
    """Return soft noise, 0 to 1: `coarse` cells along the longer side, finer octaves on top."""
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


def grain_tile(size_px: int, rng: np.random.Generator, blur_px: float) -> Plane:
    """Return a square tile of grain that wraps around: mean 0, standard deviation 1."""
    white = rng.standard_normal((size_px, size_px), dtype=np.float32)
    margin = int(blur_px * 4) + 1
    wrapped = np.pad(white, margin, mode="wrap")
    soft = cv2.GaussianBlur(wrapped, (0, 0), blur_px)[margin:-margin, margin:-margin]
    return np.asarray((soft - soft.mean()) / soft.std(), dtype=np.float32)


def sample_tile(tile: Plane, x: Plane, y: Plane, metres_per_px: float) -> Plane:
    """Look a tile up at world places in metres; it repeats endlessly."""
    size = tile.shape[0]
    u = np.mod(x / metres_per_px, size).astype(np.float32)
    v = np.mod(y / metres_per_px, size).astype(np.float32)
    found = cv2.remap(tile, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    return np.asarray(found, dtype=np.float32)
