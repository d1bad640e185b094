"""Where a frame is looked at: all of it, or where something changed and tracks expect plates.

By default all of every frame is looked at, and only what is followed is planned. With
``PLATESTREAM_READING_WHOLE_FRAME_SECONDS``, as of a road most is the same from frame to frame, the
parts are looked at that differ from those sent before, as ingest says; and all of a frame now and
then, where nobody knows what changed, where most of it did, and while a plate is to be read. A
plate that stands is where it was as long as
since it was seen nothing changed around it, and no look missed it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from cachetools import LRUCache

from common.records.counts import CaptureCounts
from common.records.frames import Box, FrameMeta
from common.records.recognitions import FollowedPlate
from recognition.look import Look
from streams.recognition.geometry import around, inside, moved, overlap, share_within
from streams.recognition.tracking.settled import known_tracks, settled_tracks
from streams.recognition.tracking.state import TrackerState
from streams.recognition.tracking.tracks import Track, expected_box

_MAX_CAMERAS = 10_000

_MAX_PARTS = 16
"""Parts of one camera that are to be looked at yet; what more there are is taken together."""

_MAX_EVENTS = 256
"""Changes and looks of one camera that are remembered: of two seconds at most, some ten a frame."""

_WHOLE_SHARE = 0.6
"""Of the frame: a larger part costs as much as the whole."""

_FOLLOW_EVERY_MS = 350
"""Where nothing but settled tracks moves, the first frame after so long is looked at (of five a
second every other one): a track ends after two seconds unseen, so none is lost."""

_FOLLOWED_MS = 600
"""A plate that is unseen for longer is read where it is expected: it may be another vehicle."""

_MISSED_FRAMES = 3
"""A plate that is to be read is looked for in all of so many frames, of ``_FOLLOWED_MS`` at least;
then, until its track ends, where it was: what moves is looked at anyway."""

_EXPLAINED_SHARE = 0.9
"""Of a changed part, within the vehicle of a settled track: so it is that vehicle that moves."""

# Around a plate, in its widths: the vehicle that carries it.
_ASIDE, _ABOVE, _BELOW = 1.75, 2.5, 0.75

_ROOM_WIDTHS = 1.0
"""Around an expected plate, which may come to be elsewhere."""

_MARGIN_WIDTHS = 0.25
"""Around a plate that lies within a part, or without."""


@dataclass(frozen=True)
class LookPlan:
    """How a frame is looked at; None: not at all, as nothing in it is new.

    ``followed`` are the tracks whose plates need not be read, in the order of the look's places.
    ``unchanged`` are plates that are where they were: nothing changed there.
    """

    look: Look | None
    followed: tuple[Track, ...] = ()
    unchanged: tuple[FollowedPlate, ...] = ()


@dataclass(frozen=True)
class _Event:
    """A part of a frame that changed, or (``is_look``) that was looked at."""

    at_ms: int
    part: Box
    is_look: bool = False


@dataclass
class _Camera:
    """What is known of a camera's frames: parts not looked at since they changed, None: all.

    ``events`` are the newest; ``since_ms``: they are all that there were after this time.
    """

    counts: CaptureCounts | None = None
    planned_ms: int = 0
    whole_ms: int = 0
    parts: list[Box] | None = None
    events: deque[_Event] = field(default_factory=deque)
    since_ms: int = 0

    def note(self, *events: _Event) -> None:
        self.events.extend(events)
        while len(self.events) > _MAX_EVENTS:
            self.since_ms = self.events.popleft().at_ms

    def stands(self, track: Track) -> bool:
        """Return whether a plate is where it was seen: nothing is new there since.

        Where it was looked at since and not found, it has left unseen, or cannot be found now.
        """
        seen_ms = track.last_seen_ms
        if not track.still or seen_ms < self.since_ms:
            return False
        vehicle = _grown(track.last_box, _ASIDE, _ABOVE, _BELOW)
        return not any(
            overlap(track.last_box if event.is_look else vehicle, event.part)
            for event in self.events
            if event.at_ms > seen_ms
        )


@dataclass(frozen=True)
class _Tracks:
    """A camera's tracks that are not over, and expect their plates in a frame.

    ``settled`` ones are followed, ``standing`` ones are where they were. Of the others, whose
    plates are to be read, ``wanted`` were seen just now, ``missed`` a while ago.
    """

    now_ms: int
    settled: tuple[Track, ...]
    standing: tuple[Track, ...]
    wanted: tuple[Track, ...]
    missed: tuple[Track, ...]

    @property
    def known(self) -> tuple[Track, ...]:
        """Both, each once."""
        names = [track.name for track in self.settled]
        return (*self.settled, *(t for t in self.standing if t.name not in names))

    @property
    def every(self) -> tuple[Track, ...]:
        """All of them, each once."""
        return (*self.known, *self.wanted, *self.missed)

    def look(self, followed: Sequence[Track], part: Box | None = None) -> Look:
        """Return the look at a frame in which these tracks are followed."""
        names = [track.name for track in followed]
        others = (track for track in self.every if track.name not in names)
        return Look(
            known=tuple(expected_box(track, self.now_ms) for track in followed),
            others=tuple(expected_box(track, self.now_ms) for track in others),
            part=part,
        )


class LookPlanner:
    """Plans the looks at the frames of one worker's cameras. Not thread-safe."""

    def __init__(self, whole_every_ms: int, track_end_ms: int) -> None:
        """All of a frame is looked at every ``whole_every_ms`` at least, and more often than once
        in ``track_end_ms``, after which an unseen track is over; 0: always.
        """
        self._whole_every_ms = whole_every_ms
        self._track_end_ms = track_end_ms
        self._cameras: LRUCache[UUID, _Camera] = LRUCache(_MAX_CAMERAS)

    def leave_out(self, meta: FrameMeta) -> None:
        """Note a frame that is not looked at. Frames come in their camera's order."""
        self._noted(meta)

    def forget(self, camera_id: UUID) -> None:
        """Forget what was looked at: a look failed."""
        self._cameras.pop(camera_id, None)

    def plan(self, meta: FrameMeta, state: TrackerState) -> LookPlan:
        """Return how a frame is looked at, with what tracking knows of its camera."""
        camera, now_ms = self._noted(meta), meta.captured_ms
        interval_ms, camera.planned_ms = now_ms - camera.planned_ms, now_ms
        tracks = self._tracks(camera, meta, state, interval_ms)
        parts = camera.parts
        if parts is not None and not (tracks.wanted or self._is_due(camera, now_ms, interval_ms)):
            explained = [part for part in parts if _is_explained(part, tracks)]
            places = [part for part in parts if part not in explained]
            places += _expected(tracks, meta)
            if not places:
                return LookPlan(None, unchanged=_unchanged(tracks.standing))
            part = _part(places, tracks, meta)
            if share_within(_frame(meta), part) < _WHOLE_SHARE:
                camera.parts = [one for one in explained if share_within(one, part) < 1]
                camera.note(_Event(now_ms, part, is_look=True))
                standing = (t for t in tracks.standing if not overlap(t.last_box, part))
                known = tracks.known
                return LookPlan(tracks.look(known, part), known, _unchanged(standing))
        camera.parts, camera.whole_ms = [], now_ms
        camera.note(_Event(now_ms, _frame(meta), is_look=True))
        return LookPlan(tracks.look(tracks.settled), tracks.settled)

    def _is_due(self, camera: _Camera, now_ms: int, interval_ms: int) -> bool:
        """Return whether all of a frame is looked at, as the next one would be too late."""
        passed_ms = now_ms - camera.whole_ms
        next_ms = passed_ms + interval_ms
        is_too_late = next_ms > self._whole_every_ms or next_ms >= self._track_end_ms
        return is_too_late or passed_ms < 0 or not self._whole_every_ms

    def _tracks(
        self, camera: _Camera, meta: FrameMeta, state: TrackerState, interval_ms: int
    ) -> _Tracks:
        now_ms = meta.captured_ms
        there = {
            track.name
            for track in state.tracks
            if now_ms - track.last_seen_ms < self._track_end_ms and _is_in_frame(track, meta)
        }
        standing = tuple(t for t in known_tracks(state) if t.name in there and camera.stands(t))
        settled = tuple(
            track
            for track in settled_tracks(state, now_ms)
            if track.name in there and now_ms - track.last_seen_ms <= _FOLLOWED_MS
        )
        known = {track.name for track in (*standing, *settled)}
        to_read = [t for t in state.tracks if t.name in there and t.name not in known]
        just_ms = max(_FOLLOWED_MS, _MISSED_FRAMES * interval_ms)
        return _Tracks(
            now_ms,
            settled,
            standing,
            wanted=tuple(t for t in to_read if now_ms - t.last_seen_ms <= just_ms),
            missed=tuple(t for t in to_read if now_ms - t.last_seen_ms > just_ms),
        )

    def _noted(self, meta: FrameMeta) -> _Camera:
        camera = self._cameras.get(meta.camera_id) or _Camera()
        self._cameras[meta.camera_id] = camera
        follows = _follows(camera.counts, meta.counts)
        camera.counts = meta.counts
        if not follows or meta.changed is None:
            camera.parts = None
            return camera
        camera.note(*(_Event(meta.captured_ms, part) for part in meta.changed))
        if camera.parts is not None:
            parts = [*camera.parts, *meta.changed]
            camera.parts = parts if len(parts) <= _MAX_PARTS else [around(parts)]
        return camera


