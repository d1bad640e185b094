"""What is told of passes before they are over."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

import msgspec
import pytest
from hypothesis import given, settings

from contracts.alert_records import SightingKind
from contracts.ids import recognition_id
from contracts.readings import FrameReadings
from streams.recognition.camera import CameraTracks, advance
from streams.recognition.early import Dismissed
from streams.recognition.passes import Pass
from streams.recognition.recognitions import dismissal_of, recognition_of, sighting_of
from streams.recognition.rules import TrackingRules
from streams.recognition.silence import Silence, begin_silence, with_recognitions
from streams.recognition.strays import with_strays
from streams.recognition.tracks import Stray, start_track
from tests.records import recognition
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
        passes += step.ended.passes
        dismissed += step.ended.dismissed
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
    (found,) = dismissed
    assert [each.plate for each in found.stray.sighted] == ["AB9Z3CD"]
    assert found.silence is not None
    assert (found.silence.plate, found.silence.track) == ("AB123CD", passes[0].track)


def test_a_told_pass_that_becomes_too_unsure_is_dismissed() -> None:
    frames = _read(*["AB123CD"] * 2, confidence=0.55)[:-1]
    unsure = [frame(2 + n, 400 + n * 200, [reading("AB123CD", 0.3, x=208)]) for n in range(6)]
    sighted, passes, dismissed = _watch([*frames, *unsure, frame(20, 9000)])
    assert (len(sighted), passes) == (1, [])
    (found,) = dismissed
    assert [each.plate for each in found.stray.sighted] == ["AB123CD"]
    assert found.silence is None
    told = dismissal_of(frame(20, 9000), found, {})
    assert told.came_out is None
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
        del track["strays"]
        del track["sighted"]
    assert msgspec.json.decode(msgspec.json.encode(raw), type=CameraTracks) == state


def _two_lanes(first: Sequence[str], second: Sequence[str]) -> list[FrameReadings]:
    """Return frames of two places of the picture, and what is read there; "" is nothing."""
    return [
        frame(
            number,
            number * 200,
            [
                reading(text, 0.86, x=x + 4 * number, y=y)
                for text, x, y in ((one, 200, 500), (other, 1200, 500))
                if text
            ],
        )
        for number, (one, other) in enumerate(zip_longest(first, second, fillvalue=""))
    ]


def test_what_a_stray_told_is_settled_by_the_vehicle_that_it_was() -> None:
    """A misreading beside a vehicle: what becomes of it is not known before that one is gone."""
    frames = _two_lanes(["AB123CD"] * 30, ["", "AB9Z3CO", "AB9Z3CO"])
    sighted, _, dismissed = _watch(frames)
    assert [seen.plate for _, seen in sighted] == ["AB123CD", "AB9Z3CO"]
    assert dismissed == []
    _, passes, dismissed = _watch([*frames, frame(100, 20_000)])
    (settled,), (found,) = passes, dismissed
    assert (found.stray.name, settled.plate) == (sighted[1][1].track, "AB123CD")
    assert found.silence is not None
    assert found.silence.track == settled.track


def test_what_a_stray_told_is_not_told_again_by_the_track_that_took_it_over() -> None:
    texts = [*["AB123CD"] * 16, *["AB9Z3CO"] * 40]
    frames = _two_lanes(texts, ["", "AB9Z3CO", "AB9Z3CO"])
    sighted, _, _ = _watch(frames)
    assert [seen.plate for _, seen in sighted] == ["AB123CD", "AB9Z3CO"]


def test_strays_beyond_a_bound_are_settled_at_once() -> None:
    frame_of = frame(0, 0, [reading("AB123CD")])
    host = start_track(frame_of, 0)
    stray = Stray(name="s", first_seen_ms=1, last_seen_ms=1, readings_count=2, sighted=())
    told = tuple(msgspec.structs.replace(stray, name=str(number)) for number in range(20))

    (after,), too_many = with_strays((host,), 0, told)

    assert (*after.strays, *too_many) == told
    assert len(after.strays) == 16


def test_only_the_recognitions_of_what_was_seen_last_are_remembered() -> None:
    track = start_track(frame(0, 0, [reading("AB123CD")]), 0)
    silences: tuple[Silence, ...] = ()
    made = recognition(1)
    for number in range(40):
        seen = msgspec.structs.replace(track, name=str(number), last_seen_ms=number)
        silences = with_recognitions(begin_silence(silences, seen, "AB1"), {seen.name: made})
    known = [each.track for each in silences if each.recognition is not None]
    assert sorted(map(int, known)) == list(range(8, 40))


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
    gone = {each.stray.name: [told.plate for told in each.stray.sighted] for each in dismissed}
    assert len(gone) == len(dismissed)
    assert not settled.keys() & gone.keys()
    assert settled | gone == told
