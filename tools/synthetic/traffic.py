"""A timetable of passing cars, the same for the same seed."""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from tools.synthetic.car_shapes import SHAPES, SUV, VAN, CarShape
from tools.synthetic.car_skins import random_style
from tools.synthetic.car_view import CarStyle
from tools.synthetic.cars import Heading, Pose
from tools.synthetic.ground import CREST_Y_M
from tools.synthetic.layouts import LAYOUTS, Layout
from tools.synthetic.plate_numbers import PlateNumber, random_number
from tools.synthetic.shading import Light

MEETING_Y_M = 20.0
"""Distance at which a car is when its time in the timetable comes."""

_GAP_S = 5.6
_LEAST_GAP_S = 3.4
_LEAD_IN_S = 2.6
_LEAD_OUT_S = 2.4
_FADE_S = 3.5
# No car is in the picture for this long, the fading of the light included.
_EMPTY_S = 6.0
# A car may be in the picture while its place is between these.
_SEEN_Y_M = (1.0, CREST_Y_M + 28.0)
_TALL = (SUV, VAN)


class LightPlan(Enum):
    """The light of a whole scene; mixed begins by day and ends at dusk."""

    DAY = "day"
    DUSK = "dusk"
    MIXED = "mixed"


@dataclass(frozen=True)
class PlannedPass:
    """One car's drive through the picture, at a steady speed."""

    number: PlateNumber
    pose: Pose
    style: CarStyle
    light: Light
    meets_at_s: float
    speed_m_s: float
    wear_seed: int

    @property
    def velocity_m_s(self) -> float:
        """Speed along world y, negative towards the camera."""
        return self.speed_m_s if self.pose.rear else -self.speed_m_s

    def place_at(self, time_s: float) -> float:
        """Return the car's world y at a time, metres."""
        return MEETING_Y_M + self.velocity_m_s * (time_s - self.meets_at_s)

    @property
    def seen_from_s(self) -> float:
        """When the car may first be in the picture."""
        return self.meets_at_s - self._way_m(not self.pose.rear) / self.speed_m_s

    @property
    def gone_at_s(self) -> float:
        """When the car is surely out of the picture."""
        return self.meets_at_s + self._way_m(self.pose.rear) / self.speed_m_s

    def _way_m(self, far: bool) -> float:
        return _SEEN_Y_M[1] - MEETING_Y_M if far else MEETING_Y_M - _SEEN_Y_M[0]


@dataclass(frozen=True)
class Timetable:
    """All passes in order of time, and when daylight fades (None where it does not)."""

    passes: tuple[PlannedPass, ...]
    duration_s: float
    plan: LightPlan
    fade_from_s: float | None

    def dusk_share(self, time_s: float) -> float:
        """Return how dark it is at a time, 0 (day) to 1 (dusk)."""
        if self.plan is not LightPlan.MIXED or self.fade_from_s is None:
            return 1.0 if self.plan is LightPlan.DUSK else 0.0
        return min(1.0, max(0.0, (time_s - self.fade_from_s) / _FADE_S))


def plan_traffic(
    passes: int, duration_s: float | None, plan: LightPlan, rng: np.random.Generator
) -> Timetable:
    """Return a timetable of `passes` cars with different plates.

    Where light and duration leave room, the road is empty for some seconds at nightfall.
    Raises ValueError if the passes do not fit into the duration.
    """
    by_day = {LightPlan.DAY: passes, LightPlan.DUSK: 0}.get(plan, round(passes * 0.6))
    pause = _pause(duration_s) if 0 < by_day < passes else 0.0
    length, step = _spread(passes, duration_s, pause)
    planned: list[PlannedPass] = []
    for index, (heading, layout) in enumerate(_layouts(passes, by_day, rng)):
        light = Light.DAY if index < by_day else Light.DUSK
        at = _LEAD_IN_S + (index + float(rng.uniform(-0.12, 0.12))) * step
        at += pause if light is Light.DUSK else 0.0
        taken = {other.number.text for other in planned}
        planned.append(_pass(layout, heading, light, at, taken, rng))
    day, dusk = planned[:by_day], planned[by_day:]
    if not (day and dusk):
        return Timetable(tuple(planned), length, plan, None)
    if duration_s is None:
        later = max(p.gone_at_s for p in day) + _EMPTY_S - min(p.seen_from_s for p in dusk)
        dusk = [replace(p, meets_at_s=p.meets_at_s + later) for p in dusk]
        length += later
    fade = max(p.gone_at_s for p in day) if duration_s is None else day[-1].meets_at_s + 2.0
    return Timetable((*day, *dusk), length, plan, fade)


def _pause(duration_s: float | None) -> float:
    """How long night takes to fall, until it is known when the last car is gone."""
    return 0.0 if duration_s is None else min(_FADE_S + 4.0, 0.15 * duration_s)


def _spread(passes: int, duration_s: float | None, pause: float) -> tuple[float, float]:
    """Return the scene's length and the time from one pass to the next (of either lane)."""
    around = _LEAD_IN_S + _LEAD_OUT_S + pause
    if duration_s is None:
        return around + max(0, passes - 1) * _GAP_S / 2, _GAP_S / 2
    step = (duration_s - around) / max(1, passes - 1)
    if passes and (step < 0 or (passes > 1 and step < _LEAST_GAP_S / 2)):
        raise ValueError(f"{passes} passes do not fit into {duration_s} s")
    return duration_s, min(step, 2 * _GAP_S)


def _layouts(passes: int, by_day: int, rng: np.random.Generator) -> list[tuple[Heading, Layout]]:
    """Deal the layouts out to both lanes in turn, all of a lane before any comes again.

    The last car by day comes towards us and the first at dusk from behind us: both are in the
    picture for a short while only, so that the road is soon empty between them.
    """
    decks: dict[Heading, list[Layout]] = {heading: [] for heading in Heading}
    dealt = []
    for index in range(passes):
        heading = Heading.AWAY if (by_day - index) % 2 == 0 else Heading.TOWARDS
        if not decks[heading]:
            fitting = [layout for layout in LAYOUTS if _fits(layout, heading)]
            decks[heading] = [fitting[i] for i in rng.permutation(len(fitting))]
        dealt.append((heading, decks[heading].pop()))
    return dealt


def _fits(layout: Layout, heading: Heading) -> bool:
    if layout.code == "gb_motorcycle":
        return False
    two_rows = len(layout.rows) > 1
    return layout.front and not two_rows if heading is Heading.TOWARDS else layout.rear


def _pass(
    layout: Layout,
    heading: Heading,
    light: Light,
    at: float,
    taken: set[str],
    rng: np.random.Generator,
) -> PlannedPass:
    number = random_number(layout, rng)
    while number.text in taken:
        number = random_number(layout, rng)
    narrow = layout.width_mm < 400
    shape = _shape(layout, rng)
    return PlannedPass(
        number=number,
        pose=Pose(shape, layout, heading, float(rng.uniform(-0.16, 0.16))),
        style=random_style(rng, wheel_left=layout.country != "GB"),
        light=light,
        meets_at_s=at,
        # Small plates come more slowly, so that each is readable for a second or more.
        speed_m_s=float(rng.uniform(10.0, 12.0) if narrow else rng.uniform(11.0, 15.5)),
        wear_seed=int(rng.integers(2**31)),
    )


def _shape(layout: Layout, rng: np.random.Generator) -> CarShape:
    shapes = _TALL if len(layout.rows) > 1 else SHAPES
    return shapes[int(rng.integers(len(shapes)))]
