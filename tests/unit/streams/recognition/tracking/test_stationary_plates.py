"""A parked car's plate is suppressed while the car is there, even if hidden, and no longer."""

from collections.abc import Callable, Iterator
from itertools import count

import msgspec
import pytest

from common.records.frames import Box, FrameKind
from common.records.recognitions import FollowedPlate, FrameReadings
from recognition.scene import scene_view
from recognition.types import BgrImage
from streams.recognition.tracking.stationary_plates import is_empty
from tests.unit.streams.recognition.builders import RULES, frame, plates, play, reading
from tests.unit.streams.recognition.tracking.drawn_street import (
    HEIGHT,
    PLATE,
    WIDTH,
    Street,
    with_headlights,
    with_lorry,
    with_passer,
)

SIZE = (WIDTH, HEIGHT)
SEEDS = (1, 2, 3)
HOUR_S = 3_600


class Film:
    """The successive frames of a camera."""

    def __init__(self, street: Street) -> None:
        self.street = street
        self.seconds = 0.0
        self.frames: list[FrameReadings] = []
        self._offsets = count()

    def show(
        self,
        draw: Callable[[int], BgrImage],
        *,
        seconds: float,
        every: float = 1.0,
        plate: Box | None = None,
    ) -> None:
        """Show the images of ``draw`` by frame number. Without ``plate``, nothing is read."""
        for number in range(int(seconds / every)):
            seen = [] if plate is None else [self._reading(plate)]
            self._add(FrameKind.FRAME, every, seen, scene_view(draw(number)))

    def stand(self, plate: Box = PLATE, seconds: float = 8) -> None:
        """Show a parked car in daylight, whose plate is read."""
        street = self.street
        self.show(
            lambda _: street.lit(street.with_car(plate)), seconds=seconds, every=0.5, plate=plate
        )

    def wait(self, seconds: float, *, still: bool) -> None:
        """Send ticks for some time."""
        for _ in range(int(seconds)):
            self._add(FrameKind.TICK, 1.0, [], b"", still=still)

    def pause(self, seconds: float) -> None:
        """Send nothing for some time."""
        self.seconds += seconds

    def passes(self) -> list[str]:
        """Return the plates of the recognised passes."""
        self.wait(5, still=False)
        return plates(play(self.frames)[1])

    def _reading(self, plate: Box) -> object:
        return msgspec.structs.replace(reading("AB123CD"), box=plate)

    def _add(
        self, kind: FrameKind, every: float, seen: list[object], view: bytes, *, still: bool = False
    ) -> None:
        made = frame(next(self._offsets), round(self.seconds * 1000), seen, kind=kind)  # type: ignore[arg-type]
        self.frames.append(
            msgspec.structs.replace(made, width_px=WIDTH, height_px=HEIGHT, view=view, still=still)
        )
        self.seconds += every


@pytest.fixture(params=SEEDS)
def street(request: pytest.FixtureRequest) -> Street:
    return Street(request.param)


@pytest.fixture
def film(street: Street) -> Film:
    return Film(street)


def looks_empty(street: Street, image: BgrImage) -> bool:
    with_plate = scene_view(street.lit(street.with_car()))
    return is_empty(with_plate, scene_view(image), PLATE, SIZE)


@pytest.mark.parametrize("gain", [1.3, 1.0, 0.8, 0.6])
def test_a_place_is_empty_once_its_car_is_gone(street: Street, gain: float) -> None:
    assert looks_empty(street, street.lit(street.empty(), gain))
    assert not looks_empty(street, street.lit(street.with_car(), gain))


def _hidden(street: Street) -> Iterator[BgrImage]:
    black, car = street.empty() * 0, street.with_car()
    yield street.lit(black)
    yield street.lit(black + 128)
    yield street.lit(black + 255)
    for gain in (0.5, 0.3, 0.2, 0.1, 0.05):
        yield street.lit(car, gain)
    yield street.lit(street.empty(), 0.1)
    for x in range(0, WIDTH, 60):
        yield with_headlights(street.lit(car, 0.15), x)
        yield with_passer(street.lit(car), x)
    yield street.lit(with_lorry(car))


def test_a_place_that_cannot_be_seen_is_not_empty(street: Street) -> None:
    judged = [looks_empty(street, image) for image in _hidden(street)]
    assert judged == [False] * len(judged)


