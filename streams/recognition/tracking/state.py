"""Defines the state of a camera's tracker, and applies the readings of frames. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from common.records.codec import Record
from common.records.frames import FrameGap, FrameKind, FrameReference
from common.records.recognitions import FrameReadings, Recognition
from streams.recognition.tracking.passes import Pass, TrackingRules, resolve_track
from streams.recognition.tracking.provisional import Retracted, report_provisional
from streams.recognition.tracking.stationary_plates import update_stationary
from streams.recognition.tracking.suppression import (
    MAX_SUPPRESSED,
    SuppressedPlate,
    extend,
    find_suppressed,
    owner_of,
    recognized_as,
    reported_as,
    set_back,
    suppress,
    with_few_views,
    with_fragments,
    with_recognitions,
    without_expired,
)
from streams.recognition.tracking.tracks import (
    ReportedTrack,
    Track,
    extend_track,
    follow_track,
    match_readings,
    start_track,
)

_MAX_TRACKS = 64
_CLOCK_SET_BACK_MS = 5_000
"""If a clock goes back by more than this, it was reset. Waiting would stall the camera's tracks."""


class TrackerState(Record, frozen=True, kw_only=True):
    """The state of one camera, as stored in the table.

    ``last_offset`` and ``last_captured_ms`` are from the last frame that changed the state. ``gap``
    is the last gap that was skipped (see :mod:`streams.recognition.tracking.lanes`).
    """

    VERSION: ClassVar[int] = 1
    last_offset: int = -1
    last_captured_ms: int = -1
    tracks: tuple[Track, ...] = ()
    suppressed: tuple[SuppressedPlate, ...] = ()
    gap: FrameGap | None = None
    told: tuple[Recognition, ...] = ()
    """In a late lane: recognitions of the fresh lane that may be of vehicles in the late lane."""

    def apply_frame(
        self, frame: FrameReadings, rules: TrackingRules, *, starts_tracks: bool = True
    ) -> "Transition":
        """Return the result of applying a frame's readings (or a tick) to the camera's state.

        Applying a frame twice changes nothing, so a replay is harmless. If ``starts_tracks`` is
        false, readings that continue no track are ignored: they belong to another lane.
        """
        if is_done(self, frame):
            return Transition(self)
        if frame.captured_ms < self.last_captured_ms - _CLOCK_SET_BACK_MS:
            return _after_clock_set_back(self, frame, rules, starts_tracks=starts_tracks)
        ended = [t for t in self.tracks if _is_over(t, frame, rules)]
        going = tuple(t for t in self.tracks if t not in ended)
        finds = bool(frame.readings or frame.followed)
        sees = frame.kind is FrameKind.FRAME and not frame.stale and finds
        if not ended and not sees:
            suppressed = update_stationary(self.suppressed, frame, rules)
            if suppressed is self.suppressed:
                return Transition(self)
            return Transition(self._after(frame, self.tracks, suppressed))
        tracks = _extend_tracks(going, frame, starts_tracks=starts_tracks) if sees else going
        overflow = sorted(tracks, key=lambda t: t.last_seen_ms)[: max(0, len(tracks) - _MAX_TRACKS)]
        remaining = tuple(t for t in tracks if t not in overflow)
        resolution = _resolve_all((*ended, *overflow), remaining, self, rules)
        going, reported = resolution.going, tuple[Pass, ...]()
        if sees and rules.reports_early:
            going, reported = report_provisional(
                going, resolution.suppressed, frame.captured_ms, rules
            )
        suppressed = without_expired(resolution.suppressed, frame.captured_ms, rules)
        suppressed = update_stationary(suppressed, frame, rules)
        after = self._after(frame, going, with_few_views(suppressed))
        return Transition(after, resolution.ended, reported)

    def with_more(
        self, tracks: Sequence[Track], suppressed: Sequence[SuppressedPlate]
    ) -> "TrackerState":
        """Return the state with another lane's tracks and plates, or ``self`` if nothing is new."""
        names = {track.name for track in self.tracks}
        known = {plate.track for plate in self.suppressed}
        new = tuple(track for track in tracks if track.name not in names)
        more = tuple(plate for plate in suppressed if plate.track not in known)
        if not new and not more:
            return self
        newest = sorted((*self.suppressed, *more), key=lambda s: s.last_seen_ms, reverse=True)
        return msgspec.structs.replace(
            self, tracks=(*self.tracks, *new), suppressed=tuple(newest[:MAX_SUPPRESSED])
        )

    def _after(
        self,
        frame: FrameReadings,
        tracks: tuple[Track, ...],
        suppressed: tuple[SuppressedPlate, ...],
    ) -> "TrackerState":
        return msgspec.structs.replace(
            self,
            last_offset=frame.frame.offset,
            last_captured_ms=max(frame.captured_ms, self.last_captured_ms),
            tracks=tracks,
            suppressed=suppressed,
        )


@dataclass(frozen=True)
class EndedTracks:
    """The outcome of ended tracks.

    ``suppressed`` counts tracks of recently recognised plates, and ``unsure`` counts tracks with
    too few agreeing readings. ``missed`` are the unsure tracks that were separate passes, not
    fragments of another track. ``retracted`` are tracks that were reported provisionally and ended
    without becoming an entry of ``passes``.
    """

    passes: tuple[Pass, ...] = ()
    suppressed: int = 0
    unsure: int = 0
    missed: tuple[Track, ...] = ()
    retracted: tuple[Retracted, ...] = ()

    def __add__(self, later: "EndedTracks") -> "EndedTracks":
        """Return the sum of these outcomes and later outcomes."""
        return EndedTracks(
            self.passes + later.passes,
            self.suppressed + later.suppressed,
            self.unsure + later.unsure,
            self.missed + later.missed,
            self.retracted + later.retracted,
        )


