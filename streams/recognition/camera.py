"""What the stage remembers of one camera, and how a frame's readings change it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from contracts.frames import FrameKind, FrameReference
from contracts.readings import FrameReadings
from contracts.recognitions import Recognition
from contracts.records import Record
from streams.recognition.early import Dismissed, sight
from streams.recognition.passes import Pass, settle
from streams.recognition.rules import TrackingRules
from streams.recognition.silence import (
    Silence,
    begin_silence,
    prolong_silence,
    set_back,
    silence_of,
    with_recognitions,
    without_ended,
)
from streams.recognition.strays import host_of, with_strays
from streams.recognition.tracks import Stray, Track, extend_track, match_readings, start_track

_MOST_TRACKS = 64
_CLOCK_SET_BACK_MS = 5_000
"""A camera's clock that falls by more was set anew: waiting for it would stall its tracks."""


class CameraTracks(Record, frozen=True, kw_only=True):
    """The state of one camera, as it lies in the table.

    ``last_offset`` and ``last_captured_ms`` are those of the last frame that changed it.
    """

    VERSION: ClassVar[int] = 1
    last_offset: int = -1
    last_captured_ms: int = -1
    tracks: tuple[Track, ...] = ()
    silences: tuple[Silence, ...] = ()


@dataclass(frozen=True)
class EndedTracks:
    """What became of tracks that are over.

    ``silent`` ones were of plates that had come out already, ``unsure`` ones had too little that
    was read alike. Of these ``missed`` are passes of their own; the others were strays beside
    another track. ``dismissed`` were sighted, and are over without being one of ``passes``.
    """

    passes: tuple[Pass, ...] = ()
    silent: int = 0
    unsure: int = 0
    missed: tuple[Track, ...] = ()
    dismissed: tuple[Dismissed, ...] = ()

    def __add__(self, later: "EndedTracks") -> "EndedTracks":
        """Return these and later ones."""
        return EndedTracks(
            self.passes + later.passes,
            self.silent + later.silent,
            self.unsure + later.unsure,
            self.missed + later.missed,
            self.dismissed + later.dismissed,
        )


@dataclass(frozen=True)
class Step:
    """What a frame did: the state after it, the tracks that it ended, passes told of early.

    ``state`` is the very same object where nothing changed. ``sighted`` passes are not over.
    """

    state: CameraTracks
    ended: EndedTracks = EndedTracks()
    sighted: tuple[Pass, ...] = ()


@dataclass(frozen=True)
class _Settled:
    """Tracks that are over, those that go on, and the silences after both."""

    ended: EndedTracks
    going: tuple[Track, ...]
    silences: tuple[Silence, ...]


def advance(state: CameraTracks, frame: FrameReadings, rules: TrackingRules) -> Step:
    """Return what a frame's readings (or a tick) do to a camera's state.

    A frame at or before the last one done changes nothing, so a replay is harmless.
    """
    if is_done(state, frame):
        return Step(state)
    if frame.captured_ms < state.last_captured_ms - _CLOCK_SET_BACK_MS:
        return _after_clock_set_back(state, frame, rules)
    ended = [t for t in state.tracks if _is_over(t, frame, rules)]
    going = tuple(t for t in state.tracks if t not in ended)
    sees = frame.kind is FrameKind.FRAME and not frame.stale and bool(frame.readings)
    if not ended and not sees:
        return Step(state)
    tracks = _follow(going, frame) if sees else going
    overflow = sorted(tracks, key=lambda t: t.last_seen_ms)[: max(0, len(tracks) - _MOST_TRACKS)]
    kept = tuple(t for t in tracks if t not in overflow)
    settled = _settle_all((*ended, *overflow), kept, state.silences, rules)
    going, sighted = settled.going, tuple[Pass, ...]()
    if sees and rules.tells_early:
        going, sighted = sight(going, settled.silences, frame.captured_ms, rules)
    after = CameraTracks(
        last_offset=frame.frame.offset,
        last_captured_ms=max(frame.captured_ms, state.last_captured_ms),
        tracks=going,
        silences=without_ended(settled.silences, frame.captured_ms, rules),
    )
    return Step(after, settled.ended, sighted)


