"""Finds ended tracks that are not a separate pass. No I/O.

A recognised plate is suppressed until the camera has not seen the plate for a while. A fragment is
a misreading of a vehicle that another track follows. Reports of the fragment are resolved with that
track, when it is known which vehicle passed.
"""

from collections.abc import Mapping

import msgspec

from common.plates.edit_distance import edit_distance
from common.records.frames import Box
from common.records.recognitions import Recognition
from streams.recognition.geometry import distance_in_widths, overlap
from streams.recognition.tracking.passes import TrackingRules
from streams.recognition.tracking.tracks import ReportedTrack, TextTally, Track, is_part, similarity

MAX_SUPPRESSED = 200
_MAX_RECOGNITIONS = 32
_MAX_VIEWS = 16

# A misread plate must not result in a second recognition of its vehicle. The further a track is
# from the suppressed plate in time and position, the more similar the texts must be.
_CONTINUED_MS = 2_500
_CONTINUED_SIMILARITY = 0.5
_ADJACENT_MS = 4_000
_ADJACENT_EDITS = 1
_NEAR_WIDTHS = 1.5
_STATIONARY_OVERLAP = 0.8
_STATIONARY_SIMILARITY = 0.7
# A text read this often with this confidence is another plate if it differs by more than 1 edit.
_SURE_COUNT = 3
_SURE_CONFIDENCE = 0.9

# Thresholds for a vehicle in view at the end of a gap, which both lanes see.
_HANDOVER_MS = 2_500
_HANDOVER_WIDTHS = 4.0
_HANDOVER_SIMILARITY = 0.5
_HANDOVER_CONFIDENCE = 0.85

# A fast or partly hidden vehicle can leave a fragment of one or two misreadings next to its track.
_FRAGMENT_READINGS = 2
_FRAGMENT_TIMES_WEAKER = 3
_FRAGMENT_SIMILARITY = 0.5
_FRAGMENT_GAP_MS = 2_500
_MAX_FRAGMENTS = 16


class SuppressedPlate(msgspec.Struct, frozen=True, kw_only=True):
    """A recognised plate, the time and place where it was last seen, and whether it ever moved.

    ``track`` is the name of the recognised track. ``recognition`` is the published record, or None
    before publication, after many other plates were seen, or if passes are not reported early.
    ``view`` describes the frame of the last reading with a few numbers, if the plate never moved.
    The position was seen empty from ``empty_since_ms`` to ``empty_until_ms`` (Unix ms).
    """

    plate: str
    last_seen_ms: int
    box: Box
    still: bool
    track: str = ""
    recognition: Recognition | None = None
    view: bytes = b""
    empty_since_ms: int | None = None
    empty_until_ms: int | None = None

    def with_empty(self, since_ms: int | None, until_ms: int | None) -> "SuppressedPlate":
        """Return the plate with the period during which its position was seen empty."""
        return msgspec.structs.replace(self, empty_since_ms=since_ms, empty_until_ms=until_ms)


def find_suppressed(
    suppressed: tuple[SuppressedPlate, ...], track: Track, seen: TextTally, rules: TrackingRules
) -> int:
    """Return the index of the plate that suppresses a track read as ``seen``, or -1."""
    for index, plate in enumerate(suppressed):
        if _covers(plate, track, seen, rules):
            return index
    return -1


def _covers(plate: SuppressedPlate, track: Track, seen: TextTally, rules: TrackingRules) -> bool:
    unseen_ms = track.first_seen_ms - plate.last_seen_ms
    if seen.text == plate.plate and unseen_ms < rules.suppress_ms:
        return True
    near = distance_in_widths(plate.box, track.first_box) <= _NEAR_WIDTHS
    adjacent = unseen_ms < rules.suppress_ms and (unseen_ms <= _ADJACENT_MS or near)
    if adjacent and edit_distance(seen.text, plate.plate) <= _ADJACENT_EDITS:
        return True
    if seen.count >= _SURE_COUNT and seen.best.confidence >= _SURE_CONFIDENCE:
        alike = edit_distance(seen.text, plate.plate) <= _ADJACENT_EDITS
    elif unseen_ms <= _CONTINUED_MS and near:
        return _is_similar(seen.text, plate.plate, _CONTINUED_SIMILARITY)
    else:
        alike = _is_similar(seen.text, plate.plate, _STATIONARY_SIMILARITY)
    in_place = overlap(plate.box, track.last_box) >= _STATIONARY_OVERLAP
    is_stationary = plate.still and track.still and in_place
    return alike and is_stationary and unseen_ms < rules.stationary_suppress_ms


