"""Which passes are told of before they are over. Pure.

Told is what the track would amount to were it over now, once for each plate. What is told of but
turns out to be no recognition of its own is told of once more when it is over.
"""

from dataclasses import dataclass

import msgspec

from contracts.early import SightedPlate
from contracts.edits import edit_distance
from streams.recognition.passes import Pass, settle
from streams.recognition.rules import TrackingRules
from streams.recognition.silence import Silence, silence_of
from streams.recognition.texts import is_part
from streams.recognition.tracks import Stray, Track

_LEAST_READINGS = 2
"""A single reading is told of by nobody, however few the settings want for a recognition."""
_MOST_SIGHTED = 4
"""A track that is read as ever other plates is not worth more alarms."""
_SAME_VEHICLE_EDITS = 1


@dataclass(frozen=True)
class Dismissed:
    """A track that was told of and is over without being a recognition.

    ``silence`` is that of the recognition that its vehicle came out as, if any.
    """

    stray: Stray
    silence: Silence | None


def sight(
    tracks: tuple[Track, ...], silences: tuple[Silence, ...], now_ms: int, rules: TrackingRules
) -> tuple[tuple[Track, ...], tuple[Pass, ...]]:
    """Return the tracks after telling of those that were read at ``now_ms``, and what is told."""
    told: list[Pass] = []
    after = list(tracks)
    for index, track in enumerate(tracks):
        if track.last_seen_ms < now_ms or not _has_news(track, rules):
            continue
        seen = settle(track, rules)
        others = [*after[:index], *after[index + 1 :]]
        if seen is None or not _is_news(track, seen, others, silences, rules):
            continue
        told.append(seen)
        after[index] = _with_sighted(track, seen)
    return tuple(after), tuple(told)


def _has_news(track: Track, rules: TrackingRules) -> bool:
    known = {each.plate for each in track.sighted}
    return len(known) < _MOST_SIGHTED and any(
        tally.count >= _least(rules) and tally.text not in known for tally in track.texts
    )


def _is_news(
    track: Track,
    seen: Pass,
    others: list[Track],
    silences: tuple[Silence, ...],
    rules: TrackingRules,
) -> bool:
    tally = track.text_of(seen.plate)
    if tally.count < _least(rules) or seen.plate in {each.plate for each in track.sighted}:
        return False
    if any(_tells_of(other, seen.plate) for other in others):
        return False
    if any(_has_told_astray(each, seen.plate) for each in (track, *others)):
        return False
    return silence_of(silences, track, tally, rules) < 0


def _least(rules: TrackingRules) -> int:
    return max(_LEAST_READINGS, rules.agreeing_readings)


def _tells_of(other: Track, plate: str) -> bool:
    """Return whether another track may be the same vehicle's, and told of it already."""
    return any(
        edit_distance(each.plate, plate) <= _SAME_VEHICLE_EDITS or is_part(each.plate, plate)
        for each in other.sighted
    )


def _has_told_astray(track: Track, plate: str) -> bool:
    """Return whether a stray of a track told of the plate: that is settled when the track ends."""
    return any(each.plate == plate for stray in track.strays for each in stray.sighted)


def _with_sighted(track: Track, seen: Pass) -> Track:
    plate = SightedPlate(
        plate=seen.plate, confidence=seen.confidence, captured_ms=seen.best.captured_ms
    )
    return msgspec.structs.replace(track, sighted=(*track.sighted, plate))