def is_done(state: CameraTracks, frame: FrameReadings) -> bool:
    """Return whether the state already knows what this frame tells.

    Both must be old: offsets begin anew when a topic is made anew, clocks are set back.
    """
    return frame.frame.offset <= state.last_offset and frame.captured_ms <= state.last_captured_ms


def with_published(state: CameraTracks, published: Mapping[str, Recognition]) -> CameraTracks:
    """Return a state that knows what was published of passes, by the names of their tracks.

    A track that turns out to be of the same vehicle later is told of as that recognition.
    """
    if not published:
        return state
    silences = with_recognitions(state.silences, published)
    return msgspec.structs.replace(state, silences=silences)


def frames_needed(state: CameraTracks) -> frozenset[FrameReference]:
    """Return the frames that a pass may still be shown by."""
    return frozenset(tally.best.frame for track in state.tracks for tally in track.texts)


def _is_over(track: Track, frame: FrameReadings, rules: TrackingRules) -> bool:
    return (
        frame.kind is FrameKind.END
        or frame.captured_ms - track.last_seen_ms >= rules.end_ms
        or frame.captured_ms - track.first_seen_ms >= rules.longest_ms
    )


def _follow(tracks: tuple[Track, ...], frame: FrameReadings) -> tuple[Track, ...]:
    track_of = match_readings(tracks, frame)
    reading_of = {track: reading for reading, track in track_of.items()}
    extended = tuple(
        extend_track(track, frame, frame.readings[reading_of[i]]) if i in reading_of else track
        for i, track in enumerate(tracks)
    )
    new = [i for i in range(len(frame.readings)) if i not in track_of]
    return (*extended, *(start_track(frame, i) for i in new))


def _settle_all(
    ended: tuple[Track, ...],
    going: tuple[Track, ...],
    silences: tuple[Silence, ...],
    rules: TrackingRules,
) -> _Settled:
    """Settle the ended tracks, the strongest first."""
    passes: list[Pass] = []
    missed: list[Track] = []
    dismissed: list[Dismissed] = []
    silent = 0
    for track in sorted(ended, key=lambda t: (-t.readings_count, t.name)):
        settled = settle(track, rules)
        seen = track.text_of(settled.plate) if settled else track.leading
        index = silence_of(silences, track, seen, rules)
        if index >= 0:
            silent += 1
            dismissed += _all_dismissed(track.told, silences[index])
            silences = prolong_silence(silences, index, track)
        elif (host := host_of(track, seen.text, going)) is not None:
            going, too_many = with_strays(going, host, track.told)
            dismissed += _all_dismissed(too_many, None)
        elif settled is None:
            dismissed += _all_dismissed(track.told, None)
            missed.append(track)
        else:
            silences = begin_silence(silences, track, seen.text)
            passes.append(settled)
            dismissed += _all_dismissed(track.strays, silences[-1])
    over = EndedTracks(
        passes=tuple(passes),
        silent=silent,
        unsure=len(ended) - silent - len(passes),
        missed=tuple(missed),
        dismissed=tuple(dismissed),
    )
    return _Settled(over, going, silences)


def _all_dismissed(told: tuple[Stray, ...], silence: Silence | None) -> list[Dismissed]:
    return [Dismissed(stray, silence) for stray in told]


def _after_clock_set_back(state: CameraTracks, frame: FrameReadings, rules: TrackingRules) -> Step:
    settled = _settle_all(state.tracks, (), state.silences, rules)
    fresh = CameraTracks(
        last_offset=frame.frame.offset - 1,
        last_captured_ms=frame.captured_ms - 1,
        silences=set_back(settled.silences, frame.captured_ms),
    )
    step = advance(fresh, frame, rules)
    return Step(step.state, settled.ended + step.ended, step.sighted)
