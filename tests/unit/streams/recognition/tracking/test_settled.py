from collections.abc import Sequence

import msgspec
import pytest

from common.records.frames import Box
from common.records.recognitions import FollowedPlate, FrameReadings, PlateReading
from streams.recognition.tracking.settled import settled_tracks
from streams.recognition.tracking.state import TrackerState
from tests.unit.streams.recognition.builders import RULES, START_MS, frame, plates, play, reading


def seen(*readings: Sequence[PlateReading]) -> TrackerState:
    """Return the state after frames with these readings, at five frames per second."""
    return play(frame(number, 200 * number, each) for number, each in enumerate(readings))[0]


def settled(state: TrackerState, ms: int) -> list[str]:
    return [track.leading.text for track in settled_tracks(state, START_MS + ms)]


def followed(
    offset: int, ms: int, state: TrackerState, x: float, width: float = 120
) -> FrameReadings:
    box = Box(x=x, y=500, width=width, height=width / 4)
    plate = FollowedPlate(track=state.tracks[0].name, box=box)
    return msgspec.structs.replace(frame(offset, ms), followed=(plate,))


SURE = [[reading("AB123CD", x=800 + 30 * number)] for number in range(3)]


@pytest.mark.parametrize(
    "readings",
    [
        SURE[:2],
        [[reading("AB123CD", 0.8)]] * 6,
        [*SURE, *[[reading("AB123CO", x=890)]] * 2],
        [[reading("AB123CD", x=1850)]] * 4,
    ],
    ids=["few", "unsure", "in dispute", "cut by the edge"],
)
def test_a_plate_is_read_until_it_is_settled(readings: list[list[PlateReading]]) -> None:
    assert settled(seen(*readings), 200 * len(readings)) == []


def test_three_sure_readings_that_agree_settle_a_plate() -> None:
    assert settled(seen(*SURE), 600) == ["AB123CD"]


def test_a_settled_plate_is_read_once_a_second() -> None:
    state = seen(*SURE)
    assert settled(state, 1_399) == ["AB123CD"]
    assert settled(state, 1_400) == []


@pytest.mark.parametrize(("width", "is_settled"), [(160.0, True), (170.0, False)])
def test_a_plate_that_came_nearer_is_read_again(width: float, is_settled: bool) -> None:
    state = seen(*SURE)
    state = state.apply_frame(followed(3, 600, state, 890, width), RULES).state
    assert bool(settled(state, 800)) is is_settled


def test_a_plate_that_recedes_is_read_as_often() -> None:
    state = seen(*SURE)
    state = state.apply_frame(followed(3, 600, state, 890, width=80), RULES).state
    assert settled(state, 1_399) == ["AB123CD"]
    assert settled(state, 1_400) == []


def test_what_stood_there_before_is_settled_by_one_reading() -> None:
    stands = [reading("AB123CD")]
    state, passes = play(frame(number, 200 * number, stands) for number in range(76))
    assert plates(passes) == ["AB123CD"]
    assert [track.readings_count for track in state.tracks] == [1]
    assert settled(state, 15_200) == ["AB123CD"]


def test_followed_frames_move_a_track_and_have_no_say_in_its_text() -> None:
    before = seen(*SURE)
    state = before.apply_frame(followed(3, 600, before, 890), RULES).state
    (track,) = state.tracks
    assert (track.readings_count, track.followed_count, track.seen_count) == (3, 1, 4)
    assert (track.last_seen_ms, track.last_box.x) == (START_MS + 600, 890)
    assert track.votes == before.tracks[0].votes
    assert not track.still


def test_a_followed_vehicle_is_one_pass_until_it_was_last_seen() -> None:
    state = seen(*SURE)
    frames = [followed(3 + n, 600 + 200 * n, state, 890 + 30 * n) for n in range(10)]
    after, passes = play([*frames, frame(20, 4_600)], state)
    assert [(p.plate, p.last_seen_ms - START_MS, p.readings_count) for p in passes] == [
        ("AB123CD", 2_400, 3)
    ]
    assert after.tracks == ()


def test_what_is_followed_of_a_track_that_is_over_is_nothing() -> None:
    state = seen(*SURE)
    over, _ = play([frame(3, 3_000)], state)
    assert over.apply_frame(followed(4, 3_200, state, 980), RULES).state.tracks == ()
