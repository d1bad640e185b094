"""The small pure parts: boxes, texts, votes, zones, crops, the frame cache."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.edits import edit_distance
from contracts.frames import Box, FrameReference, Point, Zone, ZoneKind
from recognition.images import decode_image
from streams.recognition.boxes import distance_in_widths, moved, overlap, touches_edge
from streams.recognition.crops import cut_crop
from streams.recognition.frame_cache import FrameCache
from streams.recognition.texts import is_part, likeness
from streams.recognition.votes import add_reading, voted_probabilities, voted_text
from streams.recognition.zones import contains, in_zones
from tests.unit.streams.recognition.builders import reading
from tests.unit.streams.recognition.pictures import picture

BOX = Box(x=100, y=100, width=100, height=20)
texts = st.text("AB12", max_size=6)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(0, 0, 1.0), (50, 0, 1 / 3), (100, 0, 0.0), (0, 30, 0.0), (0, 10, 1 / 3)],
)
def test_overlap(x: float, y: float, expected: float) -> None:
    assert overlap(BOX, moved(BOX, x, y)) == pytest.approx(expected)


def test_distance_is_in_widths_of_the_wider_box() -> None:
    wide = Box(x=100, y=200, width=200, height=20)
    assert distance_in_widths(BOX, wide) == pytest.approx(math.hypot(50, 100) / 200)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        (Box(x=500, y=500, width=100, height=20), False),
        (Box(x=5, y=500, width=100, height=20), True),
        (Box(x=500, y=3, width=100, height=20), True),
        (Box(x=1815, y=500, width=100, height=20), True),
        (Box(x=500, y=1055, width=100, height=20), True),
    ],
    ids=["inside", "left", "top", "right", "bottom"],
)
def test_touches_edge(box: Box, expected: bool) -> None:
    assert touches_edge(box, 1920, 1080) is expected
    assert not touches_edge(box, 0, 0)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("", "", 0), ("AB", "", 2), ("AB123CD", "AB128CD", 1), ("AB123", "B123", 1), ("AB", "BA", 2)],
)
def test_edit_distance(one: str, other: str, expected: int) -> None:
    assert edit_distance(one, other) == expected


@given(texts, texts, texts)
def test_edit_distance_is_a_metric(one: str, two: str, three: str) -> None:
    assert edit_distance(one, two) == edit_distance(two, one)
    assert (edit_distance(one, two) == 0) == (one == two)
    assert edit_distance(one, three) <= edit_distance(one, two) + edit_distance(two, three)
    assert 0 <= likeness(one, two) <= 1


def test_a_piece_is_part() -> None:
    assert is_part("123CD", "AB123CD")
    assert not is_part("AB124", "AB123CD")


def test_vote_goes_by_character_over_readings_of_one_length() -> None:
    votes = add_reading((), reading("AB123CD", 0.9))
    votes = add_reading(votes, reading("AB127CD", 0.6))
    votes = add_reading(votes, reading("AX123CD", 0.6))
    votes = add_reading(votes, reading("B123CD", 0.95))
    assert voted_text(votes) == "AB123CD"
    probabilities = voted_probabilities(votes, "AB123CD")
    weights = 0.9**3 + 2 * 0.6**3
    assert probabilities[0] == pytest.approx((0.9**4 + 2 * 0.6**4) / weights)
    assert probabilities[1] == pytest.approx((0.9**4 + 0.6**4) / weights, abs=0.01)


def test_length_with_most_weight_wins() -> None:
    votes = add_reading((), reading("AB123CD", 0.99))
    votes = add_reading(votes, reading("B123CD", 0.8))
    assert voted_text(votes) == "AB123CD"
    votes = add_reading(votes, reading("B123CD", 0.8))
    assert voted_text(votes) == "B123CD"


def test_a_sure_reading_outweighs_unsure_ones() -> None:
    votes = add_reading((), reading("AB723CD", 0.95))
    for _ in range(3):
        votes = add_reading(votes, reading("AB123CD", 0.5))
    assert voted_text(votes) == "AB723CD"
    assert min(voted_probabilities(votes, "AB723CD")) > 0.6


def test_a_reading_of_no_confidence_has_next_to_no_say() -> None:
    votes = add_reading((), reading("AB123CD", 0.0))
    assert voted_probabilities(votes, "AB123CD") == (0.0,) * 7
    votes = add_reading(votes, reading("AB723CD", 0.5))
    assert voted_text(votes) == "AB723CD"


@given(st.lists(st.tuples(st.sampled_from(["AB1", "AB2", "XB1", "AB"]), st.floats(0.1, 1.0))))
def test_votes_are_probabilities_of_a_text_that_can_be(
    said: list[tuple[str, float]],
) -> None:
    votes = add_reading((), reading("AB1", 0.5))
    for text, confidence in said:
        votes = add_reading(votes, reading(text, confidence))
    winner = voted_text(votes)
    assert all(0 <= p <= 1 for p in voted_probabilities(votes, winner))
    assert len(voted_probabilities(votes, "AB1")) == 3


SQUARE = (Point(x=0.2, y=0.2), Point(x=0.8, y=0.2), Point(x=0.8, y=0.8), Point(x=0.2, y=0.8))
INCLUDE = Zone(kind=ZoneKind.INCLUDE, points=SQUARE)
EXCLUDE = Zone(kind=ZoneKind.EXCLUDE, points=SQUARE)
INNER = tuple(Point(x=0.4 + 0.2 * x, y=0.4 + 0.2 * y) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))


@pytest.mark.parametrize(
    ("zones", "inside", "outside"),
    [
        ((), True, True),
        ((INCLUDE,), True, False),
        ((EXCLUDE,), False, True),
        ((INCLUDE, Zone(kind=ZoneKind.EXCLUDE, points=INNER)), False, False),
    ],
    ids=["none", "include", "exclude", "hole"],
)
def test_zones(zones: tuple[Zone, ...], inside: bool, outside: bool) -> None:
    middle, corner = reading("MIDDLE1", x=450, y=485), reading("CORNER1", x=0, y=0)
    found = in_zones([middle, corner], zones, 1000, 1000)
    assert (middle in found, corner in found) == (inside, outside)


def test_a_zone_may_be_bent() -> None:
    bent = tuple(
        Point(x=x, y=y) for x, y in ((0, 0), (1, 0), (1, 1), (0.6, 1), (0.6, 0.4), (0, 0.4))
    )
    assert contains(bent, Point(x=0.2, y=0.2))
    assert contains(bent, Point(x=0.8, y=0.9))
    assert not contains(bent, Point(x=0.2, y=0.8))


def test_crop_is_the_plate_with_a_margin() -> None:
    crop = cut_crop(picture(), Box(x=800, y=500, width=120, height=30))
    assert crop is not None
    image = decode_image(crop)
    assert image.shape[1] == pytest.approx(120 * 1.3, abs=2)
    assert image[image.shape[0] // 2, image.shape[1] // 2].min() > 240


@pytest.mark.parametrize("x", [-50, 1900, 5000])
def test_crop_at_the_edge_is_never_empty(x: float) -> None:
    crop = cut_crop(picture(), Box(x=x, y=500, width=120, height=30))
    assert crop is not None
    assert decode_image(crop).size


def test_no_crop_of_what_is_no_picture() -> None:
    assert cut_crop(b"nothing", BOX) is None


CAR = b"camera"


def place(offset: int) -> FrameReference:
    return FrameReference(partition=0, offset=offset)


def test_cache_lets_the_oldest_go() -> None:
    cache = FrameCache(10)
    for offset in range(4):
        cache.put(CAR, place(offset), b"1234")
    assert [cache.get(place(n)) is not None for n in range(4)] == [False, False, True, True]
    assert cache.size_bytes == 8


def test_cache_takes_a_frame_again() -> None:
    cache = FrameCache(10)
    cache.put(CAR, place(1), b"1234")
    cache.put(CAR, place(1), b"123456")
    assert cache.get(place(1)) == b"123456"
    assert cache.size_bytes == 6


def test_cache_does_not_keep_what_is_larger_than_itself() -> None:
    cache = FrameCache(3)
    cache.put(CAR, place(1), b"1234")
    assert cache.get(place(1)) is None
    assert cache.size_bytes == 0


def test_cache_lets_go_of_a_camera_s_frames_that_are_not_needed() -> None:
    cache = FrameCache(100)
    for offset in range(5):
        cache.put(CAR, place(offset), b"1234")
    cache.put(b"other", place(9), b"1234")
    cache.keep_only(CAR, {place(1)}, up_to=place(3))
    kept = [n for n in range(10) if cache.get(place(n)) is not None]
    assert kept == [1, 4, 9]
    assert cache.size_bytes == 12
    cache.keep_only(b"nobody", (), up_to=place(3))