@dataclass(frozen=True)
class Transition:
    """The state after a frame, the tracks ended by the frame, and the passes to report early.

    ``state`` is the old object if nothing changed. The passes in ``reported`` have not ended.
    """

    state: TrackerState
    ended: EndedTracks = EndedTracks()
    reported: tuple[Pass, ...] = ()


@dataclass(frozen=True)
class _Resolution:
    """The ended tracks, and the continuing tracks and suppressed plates after resolving them."""

    ended: EndedTracks
    going: tuple[Track, ...]
    suppressed: tuple[SuppressedPlate, ...]


def is_done(state: TrackerState, frame: FrameReadings) -> bool:
    """Return whether the state already includes this frame.

    Both offset and time must be old, because offsets can restart and clocks can go back.
    """
    return frame.frame.offset <= state.last_offset and frame.captured_ms <= state.last_captured_ms


def with_published(state: TrackerState, published: Mapping[str, Recognition]) -> TrackerState:
    """Return the state with the recognitions ``published`` for its tracks (by track name).

    A later track of the same vehicle is resolved to the vehicle's recognition.
    """
    if not published:
        return state
    suppressed = with_recognitions(state.suppressed, published)
    return msgspec.structs.replace(state, suppressed=suppressed)


def frames_needed(state: TrackerState) -> frozenset[FrameReference]:
    """Return the frames that may still provide the images of a pass."""
    return frozenset(tally.best.frame for track in state.tracks for tally in track.texts)


def _is_over(track: Track, frame: FrameReadings, rules: TrackingRules) -> bool:
    return (
        frame.kind is FrameKind.END
        or frame.captured_ms - track.last_seen_ms >= rules.end_ms
        or frame.captured_ms - track.first_seen_ms >= rules.max_track_ms
    )


def _extend_tracks(
    tracks: tuple[Track, ...], frame: FrameReadings, *, starts_tracks: bool
) -> tuple[Track, ...]:
    boxes = {each.track: each.box for each in frame.followed}
    followed = tuple(follow_track(t, frame, boxes[t.name]) for t in tracks if t.name in boxes)
    tracks = tuple(t for t in tracks if t.name not in boxes)
    track_of = match_readings(tracks, frame)
    reading_of = {track: reading for reading, track in track_of.items()}
    extended = tuple(
        extend_track(track, frame, frame.readings[reading_of[i]]) if i in reading_of else track
        for i, track in enumerate(tracks)
    )
    if not starts_tracks:
        return (*followed, *extended)
    new = [i for i in range(len(frame.readings)) if i not in track_of]
    return (*followed, *extended, *(start_track(frame, i) for i in new))


def _resolve_all(
    ended: tuple[Track, ...],
    going: tuple[Track, ...],
    state: TrackerState,
    rules: TrackingRules,
) -> _Resolution:
    """Return the resolution of ended tracks. Tracks with the most frames are resolved first."""
    suppressed = state.suppressed
    passes: list[Pass] = []
    missed: list[Track] = []
    retracted: list[Retracted] = []
    suppressed_count = 0
    for track in sorted(ended, key=lambda t: (-t.seen_count, t.name)):
        resolved = resolve_track(track, rules)
        seen = track.text_of(resolved.plate) if resolved else track.leading
        index = find_suppressed(suppressed, track, seen, rules)
        if index >= 0:
            suppressed_count += 1
            retracted += _retract_as(track.reported, suppressed[index], rules)
            suppressed = extend(suppressed, index, track)
        elif (known := reported_as(state.told, track, seen, rules)) is not None:
            suppressed_count += 1
            retracted += _retract_as(track.reported, known, rules)
        elif (owner := owner_of(track, seen.text, going)) is not None:
            going, too_many = with_fragments(going, owner, track.reported)
            retracted += _retract(too_many, None)
        elif resolved is None:
            retracted += _retract(track.reported, None)
            missed.append(track)
        else:
            suppressed = suppress(suppressed, track, seen.text)
            passes.append(resolved)
            retracted += _retract(track.fragments, suppressed[-1])
    over = EndedTracks(
        passes=tuple(passes),
        suppressed=suppressed_count,
        unsure=len(ended) - suppressed_count - len(passes),
        missed=tuple(missed),
        retracted=tuple(retracted),
    )
    return _Resolution(over, going, suppressed)


def _retract(
    reported: tuple[ReportedTrack, ...], suppressed_by: SuppressedPlate | None
) -> list[Retracted]:
    return [Retracted(track, suppressed_by) for track in reported]


def _retract_as(
    reported: tuple[ReportedTrack, ...], plate: SuppressedPlate, rules: TrackingRules
) -> list[Retracted]:
    return [Retracted(track, recognized_as(plate, track, rules)) for track in reported]


def _after_clock_set_back(
    state: TrackerState, frame: FrameReadings, rules: TrackingRules, *, starts_tracks: bool
) -> Transition:
    resolution = _resolve_all(state.tracks, (), state, rules)
    fresh = msgspec.structs.replace(
        state,
        tracks=(),
        last_offset=frame.frame.offset - 1,
        last_captured_ms=frame.captured_ms - 1,
        suppressed=set_back(resolution.suppressed, frame.captured_ms),
    )
    transition = fresh.apply_frame(frame, rules, starts_tracks=starts_tracks)
    return Transition(transition.state, resolution.ended + transition.ended, transition.reported)