def _follows(before: CaptureCounts | None, now: CaptureCounts | None) -> bool:
    """Return whether no frame of a camera was lost between two records of it."""
    return (
        before is not None
        and now is not None
        and (now.since_ms, now.slow, now.unsent) == (before.since_ms, before.slow, before.unsent)
        and now.sent == before.sent + 1
    )


def _frame(meta: FrameMeta) -> Box:
    return Box(x=0, y=0, width=meta.width_px, height=meta.height_px)


def _is_explained(part: Box, tracks: _Tracks) -> bool:
    return any(
        share_within(part, _vehicle(track, tracks.now_ms)) >= _EXPLAINED_SHARE
        for track in tracks.settled
        if tracks.now_ms - track.last_seen_ms < _FOLLOW_EVERY_MS
    )


def _vehicle(track: Track, now_ms: int) -> Box:
    """Return where a track's vehicle was and is."""
    places = [_grown(box, _ASIDE, _ABOVE, _BELOW) for box in _places(track, now_ms)]
    return around(places)


def _places(track: Track, now_ms: int) -> list[Box]:
    return [track.last_box, expected_box(track, now_ms)]


def _is_in_frame(track: Track, meta: FrameMeta) -> bool:
    return share_within(expected_box(track, meta.captured_ms), _frame(meta)) > 0


