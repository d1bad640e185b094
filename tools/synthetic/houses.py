"""A row of houses with front gardens along the left of the road."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.synthetic.canvas import Canvas, Colour, hazed
from tools.synthetic.noise import cloud

_PX_PER_M = 36.0
_FRONT_X_M = -10.4
_RIDGE_X_M = -14.4
_BACK_X_M = -18.4
_EAVES_OVER_M = 0.35

_WALLS: tuple[Colour, ...] = (
    (92, 108, 156),
    (196, 214, 222),
    (150, 186, 204),
    (84, 96, 138),
    (205, 208, 206),
    (120, 150, 176),
)
_ROOFS: tuple[Colour, ...] = ((62, 70, 112), (70, 68, 68), (58, 62, 92), (82, 80, 84))
_WARM: Colour = (84, 168, 240)


@dataclass(frozen=True)
class _House:
    near_y: float
    far_y: float
    wall: Colour
    roof: Colour
    eaves_z: float
    ridge_z: float


def paint_houses(canvas: Canvas, rng: np.random.Generator) -> None:
    """Paint the row, the farthest house first."""
    for house in reversed(_row(rng)):
        _gable(canvas, house)
        _roof(canvas, house)
        colour, glow = _facade(house, rng)
        corners = [
            (_FRONT_X_M, house.near_y, house.eaves_z),
            (_FRONT_X_M, house.far_y, house.eaves_z),
            (_FRONT_X_M, house.far_y, 0.0),
            (_FRONT_X_M, house.near_y, 0.0),
        ]
        canvas.panel(canvas.places(corners), colour, glow)
        _chimney(canvas, house)


def _row(rng: np.random.Generator) -> list[_House]:
    houses = []
    y = 44.0
    while y < 148:
        long = float(rng.uniform(9, 14))
        eaves = float(rng.uniform(4.9, 5.9))
        houses.append(
            _House(
                near_y=y,
                far_y=y + long,
                wall=_WALLS[int(rng.integers(len(_WALLS)))],
                roof=_ROOFS[int(rng.integers(len(_ROOFS)))],
                eaves_z=eaves,
                ridge_z=eaves + float(rng.uniform(2.6, 3.4)),
            )
        )
        y += long + float(rng.choice([0.0, 3.5, 6.0], p=[0.35, 0.4, 0.25]))
    return houses


def _scaled(colour: Colour, share: float) -> Colour:
    blue, green, red = (channel * share for channel in colour)
    return blue, green, red


def _gable(canvas: Canvas, house: _House) -> None:
    points = [
        (_FRONT_X_M, house.near_y, 0.0),
        (_FRONT_X_M, house.near_y, house.eaves_z),
        (_RIDGE_X_M, house.near_y, house.ridge_z),
        (_BACK_X_M, house.near_y, house.eaves_z),
        (_BACK_X_M, house.near_y, 0.0),
    ]
    canvas.polygon(canvas.places(points), hazed(_scaled(house.wall, 0.98), house.near_y))


def _roof(canvas: Canvas, house: _House) -> None:
    height, width = 120, 240
    rows = (np.arange(height)[:, None] % 8 < 1) * -14.0
    texture = np.full((height, width, 3), house.roof, dtype=np.float32)
    grain = cloud((height, width), np.random.default_rng(round(house.near_y * 10)), 40, 3)
    texture += rows[..., None] + (grain[..., None] - 0.5) * 30
    eaves_x = _FRONT_X_M + _EAVES_OVER_M
    corners = [
        (_RIDGE_X_M, house.near_y - 0.2, house.ridge_z),
        (_RIDGE_X_M, house.far_y + 0.2, house.ridge_z),
        (eaves_x, house.far_y + 0.2, house.eaves_z - 0.15),
        (eaves_x, house.near_y - 0.2, house.eaves_z - 0.15),
    ]
    canvas.panel(canvas.places(corners), _through_air(texture, house))
    edge = [
        (x, y, z - d) for d, row in ((0, corners[3:1:-1]), (0.22, corners[2:])) for x, y, z in row
    ]
    canvas.polygon(canvas.places(edge), hazed((196, 198, 198), house.near_y))


def _through_air(texture: NDArray[np.float32], house: _House) -> NDArray[np.uint8]:
    middle = (house.near_y + house.far_y) / 2
    share = 1 - float(np.exp(-max(0.0, middle - 30) / 520))
    air = np.array((206, 200, 194), dtype=np.float32)
    return np.clip(texture + share * (air - texture), 0, 255).astype(np.uint8)


def _facade(house: _House, rng: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the front wall by day and what shines at dusk; its near end is at the left."""
    width = round((house.far_y - house.near_y) * _PX_PER_M)
    height = round(house.eaves_z * _PX_PER_M)
    # The wall faces the road, away from the sun: it stands in its own shade.
    wall = np.full((height, width, 3), _scaled(house.wall, 0.74), dtype=np.float32)
    wall += (cloud((height, width), rng, 90, 3)[..., None] - 0.5) * 26
    if house.wall[2] - house.wall[0] > 40:
        wall[:: round(_PX_PER_M * 0.09)] *= 0.90
    wall[-round(0.5 * _PX_PER_M) :] *= 0.80
    glow = np.zeros((height, width, 3), dtype=np.uint8)
    columns = max(2, round(width / _PX_PER_M / 2.7))
    door = int(rng.integers(columns))
    for column in range(columns):
        x = (column + 0.5) * width / columns / _PX_PER_M
        _window(wall, glow, (x, house.eaves_z - 2.0), (1.15, 1.35), rng)
        if column == door:
            _door(wall, x, house.eaves_z, rng)
        else:
            _window(wall, glow, (x, house.eaves_z - 4.65), (1.35, 1.45), rng)
    return _through_air(wall, house), glow


