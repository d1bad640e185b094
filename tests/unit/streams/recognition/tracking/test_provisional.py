"""Passes that are reported before they end."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

import msgspec
import pytest
from hypothesis import given, settings

from common.records.alerts import ProvisionalKind
from common.records.frames import Box
from common.records.ids import recognition_id
from common.records.recognitions import FrameReadings
from streams.recognition.tracking.agent import provisional_of, recognition_of, retraction_of
from streams.recognition.tracking.passes import Pass, TrackingRules
from streams.recognition.tracking.provisional import Retracted
from streams.recognition.tracking.state import TrackerState, with_published
from streams.recognition.tracking.suppression import (
    SuppressedPlate,
    suppress,
    with_fragments,
    with_recognitions,
)
from streams.recognition.tracking.tracks import ReportedTrack, start_track
from tests.records import recognition
from tests.unit.streams.recognition.builders import (
    CAMERA,
    RULES,
    START_MS,
    Drive,
    film,
    frame,
    reading,
)
from tests.unit.streams.recognition.tracking.test_state import films


def _read(*texts: str, confidence: float = 0.85, step_ms: int = 200) -> list[FrameReadings]:
    """Return frames of a slow vehicle with these readings, and a last frame without the vehicle."""
    seen = [
        frame(number, number * step_ms, [reading(text, confidence, x=200 + 4 * number)])
        for number, text in enumerate(texts)
    ]
    return [*seen, frame(len(texts), len(texts) * step_ms + 5_000)]


def _watch(
    frames: Iterable[FrameReadings], rules: TrackingRules = RULES
) -> tuple[list[tuple[int, Pass]], list[Pass], list[Retracted]]:
    """Return reported passes with the frame's offset, ended passes, and withdrawn tracks."""
    state = TrackerState()
    reported: list[tuple[int, Pass]] = []
    passes: list[Pass] = []
    retracted: list[Retracted] = []
    for each in frames:
        step = state.apply_frame(each, rules)
        state = step.state
        reported += [(each.frame.offset, seen) for seen in step.reported]
        passes += step.ended.passes
        retracted += step.ended.retracted
    return reported, passes, retracted


def _plates(reported: Sequence[tuple[int, Pass]]) -> list[tuple[int, str]]:
    return [(offset, seen.plate) for offset, seen in reported]


def test_the_second_agreeing_reading_is_reported_and_no_later_one() -> None:
    reported, passes, retracted = _watch(_read("AB123CD", "AB128CD", "AB123CD", "AB123CD"))
    assert _plates(reported) == [(2, "AB123CD")]
    (resolved,) = passes
    ((_, seen),) = reported
    assert [each.plate for each in resolved.provisional_plates] == ["AB123CD"]
    assert resolved.provisional_plates[0].captured_ms == seen.best.captured_ms
    assert (seen.track, seen.provisional_plates) == (resolved.track, ())
    assert retracted == []


def test_one_sure_reading_makes_a_recognition_but_is_not_reported_early() -> None:
    reported, passes, _ = _watch(_read("AB123CD", confidence=0.97))
    assert (reported, len(passes)) == ([], 1)


@pytest.mark.parametrize("agreeing", [1, 2, 3])
def test_how_many_must_agree(agreeing: int) -> None:
    rules = TrackingRules(agreeing_readings=agreeing)
    reported, _, _ = _watch(_read(*["AB123CD"] * 4), rules)
    assert _plates(reported) == [(max(2, agreeing) - 1, "AB123CD")]


def test_nothing_is_reported_if_disabled() -> None:
    reported, passes, _ = _watch(_read("AB123CD", "AB123CD"), TrackingRules(reports_early=False))
    assert reported == []
    assert passes[0].provisional_plates == ()


def test_an_unsure_track_is_not_reported() -> None:
    reported, _, _ = _watch(_read("AB123CD", "AB123CD", confidence=0.45))
    assert reported == []


def test_a_better_plate_is_reported_too_and_the_recognition_names_both() -> None:
    texts = ["AB123CD", "AB123CD", *["AB128CD"] * 5]
    reported, passes, _ = _watch(_read(*texts))
    assert [plate for _, plate in _plates(reported)] == ["AB123CD", "AB128CD"]
    (resolved,) = passes
    assert resolved.plate == "AB128CD"
    assert [each.plate for each in resolved.provisional_plates] == ["AB123CD", "AB128CD"]
    assert [each.plate for each in reported[1][1].provisional_plates] == ["AB123CD"]