def may_be_suppressed(
    suppressed: tuple[SuppressedPlate, ...], track: Track, seen: TextTally, rules: TrackingRules
) -> bool:
    """Return whether an open track may still turn out to be a stationary plate.

    Such a track is close to a stationary plate. The track's box settles within a few readings.
    """
    return any(
        plate.still
        and track.still
        and distance_in_widths(plate.box, track.last_box) <= _NEAR_WIDTHS
        and _is_similar(seen.text, plate.plate, _STATIONARY_SIMILARITY)
        and track.first_seen_ms - plate.last_seen_ms < rules.stationary_suppress_ms
        for plate in suppressed
    )


def recognized_as(
    plate: SuppressedPlate, track: ReportedTrack, rules: TrackingRules
) -> SuppressedPlate | None:
    """Return the plate, or None if its recognition is of an earlier pass than a reported track.

    A recognition that was published before the track began does not resolve the track's reports:
    the recognition triggered alerts at that time, and no vehicle has passed since.
    """
    known = plate.recognition
    if known is None:
        return plate
    over_ms = min(known.last_seen_ms + rules.end_ms, known.first_seen_ms + rules.max_track_ms)
    return plate if track.first_seen_ms < over_ms else None


def _is_similar(text: str, plate: str, minimum: float) -> bool:
    return similarity(text, plate) >= minimum or is_part(text, plate)


def suppress(
    suppressed: tuple[SuppressedPlate, ...], track: Track, plate: str
) -> tuple[SuppressedPlate, ...]:
    """Return the suppressed plates with another plate. At the limit, drop the oldest plate."""
    new = SuppressedPlate(
        plate=plate,
        last_seen_ms=track.last_seen_ms,
        box=track.last_box,
        still=track.still,
        track=track.name,
        view=track.view if track.still else b"",
    )
    newest = sorted(suppressed, key=lambda s: s.last_seen_ms, reverse=True)[: MAX_SUPPRESSED - 1]
    return (*newest, new)


def extend(
    suppressed: tuple[SuppressedPlate, ...], index: int, track: Track
) -> tuple[SuppressedPlate, ...]:
    """Return the suppressed plates after a track has seen one of the plates again."""
    old = suppressed[index]
    new = msgspec.structs.replace(
        old,
        last_seen_ms=max(old.last_seen_ms, track.last_seen_ms),
        box=track.last_box,
        still=old.still and track.still,
        view=track.view or old.view,
        empty_since_ms=None,
        empty_until_ms=None,
    )
    return (*suppressed[:index], new, *suppressed[index + 1 :])


def with_recognitions(
    suppressed: tuple[SuppressedPlate, ...], published: Mapping[str, Recognition]
) -> tuple[SuppressedPlate, ...]:
    """Return the plates with the recognitions ``published`` for their tracks (by track name).

    Only the plates seen last retain a recognition, because every frame writes the state.
    """
    newest = sorted(suppressed, key=lambda s: s.last_seen_ms, reverse=True)[:_MAX_RECOGNITIONS]
    since_ms = min((s.last_seen_ms for s in newest), default=0)
    return tuple(
        msgspec.structs.replace(
            s,
            recognition=published.get(s.track, s.recognition)
            if s.last_seen_ms >= since_ms
            else None,
        )
        for s in suppressed
    )