def _expected(tracks: _Tracks, meta: FrameMeta) -> list[Box]:
    """Return where tracks expect plates that were not seen for a while."""
    standing = [track.name for track in tracks.standing]
    followed = [
        track
        for track in tracks.settled
        if tracks.now_ms - track.last_seen_ms >= _FOLLOW_EVERY_MS and track.name not in standing
    ]
    places = (around(_places(track, tracks.now_ms)) for track in (*followed, *tracks.missed))
    return [inside(_grown(place, *(_ROOM_WIDTHS,) * 3), _frame(meta)) for place in places]


def _part(places: Sequence[Box], tracks: _Tracks, meta: FrameMeta) -> Box:
    """Return the part around all places; each plate that is known of lies within it or without."""
    margins = (_MARGIN_WIDTHS,) * 3
    plates = [
        _grown(place, *margins) for track in tracks.every for place in _places(track, tracks.now_ms)
    ]
    part = around(places)
    for _ in plates:  # each round includes one more plate, unless a rounding error hides it
        cut = [one for one in plates if 0 < share_within(one, part) < 1 - 1e-9]
        part = around([part, *cut])
    return inside(part, _frame(meta))


def _unchanged(standing: Iterable[Track]) -> tuple[FollowedPlate, ...]:
    return tuple(FollowedPlate(track=track.name, box=track.last_box) for track in standing)


def _grown(box: Box, aside: float, above: float, below: float) -> Box:
    """Return a plate's box grown by so many of its widths."""
    wider = moved(box, -aside * box.width, -above * box.width)
    return Box(
        x=wider.x,
        y=wider.y,
        width=box.width * (1 + 2 * aside),
        height=box.height + box.width * (above + below),
    )
