"""Cars: whole bodies, smooth motion between the distances they are drawn at."""

import numpy as np
import pytest

from tools.synthetic.camera import Camera
from tools.synthetic.car_mesh import body_mesh
from tools.synthetic.car_shapes import SHAPES, CarShape
from tools.synthetic.car_skins import paint_skin, random_style
from tools.synthetic.cars import Car, Heading, Pose, build_car
from tools.synthetic.layouts import BY_CODE
from tools.synthetic.plates import random_plate
from tools.synthetic.raster import draw
from tools.synthetic.shading import RIGS, Light, shade
from tools.synthetic.sprites import CarPictures

CAMERA = Camera(640, 360)
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)


def _car(shape: CarShape, heading: Heading, light: Light = Light.DAY) -> Car:
    rng = np.random.default_rng(3)
    plate = random_plate(rng, BY_CODE["es"])
    return build_car(Pose(shape, plate.layout, heading), random_style(rng, True), plate, light)


@by_shape
def test_body_has_its_measures_and_unit_normals(shape: CarShape) -> None:
    mesh = body_mesh(shape)

    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    assert low[1] == pytest.approx(0, abs=0.05)
    assert high[1] == pytest.approx(shape.length, abs=0.05)
    assert high[2] == pytest.approx(shape.roof_z, abs=0.12)
    assert low[2] == pytest.approx(0, abs=0.02)
    lengths = np.linalg.norm(mesh.normals, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-6) | (lengths == 0))


@by_shape
@pytest.mark.parametrize("heading", Heading)
def test_a_car_moved_from_its_rung_looks_as_drawn_there(shape: CarShape, heading: Heading) -> None:
    car = _car(shape, heading)
    y = 24.0
    found = CarPictures(car, CAMERA).at(y)
    assert found is not None
    window, moved = found

    surface = draw(car.stood_at(y), CAMERA, window)
    drawn = shade(surface, car.skin, RIGS[car.light], (0.0, -1.0, 0.1))

    assert moved.shape == drawn.shape
    outlines = (moved[..., 3] > 127) != (drawn[..., 3] > 127)
    assert outlines.mean() < 0.02


def test_plate_lies_on_the_end_we_see() -> None:
    towards = Pose(SHAPES[0], BY_CODE["es"], Heading.TOWARDS)
    away = Pose(SHAPES[0], BY_CODE["es"], Heading.AWAY)

    for pose in (towards, away):
        corners = pose.plate_corners(30.0)
        assert corners[:, 1] == pytest.approx(30.0, abs=0.1)
        places, _ = CAMERA.project(corners)
        assert places[0, 0] < places[1, 0], "read from left to right"
        assert places[0, 1] < places[3, 1], "upright"


@pytest.mark.parametrize("y", [-2.0, 2.0, 100.0, 175.0, 300.0])
def test_a_car_anywhere_on_the_road_can_be_drawn(y: float) -> None:
    found = CarPictures(_car(SHAPES[0], Heading.TOWARDS), CAMERA).at(y)

    assert found is None or found[1].shape == (found[0].height, found[0].width, 4)


def test_dusk_is_darker_and_lamps_shine() -> None:
    images = {}
    for light in Light:
        found = CarPictures(_car(SHAPES[0], Heading.TOWARDS, light), CAMERA).at(20.0)
        assert found is not None
        images[light] = found[1]

    assert images[Light.DUSK].mean() < images[Light.DAY].mean() * 0.8
    assert images[Light.DUSK][..., :3].min(axis=2).max() > 200


def test_same_style_paints_the_same_skin() -> None:
    style = random_style(np.random.default_rng(1), True)

    first, second = (paint_skin(SHAPES[2], style) for _ in range(2))

    assert np.array_equal(first.colour, second.colour)