def test_a_vehicle_that_stays_or_returns_soon_is_reported_once() -> None:
    stays = film([Drive("AB123CD", 0, 40_000, speed_px_s=0)], 60_000)
    reported, passes, retracted = _watch(stays)
    assert (len(reported), len(passes), retracted) == (1, 1, [])


def test_vehicles_next_to_each_other_are_reported_each() -> None:
    frames = film([Drive("AB123CD", 0, 3000), Drive("XY987ZW", 0, 3000, y_px=900)], 6000)
    reported, _, _ = _watch(frames)
    assert sorted(seen.plate for _, seen in reported) == ["AB123CD", "XY987ZW"]


def test_a_second_track_of_a_vehicle_is_not_reported() -> None:
    """The same plate at two positions in a frame gives one recognition and one early report."""
    frames = [
        frame(n, n * 200, [reading("AB123CD", 0.95, x=100), reading("AB123CD", 0.9, x=1500)])
        for n in range(5)
    ]
    reported, passes, retracted = _watch([*frames, frame(5, 6000)])
    assert (len(reported), len(passes), retracted) == (1, 1, [])


def test_a_suppressed_track_is_retracted_as_the_recognition_of_its_vehicle() -> None:
    texts = ["AB123CD", "AB123CD", "AB9Z3CD", "AB9Z3CD"]
    reported, passes, retracted = _watch(_read(*texts, confidence=0.86))
    assert [plate for _, plate in _plates(reported)] == ["AB123CD", "AB9Z3CD"]
    assert [each.plate for each in passes] == ["AB123CD"]
    (found,) = retracted
    assert [each.plate for each in found.track.provisional_plates] == ["AB9Z3CD"]
    assert found.suppressed_by is not None
    assert (found.suppressed_by.plate, found.suppressed_by.track) == ("AB123CD", passes[0].track)


def test_a_plate_that_never_moved_is_not_reported_before_its_box_has_settled() -> None:
    seen_at = (*range(0, 3000, 200), *range(103_000, 105_000, 200))
    settling = [(812, 502), (809, 501.5), *[(806, 501)] * 20]
    places = [*[(800, 500)] * 15, *settling]
    frames = [
        frame(n, ms, [msgspec.structs.replace(reading("AB123CD"), box=_box(*place))])
        for n, (ms, place) in enumerate(zip(seen_at, places, strict=False))
    ]
    reported, passes, retracted = _watch([*frames, frame(100, 200_000)])

    assert (len(reported), len(passes), retracted) == (1, 1, [])


