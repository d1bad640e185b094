"""Defines the track of a vehicle on one camera, and matches further readings. No I/O."""

from dataclasses import dataclass

import msgspec
from msgspec import UNSET, UnsetType

from common.plates.edit_distance import edit_distance
from common.records.frames import Box, FrameReference
from common.records.recognitions import FrameReadings, PlateReading, ProvisionalPlate
from streams.recognition.geometry import (
    centre,
    distance_in_widths,
    moved,
    overlap,
    touches_edge,
)
from streams.recognition.tracking.votes import LengthVotes, add_reading


def is_part(one: str, other: str) -> bool:
    """Return whether one text is part of the other, for example if a plate is cut off."""
    return one in other or other in one


def similarity(one: str, other: str) -> float:
    """Return the similarity of two texts, from 0 (nothing in common) to 1 (equal)."""
    longest = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longest if longest else 1.0


_MAX_TEXTS = 12
_MAX_TRACES = 8
_STILL_OVERLAP = 0.8

# A fast car at 5 frames/s moves several plate widths between two frames, so the position alone does
# not distinguish vehicles. Therefore the text is compared first.
_SAME_TEXT_EDITS = 1
_SIMILAR = 0.5
_SIMILAR_REACH_WIDTHS = 4.0
_SURE = 0.85
_UNSURE = 0.6
_SAME_PLACE_OVERLAP = 0.3
_SAME_PLACE_MS = 600

# A moving plate that overlaps this much with the expected position within this time belongs to the
# same vehicle, even if both texts have high confidence: a small plate can be misread with high
# confidence. (Another vehicle can replace a parked vehicle.)
_SAME_PLATE_OVERLAP = 0.6
_SAME_PLATE_MS = 450


class TextReading(msgspec.Struct, frozen=True, kw_only=True):
    """The frame of a reading, and the plate's box in that frame.

    ``is_cut``: the box is at the frame's edge, so a part of the plate may be missing. ``trace`` is
    the ``traceparent`` of the frame's trace, if there is one.
    """

    frame: FrameReference
    captured_ms: int
    box: Box
    confidence: float
    is_cut: bool
    region: str | None = None
    region_confidence: float | None = None
    plate_type: str = "car"
    trace: str | UnsetType = UNSET


class TextTally(msgspec.Struct, frozen=True, kw_only=True):
    """The number of a track's readings with one text, and the best of these readings."""

    text: str
    count: int
    best: TextReading


