"""Manages the lanes of a camera: the fresh lane, and one lane for each gap that is read late.

Each lane has a separate state, so that a tracker never mixes old and new times. At the beginning of
a gap, the fresh lane hands over its state: open tracks continue in the gap's lane, and recognised
plates are known in both lanes. After the end of the gap, the gap's lane reads on for as long as a
track can last, to follow the vehicles in view, but starts no new tracks. A vehicle that both lanes
see belongs to the lane that reports it first. The recognition is also stored in the other lane's
state, so that the other lane suppresses the vehicle.

One agent manages all lanes, in the order of the readings topic: all readings from before a gap
precede the first late reading and the first reading after the gap.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import msgspec

from common.records.frames import FrameGap
from common.records.recognitions import FrameReadings, Recognition
from streams.recognition.tracking.counting import CameraCounter, CountMarks, PublishCounts
from streams.recognition.tracking.passes import TrackingRules
from streams.recognition.tracking.state import TrackerState
from streams.recognition.tracking.state_store import TrackerStateStore, late_key, late_prefix
from streams.recognition.tracking.suppression import SuppressedPlate
from streams.recognition.tracking.tracks import Track

_MAX_REPORTED = 64


def lane_key(key: bytes, frame: FrameReadings) -> bytes:
    """Return the key of a record's lane. ``key`` is the camera's key."""
    return late_key(frame.frame.partition, frame.gaps[0], key) if frame.late else key


@dataclass(frozen=True, kw_only=True)
class Lane:
    """The lane of a record. ``state`` is None if the lane is new.

    ``gap`` is the gap of a late lane. ``is_past_gap``: the fresh lane reads the record as well.
    """

    key: bytes
    state: TrackerState | None
    rules: TrackingRules
    counter: CameraCounter
    gap: FrameGap | None = None
    is_past_gap: bool = False


class Lanes:
    """Separates the lanes of one worker's cameras, and shares recognitions between lanes."""

    def __init__(
        self,
        *,
        states: TrackerStateStore,
        marks: CountMarks,
        counter: CameraCounter,
        publish_counts: PublishCounts,
        rules: TrackingRules,
    ) -> None:
        """``counter`` counts the records of the fresh lanes."""
        self._states = states
        self._marks = marks
        self._counter = counter
        self._late_counter = CameraCounter()
        self._publish_counts = publish_counts
        self._rules = rules
        # An early alert for a vehicle that passed minutes ago would be useless.
        self._late_rules = replace(rules, reports_early=False)

    async def enter(self, key: bytes, frame: FrameReadings) -> Lane | None:
        """Return the lane of a camera's record, or None if the record has already been processed.

        If the record is the first to mention a gap, the gap begins.

        Raises:
            TransientError: Kafka is unavailable.
        """
        partition = frame.frame.partition
        if not frame.late:
            if self._states.get(key) is None and self._states.was_deleted_after(frame):
                return None
            still_open = [g for g in frame.gaps if not self._states.is_closed(partition, g)]
            await self._begin(key, frame, still_open)
            return Lane(
                key=key,
                state=self._states.get(key),
                rules=self._rules,
                counter=self._counter,
            )
        gap = frame.gaps[0]
        if self._states.is_closed(partition, gap):
            return None
        await self._begin(key, frame, [gap])
        own_key = lane_key(key, frame)
        state = self._states.get(own_key)
        if state is None:
            # The fresh lane has passed a later gap and reported all passes before that gap.
            return None
        return Lane(
            key=own_key,
            state=state,
            rules=self._late_rules,
            counter=self._late_counter,
            gap=gap,
            is_past_gap=frame.frame.offset >= gap.end,
        )

    async def share_reported(
        self,
        key: bytes,
        lane: Lane,
        frame: FrameReadings,
        after: TrackerState,
        reported: Mapping[str, Recognition],
    ) -> None:
        """Share a lane's published recognitions, by track name, with the camera's other lanes.

        Raises:
            TransientError: Kafka is unavailable.
        """
        if lane.gap is None:
            for gap in frame.gaps:
                await self._store_reported(late_key(frame.frame.partition, gap, key), gap, reported)
            return
        new = [each for each in after.suppressed if each.track in reported]
        for other in self._later(key, frame):
            await self._hand_over(other, lane.gap, new)

    async def close(self, frame: FrameReadings) -> None:
        """End the lanes of a gap. Remaining tracks are handed over to the lanes that follow.

        Raises:
            TransientError: Kafka is unavailable.
        """
        partition, gap = frame.frame.partition, frame.gaps[0]
        prefix = late_prefix(partition, gap)
        own_keys = self._states.keys_under(prefix)
        if not self._states.is_closed(partition, gap):
            for own_key in own_keys:
                await self._end_lane(own_key.removeprefix(prefix), own_key, frame)
            # Mark the gap first, so that repeated late records start no tracks in dropped lanes.
            await self._states.mark_closed(partition, gap)
        for own_key in own_keys:
            await self._states.drop(own_key)

    def forget(self) -> None:
        """Discard the counts in memory, which can be outdated after a rebalance."""
        self._counter.forget()
        self._late_counter.forget()

    async def _begin(self, key: bytes, frame: FrameReadings, gaps: Sequence[FrameGap]) -> None:
        """Hand over a camera's state to gaps that the fresh lane has not passed yet."""
        fresh = self._states.get(key)
        for gap in gaps:
            if fresh is not None and gap.is_covered_by(fresh.gap):
                continue
            before = fresh or TrackerState()
            own_key = late_key(frame.frame.partition, gap, key)
            is_begun = fresh is None and self._states.get(own_key) is not None
            if is_begun and frame.late:
                # The fresh lane has already deleted the camera.
                continue
            if not is_begun:
                await self._states.write(own_key, msgspec.structs.replace(before, gap=None))
            await self._move_counts(key, own_key, frame.camera_id)
            fresh = msgspec.structs.replace(before, tracks=(), gap=gap)
            # Write this state last, so that the handover is repeated until it is complete.
            await self._states.write(key, fresh)

    async def _move_counts(self, key: bytes, own_key: bytes, camera_id: UUID) -> None:
        if (counts := self._counter.unfinished(camera_id)) is not None:
            await self._publish_counts(key, counts)
        if (mark := self._counter.mark(camera_id) or self._marks.get(key)) is not None:
            await self._marks.write(own_key, mark)
            await self._marks.forget(key)
        self._counter.drop(camera_id)

    async def _store_reported(
        self, own_key: bytes, gap: FrameGap, reported: Mapping[str, Recognition]
    ) -> None:
        near = [
            r for r in reported.values() if _is_near_handover(gap, r.first_seen_ms, self._rules)
        ]
        state = self._states.get(own_key) if near else None
        if state is not None:
            after = msgspec.structs.replace(state, told=_merged(state.told, near))
            await self._states.write(own_key, after)

    def _later(self, key: bytes, frame: FrameReadings) -> list[bytes]:
        """Return the keys of a camera's lanes that follow a late record's lane, in order."""
        keys = [late_key(frame.frame.partition, gap, key) for gap in frame.gaps[1:]]
        return [each for each in (*keys, key) if self._states.get(each) is not None]

    async def _end_lane(self, key: bytes, own_key: bytes, frame: FrameReadings) -> None:
        late = self._states.get(own_key) or TrackerState()
        # If the camera sends no more readings, its tracks end with its next record.
        tracks = late.tracks
        for other in self._later(key, frame):
            await self._hand_over(other, frame.gaps[0], late.suppressed, tracks)
            tracks = ()
        camera_id = UUID(key.decode())
        if (counts := self._late_counter.unfinished(camera_id)) is not None:
            await self._publish_counts(key, counts)
        self._late_counter.drop(camera_id)
        await self._marks.forget(own_key)

    async def _hand_over(
        self,
        other: bytes,
        gap: FrameGap,
        suppressed: Sequence[SuppressedPlate],
        tracks: Sequence[Track] = (),
    ) -> None:
        state = self._states.get(other)
        assert state is not None, other
        near = [s for s in suppressed if _is_near_handover(gap, s.last_seen_ms, self._rules)]
        after = state.with_more(tracks, near)
        if after is not state:
            await self._states.write(other, after)


def _is_near_handover(gap: FrameGap, seen_ms: int, rules: TrackingRules) -> bool:
    """Return whether a plate seen at ``seen_ms`` can suppress tracks across a gap's end."""
    return abs(seen_ms - gap.end_ms) <= rules.suppress_ms + rules.max_track_ms + rules.end_ms


def _merged(known: Iterable[Recognition], more: Iterable[Recognition]) -> tuple[Recognition, ...]:
    """Return the merged recognitions without duplicates, limited to the earliest."""
    by_id = {each.id: each for each in (*known, *more)}
    return tuple(sorted(by_id.values(), key=lambda r: r.first_seen_ms)[:_MAX_REPORTED])
