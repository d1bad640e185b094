"""Road scenes: deterministic, true to their truth, decodable."""

from pathlib import Path

import av
import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from tools.synthetic.plates import render_plate
from tools.synthetic.road import LightPlan, RoadScene, RoadSceneOptions, SceneTruth
from tools.synthetic.shading import Light
from tools.synthetic.traffic import plan_traffic

SMALL = RoadSceneOptions(3, 5, 12.0, LightPlan.DAY, 960, 540)
TINY = RoadSceneOptions(2, 5, 10.0, LightPlan.DUSK, 320, 180)


@pytest.fixture(scope="module")
def scene() -> RoadScene:
    return RoadScene(SMALL)


def test_same_seed_gives_the_same_scene_and_frames_in_any_order() -> None:
    first, second = RoadScene(TINY), RoadScene(TINY)

    assert first.timetable == second.timetable
    forwards = {index: first.planes(index) for index in (60, 61, 100)}
    backwards = {index: second.planes(index) for index in (100, 61, 60)}
    assert all(np.array_equal(forwards[index], backwards[index]) for index in forwards)


def test_another_seed_gives_other_plates() -> None:
    first, second = (
        plan_traffic(10, None, LightPlan.MIXED, np.random.default_rng(seed)) for seed in (1, 2)
    )

    assert {p.number.text for p in first.passes} != {p.number.text for p in second.passes}


@pytest.mark.parametrize("seed", range(5))
def test_plates_of_a_scene_differ_and_most_layouts_appear(seed: int) -> None:
    timetable = plan_traffic(24, None, LightPlan.MIXED, np.random.default_rng(seed))

    assert len({p.number.text for p in timetable.passes}) == 24
    assert len({p.pose.layout.code for p in timetable.passes}) >= 12


def test_default_scene_is_readable_for_a_second_a_pass_by_day_and_at_dusk() -> None:
    truth = RoadScene(RoadSceneOptions()).truth()

    assert len(truth.passes) == 24
    assert 75 <= truth.duration_s <= 100
    assert {p.light for p in truth.passes} == {"day", "dusk"}
    for true in truth.passes:
        assert true.readable_from_s is not None
        assert true.readable_to_s is not None
        assert true.readable_to_s - true.readable_from_s >= 1.0
        assert true.first_visible_s <= true.readable_from_s
        assert true.readable_to_s <= true.last_visible_s


@pytest.mark.parametrize("seed", range(5))
def test_road_is_empty_for_seconds_while_night_falls(seed: int) -> None:
    timetable = plan_traffic(24, None, LightPlan.MIXED, np.random.default_rng(seed))

    day = [p for p in timetable.passes if p.light is Light.DAY]
    dusk = [p for p in timetable.passes if p.light is Light.DUSK]
    empty_from = max(p.gone_at_s for p in day)
    assert min(p.seen_from_s for p in dusk) - empty_from >= 5.9
    assert timetable.dusk_share(empty_from) == 0
    assert timetable.dusk_share(empty_from + 5) == 1
    assert max(p.meets_at_s for p in timetable.passes) < timetable.duration_s - 2


def test_plate_pixels_are_where_the_truth_says(scene: RoadScene) -> None:
    for planned, true in zip(scene.timetable.passes, scene.truth().passes, strict=True):
        near_s = true.first_visible_s if planned.pose.rear else true.last_visible_s
        _, frame = next(scene.frames(round(near_s * 25)))
        corners = scene.plate_corners(planned, near_s)
        assert corners is not None
        seen = _straightened(frame, corners)
        rng = np.random.default_rng(planned.wear_seed)
        drawn = render_plate(planned.pose.layout, planned.number, rng).image
        similarity = np.corrcoef(_small(seen), _small(drawn))[0, 1]
        assert similarity > 0.75, true.plate


def test_nothing_is_seen_of_a_pass_outside_its_time(scene: RoadScene) -> None:
    planned = scene.timetable.passes[0]

    assert scene.plate_corners(planned, planned.meets_at_s + 30) is None
    assert scene.plate_corners(planned, planned.meets_at_s - 30) is None


def test_too_many_passes_for_the_time_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        RoadScene(RoadSceneOptions(passes=40, duration_s=12.0))


def test_command_writes_a_clip_that_decodes_and_its_truth(tmp_path: Path) -> None:
    import typer

    from tools.synthetic.road import main

    app = typer.Typer()
    app.command()(main)
    clip, truth = tmp_path / "clip.mp4", tmp_path / "passes.json"
    asked = ["--passes", "0", "--duration", "2", "--light", "dusk", "--size", "320x180"]

    result = CliRunner().invoke(app, ["--out", str(clip), "--truth", str(truth), *asked])

    assert result.exit_code == 0, result.output
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        packets = [packet for packet in container.demux(stream) if packet.size]
        keys = [packet.pts for packet in packets if packet.is_keyframe]
        assert stream.average_rate == 25
        times = [packet.pts or 0 for packet in packets]
        assert times == sorted(times)
        assert (len(packets), len(keys)) == (50, 2)
    with av.open(str(clip)) as container:
        frames = list(container.decode(video=0))
    assert [(f.width, f.height) for f in frames] == [(320, 180)] * 50
    written = msgspec.json.decode(truth.read_bytes(), type=SceneTruth)
    assert (written.fps, written.duration_s, written.passes) == (25, 2.0, ())
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["clip.mp4", "passes.json"]


def _straightened(
    frame: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
    corners: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    import cv2

    target = np.array([(0, 0), (96, 0), (96, 24), (0, 24)], dtype=np.float32)
    move = cv2.getPerspectiveTransform(corners.astype(np.float32), target)
    return np.asarray(cv2.warpPerspective(frame, move, (96, 24)), dtype=np.uint8)


def _small(
    image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    import cv2

    small = cv2.resize(image, (48, 12), interpolation=cv2.INTER_AREA)
    grey: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.asarray(small).mean(axis=2)
    return grey.ravel()