class ReportedTrack(msgspec.Struct, frozen=True, kw_only=True):
    """An ended track that was reported provisionally and is not resolved yet."""

    name: str
    first_seen_ms: int
    last_seen_ms: int
    readings_count: int
    provisional_plates: tuple[ProvisionalPlate, ...]


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One vehicle while it is continuously in view. Speeds are in pixels per millisecond.

    ``name`` is the same in every replay. ``still``: the plate has not moved from ``first_box`` yet.
    ``provisional_plates`` are the plates under which the track was reported, without duplicates.
    ``fragments`` are other reported tracks with misreadings of the same vehicle; these are resolved
    when this track ends. ``view`` is the view of the last frame, while the track is still (see
    :mod:`recognition.scene`). ``first_whole`` and ``last_whole`` are the first and last box not cut
    off by the frame's edge. ``followed_count`` is the number of frames in which the plate was at
    its expected position and was not read. ``last_read_ms`` is the time of the last reading.
    ``traces`` are the traces of the last frames, if any.
    """

    name: str
    first_seen_ms: int
    last_seen_ms: int
    first_box: Box
    last_box: Box
    speed_x: float
    speed_y: float
    still: bool
    readings_count: int
    texts: tuple[TextTally, ...]
    votes: tuple[LengthVotes, ...]
    provisional_plates: tuple[ProvisionalPlate, ...] = ()
    fragments: tuple[ReportedTrack, ...] = ()
    view: bytes = b""
    first_whole: Box | None = None
    last_whole: Box | None = None
    followed_count: int = 0
    last_read_ms: int = 0
    traces: tuple[str, ...] | UnsetType = UNSET

    @property
    def seen_count(self) -> int:
        """The number of frames in which the plate was found, whether or not it was read."""
        return self.readings_count + self.followed_count

    @property
    def reported(self) -> tuple[ReportedTrack, ...]:
        """The reports of this vehicle, to be resolved if the track is not a separate pass."""
        if not self.provisional_plates:
            return self.fragments
        own = ReportedTrack(
            name=self.name,
            first_seen_ms=self.first_seen_ms,
            last_seen_ms=self.last_seen_ms,
            readings_count=self.readings_count,
            provisional_plates=self.provisional_plates,
        )
        return (own, *self.fragments)

    @property
    def leading(self) -> TextTally:
        """The text read most often and, among such texts, with the highest confidence."""
        return max(self.texts, key=lambda t: (t.count, t.best.confidence, t.text))

    def text_of(self, plate: str) -> TextTally:
        """Return the tally of a text that was read in this track."""
        return next(tally for tally in self.texts if tally.text == plate)


@dataclass(frozen=True)
class _Match:
    score: float
    track: int
    reading: int


def start_track(frame: FrameReadings, index: int) -> Track:
    """Return the track that begins with reading number ``index`` of a frame."""
    reading = frame.readings[index]
    whole = None if _is_cut(frame, reading) else reading.box
    return Track(
        name=f"{frame.captured_ms}/{reading.box.x:.0f}/{reading.box.y:.0f}/{index}",
        first_seen_ms=frame.captured_ms,
        last_seen_ms=frame.captured_ms,
        first_box=reading.box,
        last_box=reading.box,
        speed_x=0.0,
        speed_y=0.0,
        still=True,
        readings_count=1,
        texts=_add_text((), frame, reading),
        votes=add_reading((), reading),
        view=frame.view,
        first_whole=whole,
        last_whole=whole,
        last_read_ms=frame.captured_ms,
        traces=_with_trace((), frame),
    )


def extend_track(track: Track, frame: FrameReadings, reading: PlateReading) -> Track:
    """Return the track extended by another reading.

    A reading cut off by the frame's edge moves the track, but adds no new text to the track.
    """
    is_cut = _is_cut(frame, reading)
    moved_on = _moved_on(track, frame, reading.box)
    followed = msgspec.structs.replace(moved_on, last_read_ms=moved_on.last_seen_ms)
    if is_cut and reading.text not in (t.text for t in track.texts):
        return followed
    return msgspec.structs.replace(
        followed,
        readings_count=track.readings_count + 1,
        texts=_add_text(track.texts, frame, reading),
        votes=add_reading(track.votes, reading),
        traces=_with_trace(track.traces, frame),
    )


def follow_track(track: Track, frame: FrameReadings, box: Box) -> Track:
    """Return the track after its plate was found in a box of the frame, but not read."""
    followed_count = track.followed_count + 1
    return msgspec.structs.replace(_moved_on(track, frame, box), followed_count=followed_count)


def expected_box(track: Track, captured_ms: int) -> Box:
    """Return where a track's plate is expected at ``captured_ms``, assuming constant speed."""
    elapsed_ms = max(0, captured_ms - track.last_seen_ms)
    return moved(track.last_box, track.speed_x * elapsed_ms, track.speed_y * elapsed_ms)


def match_readings(tracks: tuple[Track, ...], frame: FrameReadings) -> dict[int, int]:
    """Return the track index for each matched reading index. Each index occurs at most once."""
    matches = [
        _Match(score, t, r)
        for t, track in enumerate(tracks)
        for r, reading in enumerate(frame.readings)
        if (score := match_score(track, frame, reading)) is not None
    ]
    matches.sort(key=lambda m: (-m.score, m.track, m.reading))
    taken: dict[int, int] = {}
    for match in matches:
        if match.reading not in taken and match.track not in taken.values():
            taken[match.reading] = match.track
    return taken