def with_few_views(suppressed: tuple[SuppressedPlate, ...]) -> tuple[SuppressedPlate, ...]:
    """Return the plates with views only for the plates seen last, to limit the state's size."""
    if sum(bool(s.view) for s in suppressed) <= _MAX_VIEWS:
        return suppressed
    newest = sorted((s.last_seen_ms for s in suppressed if s.view), reverse=True)[:_MAX_VIEWS]
    return tuple(
        s if s.last_seen_ms >= newest[-1] else msgspec.structs.replace(s, view=b"")
        for s in suppressed
    )


def set_back(suppressed: tuple[SuppressedPlate, ...], now_ms: int) -> tuple[SuppressedPlate, ...]:
    """Return the plates, with last-seen times limited to ``now_ms`` after a clock was set back."""
    return tuple(
        msgspec.structs.replace(s, last_seen_ms=min(s.last_seen_ms, now_ms)) for s in suppressed
    )


def without_expired(
    suppressed: tuple[SuppressedPlate, ...], now_ms: int, rules: TrackingRules
) -> tuple[SuppressedPlate, ...]:
    """Return the plates that can still suppress a current or future track."""
    open_ms = rules.max_track_ms + rules.end_ms
    return tuple(
        s
        for s in suppressed
        if now_ms - s.last_seen_ms
        <= open_ms + (rules.stationary_suppress_ms if s.still else rules.suppress_ms)
    )


def owner_of(track: Track, text: str, going: tuple[Track, ...]) -> int | None:
    """Return the index of the track of which ``track`` is a fragment, or None if there is none."""
    if track.readings_count > _FRAGMENT_READINGS:
        return None
    owners = [
        index
        for index, other in enumerate(going)
        if other.seen_count >= _FRAGMENT_TIMES_WEAKER * track.readings_count
        and other.first_seen_ms - track.last_seen_ms <= _FRAGMENT_GAP_MS
        and (
            similarity(text, other.leading.text) >= _FRAGMENT_SIMILARITY
            or is_part(text, other.leading.text)
        )
    ]
    return max(owners, key=lambda i: (similarity(text, going[i].leading.text), -i), default=None)


def with_fragments(
    going: tuple[Track, ...], owner: int, fragments: tuple[ReportedTrack, ...]
) -> tuple[tuple[Track, ...], tuple[ReportedTrack, ...]]:
    """Return the tracks after a track took over fragments, and the fragments beyond the limit."""
    if not fragments:
        return going, ()
    fragments = (*going[owner].fragments, *fragments)
    after = msgspec.structs.replace(going[owner], fragments=fragments[:_MAX_FRAGMENTS])
    return (*going[:owner], after, *going[owner + 1 :]), fragments[_MAX_FRAGMENTS:]


def reported_as(
    reported: tuple[Recognition, ...], track: Track, seen: TextTally, rules: TrackingRules
) -> SuppressedPlate | None:
    """Return the plate under which the fresh lane reported the vehicle of a late track, or None."""
    for each in reported:
        if _is_same(each, track, seen, rules):
            return SuppressedPlate(
                plate=each.plate,
                last_seen_ms=each.last_seen_ms,
                box=each.box or track.last_box,
                still=False,
                recognition=each,
            )
    return None


def _is_same(known: Recognition, track: Track, seen: TextTally, rules: TrackingRules) -> bool:
    apart_ms = max(
        known.first_seen_ms - track.last_seen_ms, track.first_seen_ms - known.last_seen_ms
    )
    if seen.text == known.plate:
        # As within a lane, a plate that was unseen for long enough is a separate pass.
        return apart_ms < rules.suppress_ms
    if apart_ms > _HANDOVER_MS:
        return False
    if edit_distance(seen.text, known.plate) <= _ADJACENT_EDITS:
        return True
    are_certain = min(seen.best.confidence, known.confidence) >= _HANDOVER_CONFIDENCE
    is_piece = is_part(seen.text, known.plate)
    is_similar = similarity(seen.text, known.plate) >= _HANDOVER_SIMILARITY and not are_certain
    return (is_piece or is_similar) and _are_near(known, track)


def _are_near(known: Recognition, track: Track) -> bool:
    return known.box is not None and any(
        distance_in_widths(known.box, box) <= _HANDOVER_WIDTHS
        for box in (track.last_box, *(tally.best.box for tally in track.texts))
    )
