"""What is told of passes before they are over."""

from collections.abc import Iterable, Sequence

import msgspec
import pytest
from hypothesis import given, settings

from contracts.alert_records import SightingKind
from contracts.ids import recognition_id
from contracts.records import FrameReadings
from streams.recognition.camera import CameraTracks, advance
from streams.recognition.early import Dismissed
from streams.recognition.passes import Pass
from streams.recognition.recognitions import dismissal_of, recognition_of, sighting_of
from streams.recognition.rules import TrackingRules
from tests.unit.streams.recognition.builders import (
    CAMERA,
    RULES,
    START_MS,
    Drive,
    film,
    frame,
    play,
    reading,
)
from tests.unit.streams.recognition.test_camera import films


def _read(*texts: str, confidence: float = 0.85, step_ms: int = 200) -> list[FrameReadings]:
    """Return frames of one slow vehicle that is read so, and a last one without it."""
    seen = [
        frame(number, number * step_ms, [reading(text, confidence, x=200 + 4 * number)])
        for number, text in enumerate(texts)
    ]
    return [*seen, frame(len(texts), len(texts) * step_ms + 5_000)]


def _watch(
    frames: Iterable[FrameReadings], rules: TrackingRules = RULES
) -> tuple[list[tuple[int, Pass]], list[Pass], list[Dismissed]]:
    """Return what is sighted (with the frame's offset), what passes, what is dismissed."""
    state = CameraTracks()
    sighted: list[tuple[int, Pass]] = []
    passes: list[Pass] = []
    dismissed: list[Dismissed] = []
    for each in frames:
        step = advance(state, each, rules)
        state = step.state
        sighted += [(each.frame.offset, seen) for seen in step.sighted]
        passes += step.passes
        dismissed += step.dismissed
    return sighted, passes, dismissed


def _plates(sighted: Sequence[tuple[int, Pass]]) -> list[tuple[int, str]]:
    return [(offset, seen.plate) for offset, seen in sighted]


def test_the_second_agreeing_reading_is_told_of_and_no_later_one() -> None:
    sighted, passes, dismissed = _watch(_read("AB123CD", "AB128CD", "AB123CD", "AB123CD"))
    assert _plates(sighted) == [(2, "AB123CD")]
    (settled,) = passes
    ((_, seen),) = sighted
    assert [each.plate for each in settled.sighted] == ["AB123CD"]
    assert settled.sighted[0].captured_ms == seen.best.captured_ms
    assert (seen.track, seen.sighted) == (settled.track, ())
    assert dismissed == []


def test_one_sure_reading_makes_a_recognition_but_is_not_told_early() -> None:
    sighted, passes, _ = _watch(_read("AB123CD", confidence=0.97))
    assert (sighted, len(passes)) == ([], 1)


@pytest.mark.parametrize("agreeing", [1, 2, 3])
def test_how_many_must_agree(agreeing: int) -> None:
    rules = TrackingRules(agreeing_readings=agreeing)
    sighted, _, _ = _watch(_read(*["AB123CD"] * 4), rules)
    assert _plates(sighted) == [(max(2, agreeing) - 1, "AB123CD")]


def test_nothing_is_told_where_it_is_switched_off() -> None:
    sighted, passes, _ = _watch(_read("AB123CD", "AB123CD"), TrackingRules(tells_early=False))
    assert sighted == []
    assert passes[0].sighted == ()


def test_what_is_too_unsure_is_not_told() -> None:
    sighted, _, _ = _watch(_read("AB123CD", "AB123CD", confidence=0.45))
    assert sighted == []


def test_a_better_plate_is_told_of_too_and_the_recognition_names_both() -> None:
    texts = ["AB123CD", "AB123CD", *["AB128CD"] * 5]
    sighted, passes, _ = _watch(_read(*texts))
    assert [plate for _, plate in _plates(sighted)] == ["AB123CD", "AB128CD"]
    (settled,) = passes
    assert settled.plate == "AB128CD"
    assert [each.plate for each in settled.sighted] == ["AB123CD", "AB128CD"]
    assert [each.plate for each in sighted[1][1].sighted] == ["AB123CD"]


def test_a_vehicle_that_stays_or_comes_back_soon_is_told_of_once() -> None:
    stays = film([Drive("AB123CD", 0, 40_000, speed_px_s=0)], 60_000)
    sighted, passes, dismissed = _watch(stays)
    assert (len(sighted), len(passes), dismissed) == (1, 1, [])