def match_score(track: Track, frame: FrameReadings, reading: PlateReading) -> float | None:
    """Return how well a reading continues a track (higher is better), or None if it does not."""
    elapsed_ms = max(0, frame.captured_ms - track.last_seen_ms)
    expected = expected_box(track, frame.captured_ms)
    near = max(overlap(place, reading.box) for place in (expected, track.last_box))
    reach = min(distance_in_widths(place, reading.box) for place in (expected, track.last_box))
    in_place = near >= _SAME_PLACE_OVERLAP and elapsed_ms <= _SAME_PLACE_MS
    is_cut = _is_cut(frame, reading)
    text = max(track.texts, key=lambda tally: similarity(tally.text, reading.text)).text
    alike = similarity(text, reading.text)
    if edit_distance(text, reading.text) <= _SAME_TEXT_EDITS:
        belongs = True
    elif alike >= _SIMILAR or is_part(text, reading.text):
        moves_on = not track.still and near >= _SAME_PLATE_OVERLAP and elapsed_ms <= _SAME_PLATE_MS
        differs = _two_plates(track, text, reading) and not (is_cut or moves_on)
        belongs = reach <= _SIMILAR_REACH_WIDTHS and not differs
    else:
        misread = min(track.leading.best.confidence, reading.confidence) < _UNSURE
        belongs = in_place and (misread or is_cut)
    return 2 * alike + near if belongs else None


def _two_plates(track: Track, text: str, reading: PlateReading) -> bool:
    """Return whether both texts have such high confidence that they are different plates."""
    sure = min(track.leading.best.confidence, reading.confidence) >= _SURE
    return sure and not is_part(text, reading.text)


def _moved_on(track: Track, frame: FrameReadings, box: Box) -> Track:
    speed_x, speed_y = _speed(track, frame.captured_ms, box)
    is_cut = touches_edge(box, frame.width_px, frame.height_px)
    still = track.still and overlap(track.first_box, box) >= _STILL_OVERLAP
    return msgspec.structs.replace(
        track,
        last_seen_ms=max(track.last_seen_ms, frame.captured_ms),
        last_box=box,
        speed_x=speed_x,
        speed_y=speed_y,
        still=still,
        view=(frame.view or track.view) if still else b"",
        first_whole=track.first_whole if is_cut else track.first_whole or box,
        last_whole=track.last_whole if is_cut else box,
    )


def _is_cut(frame: FrameReadings, reading: PlateReading) -> bool:
    return touches_edge(reading.box, frame.width_px, frame.height_px)


def _speed(track: Track, captured_ms: int, box: Box) -> tuple[float, float]:
    elapsed_ms = captured_ms - track.last_seen_ms
    if elapsed_ms <= 0:
        return track.speed_x, track.speed_y
    (x1, y1), (x2, y2) = centre(track.last_box), centre(box)
    return (x2 - x1) / elapsed_ms, (y2 - y1) / elapsed_ms


def _add_text(
    texts: tuple[TextTally, ...], frame: FrameReadings, reading: PlateReading
) -> tuple[TextTally, ...]:
    seen = TextReading(
        frame=frame.frame,
        captured_ms=frame.captured_ms,
        box=reading.box,
        confidence=reading.confidence,
        is_cut=_is_cut(frame, reading),
        region=reading.region,
        region_confidence=reading.region_confidence,
        plate_type=reading.plate_type,
        trace=frame.trace,
    )
    old = next((t for t in texts if t.text == reading.text), None)
    if old is None:
        new = TextTally(text=reading.text, count=1, best=seen)
    else:
        best = max(old.best, seen, key=lambda s: (not s.is_cut, s.confidence))
        new = TextTally(text=old.text, count=old.count + 1, best=best)
    tallies = sorted(
        (*(t for t in texts if t is not old), new),
        key=lambda t: (-t.count, -t.best.confidence, t.text),
    )
    return tuple(tallies[:_MAX_TEXTS])


def _with_trace(
    traces: tuple[str, ...] | UnsetType, frame: FrameReadings
) -> tuple[str, ...] | UnsetType:
    """Return a track's traces together with another frame's trace, or UNSET if both are empty."""
    if not frame.trace:
        return traces or UNSET
    return (*(traces or ()), frame.trace)[-_MAX_TRACES:]
