"""Where a frame is looked at: all of it, or where something changed and tracks expect plates.

By default all of every frame is looked at, and only what is followed is planned. Otherwise, as of a
road most is the same from frame to frame, the parts are that differ from those sent before, as
ingest says; and all of a frame now and then, where nobody knows what changed, where most of it did,
and while a plate is to be read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from cachetools import LRUCache

from common.records.counts import CaptureCounts
from common.records.frames import Box, FrameMeta
from common.records.recognitions import FollowedPlate
from recognition.look import Look
from streams.recognition.geometry import around, inside, moved, overlap, share_within
from streams.recognition.tracking.settled import settled_tracks
from streams.recognition.tracking.state import TrackerState
from streams.recognition.tracking.tracks import Track, expected_box

_MAX_CAMERAS = 10_000

_MAX_PARTS = 16
"""Parts of one camera that are to be looked at yet; what more there are is taken together."""

_WHOLE_SHARE = 0.6
"""Of the frame: a larger part costs as much as the whole."""

_FOLLOW_EVERY_MS = 350
"""Where nothing but settled tracks moves, every other frame of five a second is looked at: a track
ends after two seconds unseen, so none is lost."""

_EXPECTED_MS = 600
"""A track that is unseen for longer is where something changes, if anywhere. What comes to where it
is expected is read: it may be another vehicle."""

_EXPLAINED_SHARE = 0.9
"""Of a changed part, within the vehicle of a settled track: so it is that vehicle that moves."""

# Around a plate, in its widths: the vehicle that carries it.
_ASIDE, _ABOVE, _BELOW = 1.75, 2.5, 0.75

_ROOM_WIDTHS = 1.0
"""Around an expected plate, which may come to be elsewhere."""


@dataclass(frozen=True)
class LookPlan:
    """How a frame is looked at; None: not at all, as nothing in it is new.

    ``settled`` are the settled tracks that were seen just now, in the order of the look's places.
    ``unchanged`` are plates that are where they were: nothing changed there.
    """

    look: Look | None
    settled: tuple[Track, ...] = ()
    unchanged: tuple[FollowedPlate, ...] = ()


@dataclass
class _Camera:
    """What is known of a camera's frames: parts not looked at since they changed, None: all."""

    counts: CaptureCounts | None = None
    whole_ms: int = 0
    parts: list[Box] | None = field(default=None)


class LookPlanner:
    """Plans the looks at the frames of one worker's cameras. Not thread-safe."""

    def __init__(self, whole_every_ms: int) -> None:
        """Whole frames are looked at every ``whole_every_ms``; 0: always."""
        self._whole_every_ms = whole_every_ms
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
        settled = tuple(
            track for track in settled_tracks(state, now_ms) if _was_seen_lately(track, now_ms)
        )
        known = tuple(expected_box(track, now_ms) for track in settled)
        parts, passed_ms = camera.parts, now_ms - camera.whole_ms
        is_due = not 0 <= passed_ms < self._whole_every_ms
        if parts is not None and not (is_due or _is_one_to_be_read(state, settled, meta)):
            explained = [part for part in parts if _is_explained(part, settled, now_ms)]
            wanted = [part for part in parts if part not in explained]
            wanted += _expected(settled, meta, parts)
            if not wanted:
                return LookPlan(None, settled, _unchanged(settled, parts))
            part = inside(around(wanted), _frame(meta))
            if share_within(_frame(meta), part) < _WHOLE_SHARE:
                camera.parts = [one for one in explained if share_within(one, part) < 1]
                unchanged = _unchanged(settled, [*parts, part])
                return LookPlan(Look(known=known, part=part), settled, unchanged)
        camera.parts, camera.whole_ms = [], now_ms
        return LookPlan(Look(known=known), settled)

    def _noted(self, meta: FrameMeta) -> _Camera:
        camera = self._cameras.get(meta.camera_id) or _Camera()
        self._cameras[meta.camera_id] = camera
        follows = _follows(camera.counts, meta.counts)
        camera.counts = meta.counts
        if not follows or meta.changed is None:
            camera.parts = None
        elif camera.parts is not None:
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


def _is_explained(part: Box, settled: Iterable[Track], now_ms: int) -> bool:
    return any(
        share_within(part, _vehicle(track, now_ms)) >= _EXPLAINED_SHARE
        for track in settled
        if now_ms - track.last_seen_ms < _FOLLOW_EVERY_MS
    )


def _vehicle(track: Track, now_ms: int) -> Box:
    """Return where a track's vehicle was and is."""
    places = [_grown(box, _ASIDE, _ABOVE, _BELOW) for box in _places(track, now_ms)]
    return around(places)


def _places(track: Track, now_ms: int) -> list[Box]:
    return [track.last_box, expected_box(track, now_ms)]


def _is_one_to_be_read(state: TrackerState, settled: tuple[Track, ...], meta: FrameMeta) -> bool:
    """Return whether there is a track whose plate is to be read: all of the frame is looked at.

    A part is not read to the last pixel as the whole is, and an early alert waits for a reading.
    """
    return any(
        track not in settled
        and _was_seen_lately(track, meta.captured_ms)
        and _is_in_frame(track, meta)
        for track in state.tracks
    )


def _is_in_frame(track: Track, meta: FrameMeta) -> bool:
    return share_within(expected_box(track, meta.captured_ms), _frame(meta)) > 0


def _was_seen_lately(track: Track, now_ms: int) -> bool:
    return now_ms - track.last_seen_ms <= _EXPECTED_MS


def _expected(settled: tuple[Track, ...], meta: FrameMeta, parts: list[Box]) -> list[Box]:
    """Return where settled tracks expect plates that were not seen for a while."""
    now_ms = meta.captured_ms
    return [
        _grown(around(_places(track, now_ms)), *(_ROOM_WIDTHS,) * 3)
        for track in settled
        if _is_in_frame(track, meta) and _is_due(track, now_ms, parts)
    ]


def _is_due(track: Track, now_ms: int, parts: list[Box]) -> bool:
    return now_ms - track.last_seen_ms >= _FOLLOW_EVERY_MS and not _stays(track, parts)


def _unchanged(settled: Iterable[Track], parts: list[Box]) -> tuple[FollowedPlate, ...]:
    return tuple(
        FollowedPlate(track=track.name, box=track.last_box)
        for track in settled
        if _stays(track, parts)
    )


def _stays(track: Track, parts: list[Box]) -> bool:
    """Return whether a plate is where it was: it never moved, and nothing changed there."""
    return track.still and not any(overlap(track.last_box, part) for part in parts)


def _grown(box: Box, aside: float, above: float, below: float) -> Box:
    """Return a plate's box grown by so many of its widths."""
    wider = moved(box, -aside * box.width, -above * box.width)
    return Box(
        x=wider.x,
        y=wider.y,
        width=box.width * (1 + 2 * aside),
        height=box.height + box.width * (above + below),
    )
