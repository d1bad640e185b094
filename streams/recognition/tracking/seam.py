"""Vehicles in view where late and fresh frames of a camera meet. Pure.

There two lanes see one vehicle: the late one its beginning and, as it reads on for a while, its
end; the fresh one its end. Who tells of it first owns it, and the other one is told: what late
frames told is suppressed in the fresh lane as ever; what fresh frames told is found here.
"""

from collections.abc import Iterable

from common.plates.edit_distance import edit_distance
from common.records.frames import FrameGap
from common.records.recognitions import Recognition
from streams.recognition.geometry import distance_in_widths
from streams.recognition.tracking.passes import TrackingRules
from streams.recognition.tracking.suppression import SuppressedPlate
from streams.recognition.tracking.tracks import TextTally, Track, is_part, similarity

_ADJACENT_MS = 2_500
_ADJACENT_EDITS = 1
_NEAR_WIDTHS = 4.0
_SIMILAR = 0.5
_SURE = 0.85
MAX_TOLD = 64


def is_near_seam(gap: FrameGap, seen_ms: int, rules: TrackingRules) -> bool:
    """Return whether what is seen then may be suppressed, or suppress, across a gap's end."""
    return abs(seen_ms - gap.end_ms) <= rules.suppress_ms + rules.max_track_ms + rules.end_ms


def with_told(told: Iterable[Recognition], more: Iterable[Recognition]) -> tuple[Recognition, ...]:
    """Return the recognitions with more of them, each once; of too many the first ones."""
    by_id = {each.id: each for each in (*told, *more)}
    return tuple(sorted(by_id.values(), key=lambda r: r.first_seen_ms)[:MAX_TOLD])


def told_as(
    told: tuple[Recognition, ...], track: Track, seen: TextTally, rules: TrackingRules
) -> SuppressedPlate | None:
    """Return what a late track read as ``seen`` was told as from fresh frames, None: it was not."""
    for each in told:
        if _is_same(each, track, seen, rules):
            return SuppressedPlate(
                plate=each.plate,
                last_seen_ms=each.last_seen_ms,
                box=each.box or track.last_box,
                still=False,
                recognition=each,
            )
    return None


def _is_same(told: Recognition, track: Track, seen: TextTally, rules: TrackingRules) -> bool:
    apart_ms = max(told.first_seen_ms - track.last_seen_ms, track.first_seen_ms - told.last_seen_ms)
    if seen.text == told.plate:
        # As in one lane: the same plate is a pass of its own once it was unseen for so long.
        return apart_ms < rules.suppress_ms
    if apart_ms > _ADJACENT_MS:
        return False
    if edit_distance(seen.text, told.plate) <= _ADJACENT_EDITS:
        return True
    are_sure = min(seen.best.confidence, told.confidence) >= _SURE
    is_piece = is_part(seen.text, told.plate)
    is_alike = is_piece or (similarity(seen.text, told.plate) >= _SIMILAR and not are_sure)
    return is_alike and _are_near(told, track)


def _are_near(told: Recognition, track: Track) -> bool:
    return told.box is not None and any(
        distance_in_widths(told.box, box) <= _NEAR_WIDTHS
        for box in (track.last_box, *(tally.best.box for tally in track.texts))
    )
