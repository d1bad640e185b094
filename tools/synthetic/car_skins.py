"""The paint of a car's body: lamps, grille, windows, wheels.

A skin is one picture with the front, the rear and a side view, in the places that `car_mesh` gives
its meshes. No letters anywhere: the plate is the only text on a car.
"""

import numpy as np

from tools.synthetic.car_front import paint_front
from tools.synthetic.car_mesh import SKIN_SIZE, swatch_place
from tools.synthetic.car_rear import paint_rear
from tools.synthetic.car_shapes import CarShape
from tools.synthetic.car_side import paint_side
from tools.synthetic.car_view import HOLE, RUBBER, CarStyle, Colour, Gloss, Skin, View

_PAINTS: tuple[Colour, ...] = (
    (198, 200, 200),
    (38, 36, 35),
    (120, 118, 116),
    (158, 160, 160),
    (110, 62, 30),
    (34, 28, 128),
    (62, 52, 44),
    (64, 84, 60),
    (58, 96, 132),
    (150, 108, 62),
)
_PAINT_SHARES = (0.2, 0.14, 0.16, 0.14, 0.11, 0.09, 0.06, 0.04, 0.03, 0.03)


def random_style(rng: np.random.Generator, wheel_left: bool) -> CarStyle:
    """Return a car's paint and details; colours come as often as on the road."""
    return CarStyle(
        paint=_PAINTS[int(rng.choice(len(_PAINTS), p=_PAINT_SHARES))],
        grille=int(rng.integers(4)),
        lamps=int(rng.integers(3)),
        tail=int(rng.integers(3)),
        trim=bool(rng.random() < 0.5),
        wheel_left=wheel_left,
    )


def paint_skin(shape: CarShape, style: CarStyle) -> Skin:
    """Paint the whole skin of one car."""
    width, height = SKIN_SIZE
    skin = Skin(
        np.full((height, width, 3), style.paint, dtype=np.uint8),
        np.full((height, width), Gloss.PAINT, dtype=np.uint8),
        np.zeros((height, width), dtype=np.uint8),
    )
    for name, colour in (("black", HOLE), ("tyre", RUBBER)):
        x, y = swatch_place((1,), name)[0]
        cut = np.s_[int(y) - 30 : int(y) + 30, int(x) - 30 : int(x) + 30]
        skin.colour[cut], skin.gloss[cut] = colour, 2
    paint_front(View(skin, "front"), shape, style)
    paint_rear(View(skin, "rear"), shape, style)
    paint_side(View(skin, "side"), shape, style)
    return skin
