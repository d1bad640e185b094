"""Frames of any size, and boxes of any size and position, in planning and tracking."""

import random
from uuid import UUID

import pytest
from msgspec.structs import replace

from common.records.counts import CaptureCounts
from common.records.frames import Box, FrameKind, FrameMeta
from common.records.recognitions import FollowedPlate, PlateReading
from recognition.scene import scene_view
from streams.recognition.reading.analysis_plan import plan_analysis
from streams.recognition.tracking.state import TrackerState
from tests.odd_images import noise
from tests.unit.streams.recognition.builders import OWNER, RULES, START_MS, frame, reading

VIEWS = {
    size: scene_view(noise(*size))
    for size in ((1, 1), (2, 2), (16, 9), (1920, 1080), (1920, 2), (1, 9_000))
}
FRAMES = 30


@pytest.mark.timeout(30)
@pytest.mark.parametrize("seed", range(30))
def test_a_camera_whose_size_changes_is_tracked_without_an_error(seed: int) -> None:
    chance = random.Random(seed)
    state = TrackerState()
    size, stays = (1920, 1080), Box(x=1900, y=500, width=20, height=0)
    for number in range(FRAMES):
        if chance.random() < 0.2:
            size = chance.choice(list(VIEWS))
            stays = _box(chance, *size)
        plan_analysis(_meta(number, size), state, RULES.end_ms)
        boxes = [stays, *(_box(chance, *size) for _ in range(chance.randrange(2)))]
        texts = ("AB123CD", "AB123CO", "XY987ZW", "A")
        seen = replace(
            frame(number, 200 * number, [_reading(chance.choice(texts), box) for box in boxes]),
            width_px=size[0],
            height_px=size[1],
            view=VIEWS[size],
            followed=tuple(
                FollowedPlate(track=track.name, box=_box(chance, *size))
                for track in state.tracks[:1]
            ),
        )
        state = state.apply_frame(seen, RULES).state
    assert state.last_offset == FRAMES - 1


def _meta(number: int, size: tuple[int, int]) -> FrameMeta:
    return FrameMeta(
        kind=FrameKind.FRAME,
        camera_id=UUID(int=7),
        owner_id=OWNER,
        camera_name="Gate",
        captured_ms=START_MS + 200 * number,
        width_px=size[0],
        height_px=size[1],
        counts=CaptureCounts(since_ms=1, sent=number),
    )


def _box(chance: random.Random, width: int, height: int) -> Box:
    return Box(
        x=chance.choice((0, width, width / 2, -3, chance.uniform(-width, 2 * width))),
        y=chance.choice((0, height, height / 2, -3, chance.uniform(-height, 2 * height))),
        width=chance.choice((0, 1e-9, 0.5, width, chance.uniform(0, width))),
        height=chance.choice((0, 1e-9, 0.5, height, chance.uniform(0, height))),
    )


def _reading(text: str, box: Box) -> PlateReading:
    return replace(reading(text), box=box)
