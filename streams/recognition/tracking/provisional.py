"""Creates provisional recognitions, which report passes before their end. No I/O.

The reported pass is the pass that would result if the track ended now. A track is reported once per
plate. A reported track that turns out not to be a separate recognition is retracted at its end.
"""

from dataclasses import dataclass

import msgspec

from common.plates.edit_distance import edit_distance
from common.records.recognitions import ProvisionalPlate
from streams.recognition.tracking.passes import Pass, TrackingRules, resolve_track
from streams.recognition.tracking.suppression import (
    SuppressedPlate,
    find_suppressed,
    may_be_suppressed,
)
from streams.recognition.tracking.tracks import ReportedTrack, Track, is_part

_MIN_READINGS = 2
"""A single reading is never reported, however few readings a recognition requires."""
_MAX_REPORTS = 4
"""A track that was reported under this many plates is not reported under another plate."""
_SAME_VEHICLE_EDITS = 1


@dataclass(frozen=True)
class Retracted:
    """A track that was reported and has ended without becoming a recognition.

    ``suppressed_by`` is the plate under which the vehicle was recognised on this pass, if any.
    """

    track: ReportedTrack
    suppressed_by: SuppressedPlate | None


def report_provisional(
    tracks: tuple[Track, ...],
    suppressed: tuple[SuppressedPlate, ...],
    now_ms: int,
    rules: TrackingRules,
) -> tuple[tuple[Track, ...], tuple[Pass, ...]]:
    """Return the updated tracks, and the passes to report for tracks read at ``now_ms``."""
    reported: list[Pass] = []
    after = list(tracks)
    for index, track in enumerate(tracks):
        if track.last_seen_ms < now_ms or not _has_new_text(track, rules):
            continue
        seen = resolve_track(track, rules)
        others = [*after[:index], *after[index + 1 :]]
        if seen is None or not _is_reportable(track, seen, others, suppressed, rules):
            continue
        reported.append(seen)
        after[index] = _with_report(track, seen)
    return tuple(after), tuple(reported)


def _has_new_text(track: Track, rules: TrackingRules) -> bool:
    known = {each.plate for each in track.provisional_plates}
    return len(known) < _MAX_REPORTS and any(
        tally.count >= _min_readings(rules) and tally.text not in known for tally in track.texts
    )


def _is_reportable(
    track: Track,
    seen: Pass,
    others: list[Track],
    suppressed: tuple[SuppressedPlate, ...],
    rules: TrackingRules,
) -> bool:
    tally = track.text_of(seen.plate)
    if tally.count < _min_readings(rules) or seen.plate in {
        each.plate for each in track.provisional_plates
    }:
        return False
    if any(_has_reported(other, seen.plate) for other in others):
        return False
    if any(_has_fragment_reported(each, seen.plate) for each in (track, *others)):
        return False
    return find_suppressed(suppressed, track, tally, rules) < 0 and not may_be_suppressed(
        suppressed, track, tally, rules
    )


def _min_readings(rules: TrackingRules) -> int:
    return max(_MIN_READINGS, rules.agreeing_readings)


def _has_reported(other: Track, plate: str) -> bool:
    """Return whether a track was reported as the plate or as a similar plate."""
    return any(
        edit_distance(each.plate, plate) <= _SAME_VEHICLE_EDITS or is_part(each.plate, plate)
        for each in other.provisional_plates
    )


def _has_fragment_reported(track: Track, plate: str) -> bool:
    """Return whether an unresolved fragment of a track was reported as the plate."""
    return any(
        each.plate == plate for fragment in track.fragments for each in fragment.provisional_plates
    )


def _with_report(track: Track, seen: Pass) -> Track:
    plate = ProvisionalPlate(
        plate=seen.plate, confidence=seen.confidence, captured_ms=seen.best.captured_ms
    )
    return msgspec.structs.replace(track, provisional_plates=(*track.provisional_plates, plate))
