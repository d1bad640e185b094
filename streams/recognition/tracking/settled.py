"""Finds tracks with a settled plate, which is followed and rarely read again. No I/O.

A vehicle is in view for seconds, but known after a few agreeing readings. Each further reading
takes a third of the analysis time of a frame, and adds no information. A settled plate is read
again in two cases: if the plate has come closer, because the image will be better; and from time to
time, to detect that another plate is being followed by mistake.
"""

from streams.recognition.geometry import overlap
from streams.recognition.tracking.state import TrackerState
from streams.recognition.tracking.suppression import SuppressedPlate
from streams.recognition.tracking.tracks import Track
from streams.recognition.tracking.votes import voted_text

_AGREEING_READINGS = 3
_SURE_CONFIDENCE = 0.9
"""Minimum confidence of the best reading."""

_TIMES_OTHER_TEXTS = 3
"""Minimum ratio of the leading text's readings to the readings of any other text."""

_NEARER_TIMES = 1.4
"""A plate is read again if its width has grown by this factor since the best reading."""

_READ_EVERY_MS = 1_000

_STATIONARY_OVERLAP = 0.8


def settled_tracks(state: TrackerState, captured_ms: int) -> tuple[Track, ...]:
    """Return the tracks whose plate need not be read in a frame captured at ``captured_ms``."""
    return tuple(
        track
        for track in state.tracks
        if _is_known(track, state.suppressed) and not _is_to_be_read(track, captured_ms)
    )


def _is_known(track: Track, suppressed: tuple[SuppressedPlate, ...]) -> bool:
    return _has_settled(track) or any(_is_stationary(track, plate) for plate in suppressed)


def _has_settled(track: Track) -> bool:
    leading = track.leading
    most_of_others = max((t.count for t in track.texts if t is not leading), default=0)
    return (
        leading.count >= max(_AGREEING_READINGS, _TIMES_OTHER_TEXTS * most_of_others)
        and leading.best.confidence >= _SURE_CONFIDENCE
        and not leading.best.is_cut
        and voted_text(track.votes) == leading.text
    )


def _is_stationary(track: Track, plate: SuppressedPlate) -> bool:
    """Return whether a track follows a recognised plate that has not moved since."""
    return (
        plate.still
        and track.still
        and plate.plate == track.leading.text
        and overlap(plate.box, track.last_box) >= _STATIONARY_OVERLAP
    )


def _is_to_be_read(track: Track, captured_ms: int) -> bool:
    growth = track.last_box.width / max(1.0, track.leading.best.box.width)
    is_due = captured_ms - track.last_read_ms >= _READ_EVERY_MS
    return is_due or growth >= _NEARER_TIMES
