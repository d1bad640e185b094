"""A road scene: its timetable, its frames, its truth."""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from tools.synthetic.backdrop import paint_backdrop
from tools.synthetic.camera import Camera
from tools.synthetic.cars import Car, build_car
from tools.synthetic.compose import Composer, Presence, plate_levels
from tools.synthetic.ground import CREST_Y_M
from tools.synthetic.plates import render_plate
from tools.synthetic.road_light import Frame
from tools.synthetic.sprites import CarPictures, Layer
from tools.synthetic.traffic import LightPlan, PlannedPass, Timetable, plan_traffic

FPS = 25
"""Frames a second of every scene."""

VISIBLE_WIDTH_SHARE = 40 / 1920
"""A plate counts as visible once it is this share of the picture wide (and wholly inside)."""

READABLE_LETTER_PX = 11.0
"""A person reads a plate in one still picture once its letters are this tall."""


@dataclass(frozen=True)
class RoadSceneOptions:
    """What scene to make. The same options give the same scene, frame by frame.

    `duration_s` None takes the time that the passes need.
    """

    passes: int = 24
    seed: int = 7
    duration_s: float | None = None
    light: LightPlan = LightPlan.MIXED
    width_px: int = 1920
    height_px: int = 1080


class TruePass(msgspec.Struct, frozen=True):
    """What really passed. Times in seconds from the first frame, the last frame seen included;
    widths in pixels of the clip; `plate` A-Z0-9; `country` ISO 3166 (with state for the US).
    Readable times are None where the picture is too small to read the plate at all."""

    plate: str
    country: str
    layout: str
    heading: str
    light: str
    first_visible_s: float
    last_visible_s: float
    readable_from_s: float | None
    readable_to_s: float | None
    min_width_px: int
    max_width_px: int


class SceneTruth(msgspec.Struct, frozen=True):
    """The truth beside a clip."""

    width_px: int
    height_px: int
    fps: int
    duration_s: float
    seed: int
    passes: tuple[TruePass, ...]


class RoadScene:
    """A scene of passing cars. Frames come in any order; not to be shared between threads."""

    def __init__(self, options: RoadSceneOptions) -> None:
        """Plan the scene; nothing is painted yet.

        Raises ValueError if the passes do not fit into the duration.
        """
        self.options = options
        self.camera = Camera(options.width_px, options.height_px)
        self.timetable: Timetable = plan_traffic(
            options.passes, options.duration_s, options.light, np.random.default_rng(options.seed)
        )
        self._composer: Composer | None = None
        self._cars: dict[int, tuple[CarPictures, tuple[Layer, ...]]] = {}

    @property
    def frame_count(self) -> int:
        """How many frames the scene has."""
        return round(self.timetable.duration_s * FPS)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[float, Frame]]:
        """Give (time in seconds, height x width x 3 uint8 BGR) from frame `start` up to `stop`."""
        for index in range(start, self.frame_count if stop is None else stop):
            picture = cv2.cvtColor(self.planes(index), cv2.COLOR_YUV2BGR_I420)
            yield index / FPS, np.asarray(picture, dtype=np.uint8)

    def planes(self, index: int) -> NDArray[np.uint8]:
        """Return a frame as planar YUV 4:2:0 (BT.601), height * 3 / 2 x width uint8."""
        composer = self._painter()
        time_s = index / FPS
        dusk = self.timetable.dusk_share(time_s)
        frame = composer.moment(self._present(time_s), dusk)
        return composer.sensor(index, frame, dusk)

    def truth(self) -> SceneTruth:
        """Return what passes when."""
        found = [self._true_pass(planned) for planned in self.timetable.passes]
        return SceneTruth(
            self.options.width_px,
            self.options.height_px,
            FPS,
            self.frame_count / FPS,
            self.options.seed,
            tuple(true for true in found if true is not None),
        )

    def plate_corners(self, planned: PlannedPass, time_s: float) -> NDArray[np.float64] | None:
        """Return a pass's plate corners in the picture (4 x 2 px, clockwise from top left).

        None while the plate is not wholly in the picture, or still beyond the crest.
        """
        y = planned.place_at(time_s)
        if not 1.0 < y < CREST_Y_M - 5:
            return None
        corners, _ = self.camera.project(planned.pose.plate_corners(y))
        size = np.array([self.camera.width_px, self.camera.height_px])
        inside = (corners >= 0).all() and (corners <= size - 1).all()
        return corners if inside else None

    def _painter(self) -> Composer:
        if self._composer is None:
            backdrop = paint_backdrop(self.camera, self.options.seed)
            self._composer = Composer(self.camera, backdrop, self.options.seed)
        return self._composer

    def _present(self, time_s: float) -> list[Presence]:
        present = []
        for index, planned in enumerate(self.timetable.passes):
            y = planned.place_at(time_s)
            if not -planned.pose.shape.length < y < CREST_Y_M + 30:
                self._cars.pop(index, None)
                continue
            if index not in self._cars:
                car = _car(planned)
                self._cars[index] = (CarPictures(car, self.camera), plate_levels(car))
            pictures, levels = self._cars[index]
            present.append(Presence(pictures, levels, y, planned.velocity_m_s))
        return present

    def _true_pass(self, planned: PlannedPass) -> TruePass | None:
        visible: list[tuple[float, float, float]] = []
        layout = planned.pose.layout
        for index in range(self.frame_count):
            corners = self.plate_corners(planned, index / FPS)
            if corners is None:
                continue
            across = float(np.linalg.norm(corners[1] - corners[0]))
            if across >= VISIBLE_WIDTH_SHARE * self.options.width_px:
                tall = float(np.linalg.norm(corners[3] - corners[0]))
                letter = tall * layout.lettering.height_mm / layout.height_mm
                visible.append((index / FPS, across, letter))
        if not visible:
            return None
        readable = [time for time, _, letter in visible if letter >= READABLE_LETTER_PX]
        widths = [across for _, across, _ in visible]
        return TruePass(
            plate=planned.number.text,
            country=layout.country,
            layout=layout.code,
            heading=planned.pose.heading.value,
            light=planned.light.value,
            first_visible_s=visible[0][0],
            last_visible_s=visible[-1][0],
            readable_from_s=readable[0] if readable else None,
            readable_to_s=readable[-1] if readable else None,
            min_width_px=round(min(widths)),
            max_width_px=round(max(widths)),
        )


def _car(planned: PlannedPass) -> Car:
    rng = np.random.default_rng(planned.wear_seed)
    plate = render_plate(planned.pose.layout, planned.number, rng)
    return build_car(planned.pose, planned.style, plate, planned.light)