def test_vehicles_beside_each_other_are_told_of_each() -> None:
    frames = film([Drive("AB123CD", 0, 3000), Drive("XY987ZW", 0, 3000, y_px=900)], 6000)
    sighted, _, _ = _watch(frames)
    assert sorted(seen.plate for _, seen in sighted) == ["AB123CD", "XY987ZW"]


def test_a_second_track_of_a_vehicle_is_not_told_of() -> None:
    """The same plate at two places of a frame: one recognition, and one early telling."""
    frames = [
        frame(n, n * 200, [reading("AB123CD", 0.95, x=100), reading("AB123CD", 0.9, x=1500)])
        for n in range(5)
    ]
    sighted, passes, dismissed = _watch([*frames, frame(5, 6000)])
    assert (len(sighted), len(passes), dismissed) == (1, 1, [])


def test_a_track_that_falls_under_a_silence_is_dismissed_as_what_came_out() -> None:
    texts = ["AB123CD", "AB123CD", "AB9Z3CD", "AB9Z3CD"]
    sighted, passes, dismissed = _watch(_read(*texts, confidence=0.86))
    assert [plate for _, plate in _plates(sighted)] == ["AB123CD", "AB9Z3CD"]
    assert [each.plate for each in passes] == ["AB123CD"]
    ((told, came_out_as),) = [(each.track.sighted, each.came_out_as) for each in dismissed]
    assert ([each.plate for each in told], came_out_as) == (["AB9Z3CD"], "AB123CD")


def test_a_told_pass_that_becomes_too_unsure_is_dismissed() -> None:
    frames = _read(*["AB123CD"] * 2, confidence=0.55)[:-1]
    unsure = [frame(2 + n, 400 + n * 200, [reading("AB123CD", 0.3, x=208)]) for n in range(6)]
    sighted, passes, dismissed = _watch([*frames, *unsure, frame(20, 9000)])
    assert (len(sighted), passes) == (1, [])
    ((track, came_out_as),) = [(each.track, each.came_out_as) for each in dismissed]
    assert [each.plate for each in track.sighted] == ["AB123CD"]
    assert came_out_as is None
    told = dismissal_of(frame(20, 9000), dismissed[0])
    seen = sighting_of(frame(1, 200), sighted[0][1])
    assert (told.kind, seen.kind) == (SightingKind.SETTLED, SightingKind.AGREED)
    assert told.recognition.plate == "AB123CD"
    assert told.recognition.id == seen.recognition.id


def test_a_clock_that_is_set_back_dismisses_and_sights_as_ever() -> None:
    before = _read("AB123CD", "AB123CD")[:-1]
    after = [frame(10 + n, -60_000 + n * 200, [reading("XY987ZW")]) for n in range(2)]
    sighted, passes, _ = _watch([*before, *after])
    assert [plate for _, plate in _plates(sighted)] == ["AB123CD", "XY987ZW"]
    assert [each.plate for each in passes] == ["AB123CD"]


def test_a_sighting_is_a_recognition_without_images_under_its_id() -> None:
    frames = _read("AB123CD", "AB123CD")
    sighted, passes, _ = _watch(frames)
    told = sighting_of(frames[1], sighted[0][1])
    final = recognition_of(frames[2], passes[0], "photo", "crop")
    name = passes[0].track
    assert told.recognition.id == final.id == recognition_id(START_MS, CAMERA, name)
    assert (told.recognition.photo_key, told.recognition.crop_key) == (None, None)
    assert (told.recognition.sighted, final.sighted[0].plate) == ((), "AB123CD")


def test_a_state_of_before_early_alerts_is_read() -> None:
    state, _ = play(_read("AB123CD")[:-1])
    raw = msgspec.json.decode(msgspec.json.encode(state))
    for track in raw["tracks"]:
        del track["sighted"]
    assert msgspec.json.decode(msgspec.json.encode(raw), type=CameraTracks) == state


@settings(max_examples=50, deadline=None)
@given(films)
def test_all_that_is_told_early_is_settled_once(frames: list[FrameReadings]) -> None:
    """Each track that is told of is a pass that names it, or is dismissed, and never both."""
    sighted, passes, dismissed = _watch([*frames, frame(10_000, 100_000)])
    told: dict[str, list[str]] = {}
    for _, seen in sighted:
        assert seen.plate not in told.setdefault(seen.track, [])
        told[seen.track].append(seen.plate)
    settled = {each.track: [told.plate for told in each.sighted] for each in passes if each.sighted}
    gone = {each.track.name: [told.plate for told in each.track.sighted] for each in dismissed}
    assert not settled.keys() & gone.keys()
    assert settled | gone == told
