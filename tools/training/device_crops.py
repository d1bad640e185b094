"""Augments crops of plates on the training device, batch by batch.

A CPU augments about 70 crops per second, and a GPU augments thousands. Images are N×3×H×W float32
values (RGB, 0 to 255). Random numbers come from a generator on the device.
"""

import math
from dataclasses import dataclass

import cv2
import numpy as np
import torch
from torch.nn import functional

from tools.training.photos import Image, as_image
from tools.training.reader_data import (
    COARSE_PX,
    COARSE_SHARE,
    CONTEXT,
    JPEG_QUALITY,
    JPEG_SHARE,
    MARGIN_X,
    MARGIN_Y,
    PALE_SHARE,
    SENSOR_BLUR_PX,
    SENSOR_SHARE,
    Sample,
)

BOX_PX = (192, 80)
"""Width and height to which each plate's box is scaled on the canvas."""

_LEFT, _TOP = round(BOX_PX[0] * CONTEXT), round(BOX_PX[1] * 2 * CONTEXT)
CANVAS_PX = (BOX_PX[0] + 2 * _LEFT, BOX_PX[1] + 2 * _TOP)

_JITTER, _TURN_DEGREES, _MAX_TURN, _BENT = 0.035, 3.0, 8.0, 0.02
_COARSE_GROUPS = 16
"""Number of different widths of coarse crops in a batch."""

_LUMA = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
_CHROMA_CORNER = ((17, 18, 24, 47), (18, 21, 26, 66), (24, 26, 56, 99), (47, 66, 99, 99))
"""Outside this corner, values are 99. **Source:** JPEG (ITU-T T.81), tables K.1 and K.2."""


def canvas(sample: Sample) -> Image:
    """Return a plate in its surroundings with the box scaled to ``BOX_PX``. Edges are repeated."""
    left, top, right, bottom = sample.box
    corners = np.array([[left, top], [right, top], [left, bottom]], np.float32)
    goal = np.array(
        [[_LEFT, _TOP], [_LEFT + BOX_PX[0], _TOP], [_LEFT, _TOP + BOX_PX[1]]], np.float32
    )
    how = cv2.INTER_CUBIC if right - left < BOX_PX[0] else cv2.INTER_AREA
    matrix = cv2.getAffineTransform(corners, goal)
    return as_image(
        cv2.warpAffine(sample.image, matrix, CANVAS_PX, flags=how, borderMode=cv2.BORDER_REPLICATE)
    )


@dataclass(frozen=True)
class Canvases:
    """Canvases as N×H×W×3 bytes on the device, and each plate's width and height in the photo."""

    images: torch.Tensor
    widths_px: torch.Tensor
    heights_px: torch.Tensor

    def changed(
        self, chosen: torch.Tensor, size: tuple[int, int], generator: torch.Generator
    ) -> torch.Tensor:
        """Return crops of ``size`` (width, height) as N×H×W×3 bytes, augmented at random."""
        change = _Change(self.images.device, generator)
        pixels = torch.stack([self.widths_px[chosen], self.heights_px[chosen]], -1)
        crops = change.warped(self.images[chosen], pixels, size)
        crops = change.other_camera(change.other_light(change.coarser(crops, pixels)))
        return crops.round().clamp(0, 255).permute(0, 2, 3, 1).to(torch.uint8)