def test_a_car_that_left_comes_out_the_next_morning(film: Film, street: Street) -> None:
    film.stand()
    film.show(lambda _: street.lit(street.empty()), seconds=50)
    film.show(lambda _: street.lit(street.empty(), 0.05), seconds=9 * HOUR_S, every=600)
    film.stand()
    assert film.passes() == ["AB123CD"] * 2


def test_a_car_that_left_comes_out_where_nothing_else_moved(film: Film, street: Street) -> None:
    film.stand()
    film.show(lambda _: street.lit(street.empty()), seconds=3, every=0.5)
    film.wait(60, still=True)
    film.pause(9 * HOUR_S)
    film.stand()
    assert film.passes() == ["AB123CD"] * 2


def test_an_unavailable_camera_saw_no_empty_space(film: Film, street: Street) -> None:
    film.stand()
    film.show(lambda _: street.lit(street.empty()), seconds=3, every=0.5)
    film.wait(60, still=False)
    film.pause(HOUR_S)
    film.show(lambda _: street.lit(street.empty()), seconds=3)
    film.stand()
    assert film.passes() == ["AB123CD"]


def test_a_place_that_was_empty_for_a_moment_only_says_nothing(film: Film, street: Street) -> None:
    film.stand()
    for _ in range(3):
        film.show(lambda _: street.lit(street.empty()), seconds=40)
        film.show(lambda _: street.lit(street.with_car()), seconds=2)
    film.stand()
    assert film.passes() == ["AB123CD"]


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_plate_that_is_followed_is_in_its_place(
    film: Film, street: Street, is_followed: bool
) -> None:
    film.stand()
    film.wait(5, still=False)
    film.show(lambda _: street.lit(street.empty()), seconds=1)
    plate = FollowedPlate(track="of no matter", box=PLATE)
    followed = (plate,) if is_followed else ()
    film.frames[-1] = msgspec.structs.replace(film.frames[-1], followed=followed)
    (suppressed,) = play(film.frames)[0].suppressed
    assert (suppressed.empty_since_ms is None) is is_followed


@pytest.mark.parametrize("cover", [0, 128, 255], ids=["black", "grey", "white"])
def test_stationary_plates_stay_suppressed_while_the_camera_is_covered(
    film: Film, street: Street, cover: int
) -> None:
    film.stand()
    film.show(lambda _: street.lit(street.empty() * 0 + cover), seconds=300)
    film.stand()
    film.show(lambda _: street.lit(with_lorry(street.with_car())), seconds=600, every=2)
    film.stand()
    assert film.passes() == ["AB123CD"]


def test_a_car_that_is_parked_for_a_day_is_one_recognition(film: Film, street: Street) -> None:
    car = street.with_car()

    def by_light(first: float, last: float, frames: int) -> Callable[[int], BgrImage]:
        return lambda number: street.lit(car, first + (last - first) * number / frames)

    film.stand(seconds=40)
    # By day, the plate is read at times, with pedestrians in front of it.
    for hour in range(6):
        film.show(
            lambda number: with_passer(street.lit(car, 0.9), 20 * number), seconds=60, every=2
        )
        film.pause(HOUR_S / 2)
        film.stand(seconds=4 + hour % 2)
    # At dusk and dawn, the plate is visible but not read.
    film.show(by_light(1, 0.02, 200), seconds=1600, every=8)
    film.show(lambda number: street.lit(car, 0.03), seconds=2 * HOUR_S, every=120)
    for _ in range(4):
        film.show(
            lambda number: with_headlights(street.lit(car, 0.05), 20 * number), seconds=60, every=2
        )
        film.pause(HOUR_S)
    film.show(by_light(0.02, 1.1, 200), seconds=1600, every=8)
    film.stand()
    assert film.passes() == ["AB123CD"]


def test_what_was_seen_of_a_place_is_noted_seldom(film: Film, street: Street) -> None:
    film.stand()
    film.wait(5, still=False)
    state, _ = play(film.frames)
    film.frames.clear()
    film.show(lambda _: street.lit(street.empty()), seconds=40, every=0.2)
    written = 0
    for each in film.frames:
        after = state.apply_frame(each, RULES).state
        written += after is not state
        state = after
    assert 0 < written <= 40 / 5 + 1
