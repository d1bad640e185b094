"""Plans which plates of a frame need not be read, because settled tracks expect these plates."""

from dataclasses import dataclass

from common.records.frames import Box, FrameMeta
from recognition.analysis_hints import NOTHING_KNOWN, AnalysisHints
from streams.recognition.geometry import share_within
from streams.recognition.tracking.settled import settled_tracks
from streams.recognition.tracking.state import TrackerState
from streams.recognition.tracking.tracks import Track, expected_box

_FOLLOWED_MS = 600
"""A plate unseen for longer than this may belong to another vehicle, and is read again."""


@dataclass(frozen=True)
class AnalysisPlan:
    """The positions at which tracks expect plates in a frame.

    ``followed`` are the tracks whose plates need not be read, in the order of ``hints.known``.
    """

    hints: AnalysisHints = NOTHING_KNOWN
    followed: tuple[Track, ...] = ()


def plan_analysis(meta: FrameMeta, state: TrackerState, track_end_ms: int) -> AnalysisPlan:
    """Return the positions in a frame at which the tracks of its camera expect plates.

    A track that was not seen for ``track_end_ms`` has ended.
    """
    now_ms = meta.captured_ms
    frame = Box(x=0, y=0, width=meta.width_px, height=meta.height_px)
    expected = {
        track.name: expected_box(track, now_ms)
        for track in state.tracks
        if now_ms - track.last_seen_ms < track_end_ms
        and share_within(expected_box(track, now_ms), frame) > 0
    }
    followed = tuple(
        track
        for track in settled_tracks(state, now_ms)
        if track.name in expected and now_ms - track.last_seen_ms <= _FOLLOWED_MS
    )
    known = tuple(expected.pop(track.name) for track in followed)
    return AnalysisPlan(AnalysisHints(known=known, others=tuple(expected.values())), followed)