class _Change:
    def __init__(self, device: torch.device, generator: torch.Generator) -> None:
        self._device, self._generator = device, generator

    def _rand(self, *shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=self._generator, device=self._device)

    def _normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self._generator, device=self._device)

    def _between(self, count: int, bounds: tuple[float, float]) -> torch.Tensor:
        return bounds[0] + (bounds[1] - bounds[0]) * self._rand(count)

    def _some(self, count: int, share: float) -> torch.Tensor:
        return (self._rand(count) < share).nonzero().flatten()

    def warped(
        self, canvases: torch.Tensor, pixels: torch.Tensor, size: tuple[int, int]
    ) -> torch.Tensor:
        """Return crops with the deviations of a detector's boxes, slightly rotated and bent."""
        count = len(canvases)
        moves = self._normal(count, 4).clamp(-2, 2) * _JITTER
        low, high = moves[:, :2], 1 + moves[:, 2:]
        margins = [self._between(count, bounds) for bounds in (MARGIN_X, MARGIN_Y)]
        grow = torch.stack(margins, -1) * (high - low)
        low, high = low - grow, high + grow
        square = torch.tensor([[0.0, 0], [1, 0], [1, 1], [0, 1]], device=self._device)
        corners = low[:, None] + square * (high - low)[:, None]
        angle = torch.deg2rad((self._normal(count) * _TURN_DEGREES).clamp(-_MAX_TURN, _MAX_TURN))
        turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1)
        middle = corners.mean(1, keepdim=True)
        away = torch.einsum(
            "nij,nkj->nki", turn.reshape(count, 2, 2), (corners - middle) * pixels[:, None]
        )
        bent = self._normal(count, 4, 2) * _BENT * (high - low)[:, None]
        corners = away / pixels[:, None] + middle + bent
        places = _through(_homographies(square, corners), size)
        unit = torch.tensor([BOX_PX, (_LEFT, _TOP), CANVAS_PX], device=self._device)
        grid = (places * unit[0] + unit[1]) / unit[2] * 2 - 1
        how = "bilinear" if float(self._rand(1)) < 0.4 else "bicubic"
        source = canvases.permute(0, 3, 1, 2).float()
        cut = functional.grid_sample(
            source, grid, mode=how, padding_mode="border", align_corners=False
        )
        return cut.clamp(0, 255)

    def coarser(self, crops: torch.Tensor, pixels: torch.Tensor) -> torch.Tensor:
        """Return the crops, some of them with the resolution of a plate a few pixels wide."""
        changed, (height, width) = crops.clone(), crops.shape[2:]
        for part in self._some(len(crops), COARSE_SHARE).chunk(_COARSE_GROUPS):
            if not len(part):
                continue
            usual = pixels[part].median(0).values
            wide = max(12, int(min(float(usual[0]), float(self._between(1, COARSE_PX)))))
            high = max(8, round(wide * float(usual[1] / usual[0])))
            if wide >= width and high >= height:
                continue
            small = functional.interpolate(crops[part], (high, wide), mode="area")
            some = self._some(len(part), SENSOR_SHARE)
            small[some] = blurred(small[some], self._between(len(some), SENSOR_BLUR_PX), 5)
            some = self._some(len(part), JPEG_SHARE)
            small[some] = coded(small[some], self._between(len(some), JPEG_QUALITY))
            changed[part] = functional.interpolate(small, (height, width), mode="bilinear")
        return changed

    def other_light(self, crops: torch.Tensor) -> torch.Tensor:
        """Return the crops with changed contrast, brightness and colours, some pale or grey."""
        count = len(crops)

        def where(share: float, changed: torch.Tensor, crops: torch.Tensor) -> torch.Tensor:
            return torch.where(self._rand(count, 1, 1, 1) < share, changed, crops)

        def each(low: float, high: float) -> torch.Tensor:
            return self._between(count, (low, high)).reshape(-1, 1, 1, 1)

        crops = where(0.5, (crops - 128) * each(0.5, 1.3) + 128 + each(-45, 35), crops)
        crops = where(0.25, 255 * (crops.clamp(0, 255) / 255) ** each(0.5, 2.0), crops)
        crops = where(0.25, crops * (0.5 + 0.7 * self._rand(count, 3, 1, 1)), crops)
        crops = where(PALE_SHARE, (crops - 128) * each(0.15, 0.5) + each(90, 215), crops)
        crops = where(0.15, crops.mean(1, keepdim=True).expand_as(crops), crops)
        return crops.clamp(0, 255)

    def other_camera(self, crops: torch.Tensor) -> torch.Tensor:
        """Return the crops, some of them with blur, motion blur, noise or JPEG artefacts."""
        count = len(crops)
        some = self._some(count, 0.15)
        crops[some] = blurred(crops[some], self._between(len(some), (0.4, 1.5)), 9)
        for length, part in enumerate(self._some(count, 0.12).chunk(5), 3):
            sides = (length // 2, (length - 1) // 2, 0, 0)
            wider = functional.pad(crops[part], sides, mode="replicate")
            crops[part] = functional.avg_pool2d(wider, (1, length), stride=1)
        some = self._some(count, 0.2)
        strength = self._between(len(some), (3, 16)).reshape(-1, 1, 1, 1)
        crops[some] += self._normal(*crops[some].shape) * strength
        some = self._some(count, 0.3)
        crops[some] = coded(crops[some].clamp(0, 255), self._between(len(some), (20, 85)))
        return crops


def blurred(images: torch.Tensor, sigmas: torch.Tensor, side: int) -> torch.Tensor:
    """Return the images, each blurred with its own Gaussian kernel of ``side`` pixels."""
    if not len(images):
        return images
    count, channels, height, width = images.shape
    away = torch.arange(side, device=images.device) - side // 2
    kernel = torch.exp(-(away[None] ** 2) / (2 * sigmas[:, None] ** 2))
    kernel = (kernel / kernel.sum(1, keepdim=True)).repeat_interleave(channels, 0)[:, None]
    wider = functional.pad(images, [side // 2] * 4, mode="replicate").reshape(
        1, count * channels, height + side - 1, width + side - 1
    )
    lines = functional.conv2d(wider, kernel[:, :, None], groups=count * channels)
    both = functional.conv2d(lines, kernel[..., None], groups=count * channels)
    return both.reshape(images.shape)


def coded(images: torch.Tensor, qualities: torch.Tensor) -> torch.Tensor:
    """Return the images with JPEG artefacts for ``qualities`` (1 to 100) and 4:2:0 chroma."""
    if not len(images):
        return images
    height, width = images.shape[2:]
    wider = functional.pad(images, (0, -width % 16, 0, -height % 16), mode="replicate")
    red, green, blue = wider.unbind(1)
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    colours = [128 + (blue - luma) * 0.564, 128 + (red - luma) * 0.713]
    scale = torch.where(qualities < 50, 5000 / qualities, 200 - 2 * qualities)[:, None, None]
    fine = torch.tensor(_LUMA, device=images.device, dtype=torch.float32)
    coarse = torch.full((8, 8), 99.0, device=images.device)
    coarse[:4, :4] = torch.tensor(_CHROMA_CORNER, device=images.device, dtype=torch.float32)
    steps = [((table * scale + 50) / 100).floor().clamp(1, 255) for table in (fine, coarse)]
    luma = _rounded_blocks(luma, steps[0])
    for i, colour in enumerate(colours):
        half = functional.avg_pool2d(colour[:, None], 2)[:, 0]
        half = _rounded_blocks(half, steps[1])[:, None]
        colours[i] = functional.interpolate(half, scale_factor=2, mode="bilinear")[:, 0] - 128
    red, blue = luma + 1.402 * colours[1], luma + 1.772 * colours[0]
    green = luma - 0.344136 * colours[0] - 0.714136 * colours[1]
    return torch.stack([red, green, blue], 1)[:, :, :height, :width].clamp(0, 255)


def _rounded_blocks(plane: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    count, height, width = plane.shape
    rows = torch.arange(8.0, device=plane.device)
    waves = torch.cos((2 * rows[None] + 1) * rows[:, None] * math.pi / 16) / 2
    waves[0] /= math.sqrt(2)
    blocks = plane.reshape(count, height // 8, 8, width // 8, 8).permute(0, 1, 3, 2, 4) - 128
    steps = steps[:, None, None]
    kept = ((waves @ blocks @ waves.T) / steps).round() * steps
    back = (waves.T @ kept @ waves) + 128
    return back.permute(0, 1, 3, 2, 4).reshape(count, height, width)


def _homographies(square: torch.Tensor, corners: torch.Tensor) -> torch.Tensor:
    """Return N×3×3 matrices that map the corners of the unit square to ``corners`` (N×4×2)."""
    count = len(corners)
    known = torch.zeros(count, 8, 8, device=corners.device)
    for k, (x, y) in enumerate(square.tolist()):
        for axis in range(2):
            row, first = 2 * k + axis, 3 * axis
            known[:, row, first], known[:, row, first + 1], known[:, row, first + 2] = x, y, 1
            known[:, row, 6] = -x * corners[:, k, axis]
            known[:, row, 7] = -y * corners[:, k, axis]
    values = torch.linalg.solve(known, corners.reshape(count, 8))
    last = torch.ones(count, 1, device=corners.device)
    return torch.cat([values, last], 1).reshape(count, 3, 3)


def _through(matrices: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Return the positions of the crops' pixels (N×H×W×2), in units of the box."""
    width, height = size
    device = matrices.device
    down = (torch.arange(height, device=device) + 0.5) / height
    along = (torch.arange(width, device=device) + 0.5) / width
    rows, columns = torch.meshgrid(down, along, indexing="ij")
    points = torch.stack([columns, rows, torch.ones_like(rows)], -1)
    moved = torch.einsum("nij,hwj->nhwi", matrices, points)
    return moved[..., :2] / moved[..., 2:]
