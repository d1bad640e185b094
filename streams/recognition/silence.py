"""Plates that have come out and stay silent until the camera has not seen them for a while."""

from collections.abc import Mapping

import msgspec

from contracts.edits import edit_distance
from contracts.frames import Box
from contracts.recognitions import Recognition
from streams.recognition.boxes import distance_in_widths, overlap
from streams.recognition.rules import TrackingRules
from streams.recognition.texts import is_part, likeness
from streams.recognition.tracks import TextTally, Track

_MOST_SILENCES = 200
_MOST_RECOGNITIONS = 32

# A misread plate must not make its vehicle come out twice. The farther a track is from the
# silent one in time and place, the more alike the texts must be.
_CONTINUED_MS = 2_500
_CONTINUED_LIKENESS = 0.5
_ADJACENT_MS = 4_000
_ADJACENT_EDITS = 1
_NEAR_WIDTHS = 1.5
_FIXTURE_OVERLAP = 0.8
_FIXTURE_LIKENESS = 0.7
# Read alike so often and so surely, a text that differs by more is another vehicle's.
_SURE_COUNT = 3
_SURE_CONFIDENCE = 0.9


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """A plate that came out: when and where it was last seen, and whether it ever moved.

    ``track`` is the name of the one that came out; ``recognition`` is what was published of it,
    where passes are told of early: None before, in states of older releases, and where many plates
    were seen since.
    """

    plate: str
    last_seen_ms: int
    box: Box
    still: bool
    track: str = ""
    recognition: Recognition | None = None


def silence_of(
    silences: tuple[Silence, ...], track: Track, seen: TextTally, rules: TrackingRules
) -> int:
    """Return the index of the silence that a track read as ``seen`` falls under, or -1."""
    for index, silence in enumerate(silences):
        if _covers(silence, track, seen, rules):
            return index
    return -1


def _covers(silence: Silence, track: Track, seen: TextTally, rules: TrackingRules) -> bool:
    unseen_ms = track.first_seen_ms - silence.last_seen_ms
    if seen.text == silence.plate and unseen_ms < rules.silence_ms:
        return True
    near = distance_in_widths(silence.box, track.first_box) <= _NEAR_WIDTHS
    adjacent = unseen_ms < rules.silence_ms and (unseen_ms <= _ADJACENT_MS or near)
    if adjacent and edit_distance(seen.text, silence.plate) <= _ADJACENT_EDITS:
        return True
    if seen.count >= _SURE_COUNT and seen.best.confidence >= _SURE_CONFIDENCE:
        alike = edit_distance(seen.text, silence.plate) <= _ADJACENT_EDITS
    elif unseen_ms <= _CONTINUED_MS and near:
        return _is_alike(seen.text, silence.plate, _CONTINUED_LIKENESS)
    else:
        alike = _is_alike(seen.text, silence.plate, _FIXTURE_LIKENESS)
    in_place = overlap(silence.box, track.last_box) >= _FIXTURE_OVERLAP
    is_fixture = silence.still and track.still and in_place
    return alike and is_fixture and unseen_ms < rules.fixture_silence_ms


def _is_alike(text: str, plate: str, least: float) -> bool:
    return likeness(text, plate) >= least or is_part(text, plate)


def begin_silence(silences: tuple[Silence, ...], track: Track, plate: str) -> tuple[Silence, ...]:
    """Return the silences with one more; the longest unseen one gives way where they are many."""
    new = Silence(
        plate=plate,
        last_seen_ms=track.last_seen_ms,
        box=track.last_box,
        still=track.still,
        track=track.name,
    )
    kept = sorted(silences, key=lambda s: s.last_seen_ms, reverse=True)[: _MOST_SILENCES - 1]
    return (*kept, new)


def prolong_silence(silences: tuple[Silence, ...], index: int, track: Track) -> tuple[Silence, ...]:
    """Return the silences with one seen again by a track."""
    old = silences[index]
    new = msgspec.structs.replace(
        old,
        last_seen_ms=max(old.last_seen_ms, track.last_seen_ms),
        box=track.last_box,
        still=old.still and track.still,
    )
    return (*silences[:index], new, *silences[index + 1 :])


def with_recognitions(
    silences: tuple[Silence, ...], published: Mapping[str, Recognition]
) -> tuple[Silence, ...]:
    """Return the silences with what was ``published`` of the tracks (by name) that began them.

    It is kept for those that were seen last: the state is written with every frame.
    """
    newest = sorted(silences, key=lambda s: s.last_seen_ms, reverse=True)[:_MOST_RECOGNITIONS]
    since_ms = min((s.last_seen_ms for s in newest), default=0)
    return tuple(
        msgspec.structs.replace(
            s,
            recognition=published.get(s.track, s.recognition)
            if s.last_seen_ms >= since_ms
            else None,
        )
        for s in silences
    )


def set_back(silences: tuple[Silence, ...], now_ms: int) -> tuple[Silence, ...]:
    """Return the silences as a clock that was set back to ``now_ms`` would have begun them."""
    return tuple(
        msgspec.structs.replace(s, last_seen_ms=min(s.last_seen_ms, now_ms)) for s in silences
    )


def without_ended(
    silences: tuple[Silence, ...], now_ms: int, rules: TrackingRules
) -> tuple[Silence, ...]:
    """Return the silences that a track open now, or one to come, can still fall under."""
    open_ms = rules.longest_ms + rules.end_ms
    return tuple(
        s
        for s in silences
        if now_ms - s.last_seen_ms
        <= open_ms + (rules.fixture_silence_ms if s.still else rules.silence_ms)
    )