def _box(
    height: int, at: tuple[float, float], size: tuple[float, float], grow: float = 0.0
) -> tuple[slice, slice]:
    x, low = at
    wide, tall = size
    left, right = x - wide / 2 - grow, x + wide / 2 + grow
    top, bottom = low + tall + grow, low - grow
    return (
        slice(max(0, height - round(top * _PX_PER_M)), max(0, height - round(bottom * _PX_PER_M))),
        slice(max(0, round(left * _PX_PER_M)), max(0, round(right * _PX_PER_M))),
    )


def _window(
    wall: NDArray[np.float32],
    glow: NDArray[np.uint8],
    at: tuple[float, float],
    size: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    height = wall.shape[0]
    wall[_box(height, (at[0], at[1] - 0.16), (size[0] + 0.25, 0.12))] = (172, 176, 176)
    wall[_box(height, at, size, 0.07)] = (212, 212, 210)
    pane = _box(height, at, size)
    wall[pane] = (96, 84, 74)
    rows = wall[pane].shape[0]
    wall[pane] += np.linspace(46, -22, rows, dtype=np.float32)[:, None, None]
    curtain = size[0] * 0.2
    for side in (-1, 1):
        wall[_box(height, (at[0] + side * (size[0] - curtain) / 2, at[1]), (curtain, size[1]))] = (
            150, 156, 160,
        )  # fmt: skip
    if rng.random() < 0.42:
        glow[pane] = np.array(_WARM) * rng.uniform(0.45, 0.95)
    bars = (
        _box(height, (at[0], at[1]), (0.07, size[1])),
        _box(height, (at[0], at[1] + size[1] * 0.62), (size[0], 0.06)),
    )
    for bar in bars:
        wall[bar], glow[bar] = (212, 212, 210), 0


def _door(wall: NDArray[np.float32], x: float, eaves_z: float, rng: np.random.Generator) -> None:
    del eaves_z
    height = wall.shape[0]
    colours = ((52, 40, 96), (84, 56, 30), (48, 72, 40), (56, 56, 58))
    wall[_box(height, (x, 0.15), (1.05, 2.15), 0.08)] = (206, 206, 204)
    wall[_box(height, (x, 0.15), (1.05, 2.15))] = colours[int(rng.integers(len(colours)))]
    wall[_box(height, (x, 1.75), (0.6, 0.35))] = (120, 112, 104)
    wall[_box(height, (x, 2.45), (1.7, 0.14))] = (112, 112, 112)


def _chimney(canvas: Canvas, house: _House) -> None:
    y = house.near_y + (house.far_y - house.near_y) * 0.7
    z = house.ridge_z
    for x, share in ((_RIDGE_X_M - 0.3, 0.95), (_RIDGE_X_M + 0.3, 0.70)):
        points = [
            (x - 0.3, y, z - 0.5),
            (x + 0.3, y, z - 0.5),
            (x + 0.3, y, z + 1.0),
            (x - 0.3, y, z + 1.0),
        ]
        canvas.polygon(canvas.places(points), hazed(_scaled((84, 96, 138), share), y))
