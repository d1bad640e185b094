"""Which parts of a frame are said to differ from what was sent before."""

import numpy as np
import pytest

from common.records.frames import Box
from ingest.capture.changes import ChangedParts
from ingest.capture.sampling import GreyImage

WIDTH_PX, HEIGHT_PX = 1780, 1000


def grey(*spots: tuple[int, int, int, int], brightness: int = 200) -> GreyImage:
    """A grey road, 178 x 100, with brighter spots: left, top, width, height."""
    image = np.full((100, 178), 100, np.uint8)
    for left, top, width, height in spots:
        image[top : top + height, left : left + width] = brightness
    return image


def sent(changes: ChangedParts, image: GreyImage) -> tuple[Box, ...] | None:
    return changes.sent(image, WIDTH_PX, HEIGHT_PX)


@pytest.fixture
def changes() -> ChangedParts:
    changes = ChangedParts()
    assert sent(changes, grey()) is None
    return changes


def test_where_nothing_changed_there_is_no_part(changes: ChangedParts) -> None:
    assert sent(changes, grey()) == ()


def test_a_part_has_room_around_it_and_is_in_pixels_of_the_frame(changes: ChangedParts) -> None:
    # Joined by two pixels, and four of room.
    assert sent(changes, grey((50, 40, 10, 6))) == (Box(x=440, y=340, width=220, height=180),)


def test_what_moved_changed_where_it_was_and_where_it_is(changes: ChangedParts) -> None:
    sent(changes, grey((20, 40, 10, 6)))
    parts = sent(changes, grey((120, 40, 10, 6)))
    assert parts is not None
    assert sorted(part.x for part in parts) == [140, 1140]
    assert sent(changes, grey((120, 40, 10, 6))) == ()


def test_noise_and_specks_are_no_change(changes: ChangedParts) -> None:
    noise = np.random.default_rng(1).integers(-3, 4, (100, 178))
    assert sent(changes, (grey((50, 50, 1, 1)) + noise).astype(np.uint8)) == ()


def test_a_slow_change_adds_up(changes: ChangedParts) -> None:
    found = [sent(changes, grey((50, 40, 10, 6), brightness=100 + n)) for n in range(12)]
    assert [bool(parts) for parts in found] == [False] * 9 + [True] + [False] * 2


def test_many_parts_are_told_as_one(changes: ChangedParts) -> None:
    spots = [(20 * column, 30 * row, 4, 4) for column in range(5) for row in range(2)]
    assert sent(changes, grey(*spots)) == (Box(x=0, y=0, width=900, height=400),)


def test_another_size_and_a_new_connection_are_new_everywhere(changes: ChangedParts) -> None:
    assert sent(changes, np.full((100, 133), 100, np.uint8)) is None
    assert sent(changes, grey()) is None
    changes.reset()
    assert sent(changes, grey()) is None