@pytest.mark.parametrize("waits_ms", [3_000, 60_000])
def test_a_recognition_of_before_is_no_answer_to_what_is_reported_now(waits_ms: int) -> None:
    """A reported misreading is not resolved by the earlier recognition of the parked car."""
    stands = [frame(n, n * 200, [reading("AB123CD")]) for n in range((4_000 + waits_ms) // 200)]
    later_ms = 4_000 + waits_ms + 3_000
    misread = ["ABZZZCD", "ABZZZCD", *["AB123CD"] * 4]
    again = [
        frame(1000 + n, later_ms + n * 200, [reading(text, 0.86, x=800 + 3 * n)])
        for n, text in enumerate(misread)
    ]
    state, retracted = TrackerState(), list[Retracted]()
    for each in [*stands, *again, frame(2000, later_ms + 10_000)]:
        step = state.apply_frame(each, RULES)
        published = {p.track: recognition_of(each, p) for p in step.ended.passes}
        state = with_published(step.state, published)
        retracted += step.ended.retracted

    (found,) = retracted
    assert [one.plate for one in found.track.provisional_plates] == ["ABZZZCD"]
    final = retraction_of(frame(2000, later_ms + 10_000), found, {}).final_recognition
    assert final is None


def _box(x: float, y: float) -> Box:
    return Box(x=x, y=y, width=120, height=30)


def test_a_reported_pass_that_becomes_too_unsure_is_retracted() -> None:
    frames = _read(*["AB123CD"] * 2, confidence=0.55)[:-1]
    unsure = [frame(2 + n, 400 + n * 200, [reading("AB123CD", 0.3, x=208)]) for n in range(6)]
    reported, passes, retracted = _watch([*frames, *unsure, frame(20, 9000)])
    assert (len(reported), passes) == (1, [])
    (found,) = retracted
    assert [each.plate for each in found.track.provisional_plates] == ["AB123CD"]
    assert found.suppressed_by is None
    retraction = retraction_of(frame(20, 9000), found, {})
    assert retraction.final_recognition is None
    seen = provisional_of(frame(1, 200), reported[0][1])
    assert (retraction.kind, seen.kind) == (ProvisionalKind.RESOLVED, ProvisionalKind.AGREED)
    assert retraction.recognition.plate == "AB123CD"
    assert retraction.recognition.id == seen.recognition.id


def test_a_clock_set_back_changes_no_withdrawal_or_report() -> None:
    before = _read("AB123CD", "AB123CD")[:-1]
    after = [frame(10 + n, -60_000 + n * 200, [reading("XY987ZW")]) for n in range(2)]
    reported, passes, _ = _watch([*before, *after])
    assert [plate for _, plate in _plates(reported)] == ["AB123CD", "XY987ZW"]
    assert [each.plate for each in passes] == ["AB123CD"]


def test_a_provisional_one_is_a_recognition_without_images_under_its_id() -> None:
    frames = _read("AB123CD", "AB123CD")
    reported, passes, _ = _watch(frames)
    retraction = provisional_of(frames[1], reported[0][1])
    final = recognition_of(frames[2], passes[0])
    name = passes[0].track
    assert retraction.recognition.id == final.id == recognition_id(START_MS, CAMERA, name)
    assert (retraction.recognition.photo_key, retraction.recognition.crop_key) == (None, None)
    assert (retraction.recognition.provisional_plates, final.provisional_plates[0].plate) == (
        (),
        "AB123CD",
    )


def _two_vehicles(first: Sequence[str], second: Sequence[str]) -> list[FrameReadings]:
    """Return frames with readings of two vehicles. An empty text means no reading."""
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


def test_a_reported_fragment_is_resolved_by_the_vehicle_that_it_was() -> None:
    """The misreading of a fragment next to a vehicle is resolved once the vehicle has left."""
    frames = _two_vehicles(["AB123CD"] * 30, ["", "AB9Z3CO", "AB9Z3CO"])
    reported, _, retracted = _watch(frames)
    assert [seen.plate for _, seen in reported] == ["AB123CD", "AB9Z3CO"]
    assert retracted == []
    _, passes, retracted = _watch([*frames, frame(100, 20_000)])
    (resolved,), (found,) = passes, retracted
    assert (found.track.name, resolved.plate) == (reported[1][1].track, "AB123CD")
    assert found.suppressed_by is not None
    assert found.suppressed_by.track == resolved.track


def test_a_reported_fragment_is_not_reported_again_by_the_track_that_took_it_over() -> None:
    texts = [*["AB123CD"] * 16, *["AB9Z3CO"] * 40]
    frames = _two_vehicles(texts, ["", "AB9Z3CO", "AB9Z3CO"])
    reported, _, _ = _watch(frames)
    assert [seen.plate for _, seen in reported] == ["AB123CD", "AB9Z3CO"]


def test_fragments_beyond_a_bound_are_resolved_immediately() -> None:
    frame_of = frame(0, 0, [reading("AB123CD")])
    owner = start_track(frame_of, 0)
    fragment = ReportedTrack(
        name="s", first_seen_ms=1, last_seen_ms=1, readings_count=2, provisional_plates=()
    )
    fragments = tuple(msgspec.structs.replace(fragment, name=str(number)) for number in range(20))

    (after,), too_many = with_fragments((owner,), 0, fragments)

    assert (*after.fragments, *too_many) == fragments
    assert len(after.fragments) == 16


def test_only_the_recognitions_of_what_was_seen_last_are_remembered() -> None:
    track = start_track(frame(0, 0, [reading("AB123CD")]), 0)
    suppressed: tuple[SuppressedPlate, ...] = ()
    made = recognition(1)
    for number in range(40):
        seen = msgspec.structs.replace(track, name=str(number), last_seen_ms=number)
        suppressed = with_recognitions(suppress(suppressed, seen, "AB1"), {seen.name: made})
    known = [each.track for each in suppressed if each.recognition is not None]
    assert sorted(map(int, known)) == list(range(8, 40))


@settings(max_examples=50, deadline=None)
@given(films)
def test_all_that_is_reported_early_is_resolved_once(frames: list[FrameReadings]) -> None:
    """Each reported track either belongs to a pass that names the track, or is withdrawn."""
    reported, passes, retracted = _watch([*frames, frame(10_000, 100_000)])
    plates: dict[str, list[str]] = {}
    for _, seen in reported:
        assert seen.plate not in plates.setdefault(seen.track, [])
        plates[seen.track].append(seen.plate)
    resolved = {
        each.track: [report.plate for report in each.provisional_plates]
        for each in passes
        if each.provisional_plates
    }
    gone = {
        each.track.name: [report.plate for report in each.track.provisional_plates]
        for each in retracted
    }
    assert len(gone) == len(retracted)
    assert not resolved.keys() & gone.keys()
    assert resolved | gone == plates
