"""Turns the records of the readings topic into passes and recognitions.

The order of the steps is safe in a crash. Images are stored, or recorded as pending, before the
recognition that names them is published. The state is written after Kafka has stored the
recognition and before the record is released. After a crash, all steps are repeated with the same
ids and keys. Provisional recognitions are also published before the state that includes them. If
the camera was deleted, its state is removed instead of written. While a gap is read late, a camera
has several lanes, each with a separate state.
"""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

import msgspec
import structlog

from common.plates.normalise import mask_plate
from common.records.alerts import ProvisionalKind, ProvisionalRecognition
from common.records.codec import decode
from common.records.frames import FrameKind
from common.records.ids import missed_pass_id, recognition_id
from common.records.recognitions import FrameReadings, PassOutcome, Recognition, RecognitionSource
from common.telemetry.tracing import TraceContext, outside_traces, parse_traceparent, traced
from streams.recognition.frame_store import FrameStore
from streams.recognition.metrics import RecognitionMetrics, TrackOutcome
from streams.recognition.tracking.counting import CameraCounter, CountMarks, PublishCounts
from streams.recognition.tracking.lanes import Lane, Lanes, lane_key
from streams.recognition.tracking.passes import Pass, TrackingRules
from streams.recognition.tracking.pending_images import PassImageStore
from streams.recognition.tracking.provisional import Retracted
from streams.recognition.tracking.state import TrackerState, frames_needed, with_published
from streams.recognition.tracking.state_store import TrackerStateStore
from streams.recognition.tracking.suppression import SuppressedPlate
from streams.recognition.tracking.tracks import Track

log = structlog.get_logger()

Publish = Callable[[bytes, Recognition], Awaitable[None]]
"""Publishes a recognition with a key. Returns once Kafka has stored the recognition."""

PublishOutcome = Callable[[bytes, PassOutcome], Awaitable[None]]
"""Publishes the outcome of a pass with a key. Returns once Kafka has stored the outcome."""

PublishProvisional = Callable[[bytes, ProvisionalRecognition], Awaitable[None]]
"""Publishes a provisional recognition with a key. Returns once it is stored."""


class TrackingAgent:
    """Turns readings into recognitions, one record at a time."""

    def __init__(
        self,
        *,
        states: TrackerStateStore,
        frames: FrameStore,
        images: PassImageStore,
        publish: Publish,
        publish_outcome: PublishOutcome,
        publish_provisional: PublishProvisional,
        publish_counts: PublishCounts,
        counter: CameraCounter,
        marks: CountMarks,
        metrics: RecognitionMetrics,
        rules: TrackingRules,
        now_ms: Callable[[], int],
    ) -> None:
        self._states = states
        self._frames = frames
        self._images = images
        self._publish = publish
        self._publish_outcome = publish_outcome
        self._publish_provisional = publish_provisional
        self._publish_counts = publish_counts
        self._marks = marks
        self._lanes = Lanes(
            states=states, marks=marks, counter=counter, publish_counts=publish_counts, rules=rules
        )
        self._metrics = metrics
        self._rules = rules
        self._now_ms = now_ms

    async def handle(self, key: bytes, value: bytes, trace: TraceContext | None = None) -> None:
        """Handle one record, continuing ``trace`` if it is given. Safe to repeat.

        Raises:
            InvalidInputError: the record cannot be decoded.
            TransientError: a dependency is unavailable. The state is unchanged.
        """
        frame = decode(FrameReadings, value)
        if trace is not None:
            frame = msgspec.structs.replace(frame, trace=trace.traceparent)
        if frame.kind is FrameKind.GAP_END:
            await self._lanes.close(frame)
            return
        lane = await self._lanes.enter(key, frame)
        if lane is None:
            self._frames.retain_only(lane_key(key, frame), (), frame.frame)
            if frame.deleted:
                # A crash may have interrupted a deletion between the state and the mark.
                await self._marks.forget(key)
            return
        if not lane.is_past_gap:
            await self._publish_minute(key, lane, frame)
        state = lane.state or TrackerState()
        transition = state.apply_frame(frame, lane.rules, starts_tracks=not lane.is_past_gap)
        ended = transition.ended
        for seen in transition.reported:
            await self._publish_provisional(key, provisional_of(frame, seen))
        published = {
            each.track: await self._publish_pass(key, frame, each) for each in ended.passes
        }
        for track in ended.missed:
            await self._publish_outcome(key, missed_pass_of(frame, track))
        for retracted in ended.retracted:
            await self._publish_provisional(key, retraction_of(frame, retracted, published))
        after = transition.state
        if after is not state and self._rules.reports_early:
            after = with_published(after, published)
        if published:
            await self._lanes.share_reported(key, lane, frame, after, published)
        await self._store_state(key, lane, frame, state, after)
        if lane.is_past_gap:
            lane.counter.add_past_gap(frame, ended)
        else:
            lane.counter.add(frame, ended)
        for outcome, count in (
            (TrackOutcome.RECOGNIZED, len(ended.passes)),
            (TrackOutcome.SUPPRESSED, ended.suppressed),
            (TrackOutcome.UNSURE, ended.unsure),
        ):
            self._metrics.tracks.labels(outcome.value).inc(count)

    def forget_counts(self) -> None:
        """Discard the counts in memory, which can be outdated after a rebalance."""
        self._lanes.forget()

    async def _store_state(
        self,
        key: bytes,
        lane: Lane,
        frame: FrameReadings,
        before: TrackerState,
        after: TrackerState,
    ) -> None:
        """Write the state of a lane after a record, or remove it if the camera was deleted."""
        if frame.deleted:
            await self._forget(key, lane, frame)
        elif after is not before:
            await self._states.write(lane.key, after)
        if frame.readings or after is not before:
            self._frames.retain_only(lane.key, frames_needed(after), frame.frame)

    async def _forget(self, key: bytes, lane: Lane, frame: FrameReadings) -> None:
        if lane.gap is not None:
            # The lane remains until its gap is closed, so that repeated records start no tracks.
            nothing = TrackerState(
                last_offset=frame.frame.offset, last_captured_ms=frame.captured_ms
            )
            await self._states.write(lane.key, nothing)
            await self._marks.forget(lane.key)
        if lane.is_past_gap:
            # The fresh lane also reads this end record, and may have tracks that must end.
            return
        if self._states.get(key) is not None:
            await self._states.forget(key, frame)
        await self._marks.forget(key)
        self._metrics.camera_removed(frame.camera_id)

    async def _publish_minute(self, key: bytes, lane: Lane, frame: FrameReadings) -> None:
        """Publish the counts of a minute if the record ends a minute."""
        counter = lane.counter
        if not counter.knows(frame.camera_id):
            if (mark := self._marks.get(lane.key)) is not None:
                counter.continue_from(frame, mark)
            return
        if (finished := counter.finished(frame)) is None:
            return
        await self._publish_counts(key, finished)
        self._metrics.camera_minute(finished)
        if (mark := counter.mark(frame.camera_id)) is not None:
            await self._marks.write(lane.key, mark)

    async def _publish_pass(self, key: bytes, frame: FrameReadings, resolved: Pass) -> Recognition:
        """Publish and return a recognition, in the trace of its best reading's frame, if traced."""
        trace = parse_traceparent(resolved.best.trace)
        if trace is None:
            with outside_traces():
                return await self._publish_recognition(key, frame, resolved)
        about = {
            "platestream.camera.id": str(frame.camera_id),
            "platestream.recognition.id": str(pass_id(frame.camera_id, resolved)),
        }
        others = [each for each in map(parse_traceparent, resolved.traces) if each is not None]
        with traced("recognize pass", attributes=about, parent=trace, links=others):
            return await self._publish_recognition(key, frame, resolved)

    async def _publish_recognition(
        self, key: bytes, frame: FrameReadings, resolved: Pass
    ) -> Recognition:
        unnamed = recognition_of(frame, resolved)
        recognition = await self._images.store(unnamed, resolved.best.frame)
        await self._publish(key, recognition)
        age_ms = max(0, self._now_ms() - resolved.last_seen_ms)
        self._metrics.pass_age.observe(age_ms / 1000)
        log.info(
            "plate_recognized",
            camera_id=str(frame.camera_id),
            recognition_id=str(recognition.id),
            plate=mask_plate(recognition.plate),
            confidence=round(recognition.confidence, 3),
            readings=recognition.readings_count,
        )
        return recognition


def pass_id(camera_id: UUID, resolved: Pass) -> UUID:
    """Return the id of a pass's recognition, which is fixed from the beginning of the pass."""
    return recognition_id(resolved.first_seen_ms, camera_id, resolved.track)


def recognition_of(frame: FrameReadings, resolved: Pass) -> Recognition:
    """Return the recognition of a pass, without images. ``frame`` is any frame of the camera."""
    return Recognition(
        id=pass_id(frame.camera_id, resolved),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        camera_name=frame.camera_name,
        plate=resolved.plate,
        confidence=resolved.confidence,
        character_confidences=resolved.probabilities,
        alternatives=resolved.alternatives,
        captured_ms=resolved.best.captured_ms,
        first_seen_ms=resolved.first_seen_ms,
        last_seen_ms=resolved.last_seen_ms,
        readings_count=resolved.readings_count,
        box=resolved.best.box,
        region=resolved.best.region,
        region_confidence=resolved.best.region_confidence,
        plate_type=resolved.best.plate_type,
        provisional_plates=resolved.provisional_plates,
        direction=resolved.direction,
    )


def provisional_of(frame: FrameReadings, seen: Pass) -> ProvisionalRecognition:
    """Return the provisional recognition of an unfinished pass, the same in every replay."""
    provisional = recognition_of(frame, seen)
    return ProvisionalRecognition(kind=ProvisionalKind.AGREED, recognition=provisional)


def retraction_of(
    frame: FrameReadings, retracted: Retracted, published: Mapping[str, Recognition]
) -> ProvisionalRecognition:
    """Return the resolution of a reported track that has no recognition, the same in every replay.

    ``published`` are the recognitions of passes that ended with this track, by track name.
    """
    track = retracted.track
    last = track.provisional_plates[-1]
    provisional = Recognition(
        id=recognition_id(track.first_seen_ms, frame.camera_id, track.name),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        camera_name=frame.camera_name,
        plate=last.plate,
        confidence=last.confidence,
        character_confidences=(),
        captured_ms=last.captured_ms,
        first_seen_ms=track.first_seen_ms,
        last_seen_ms=track.last_seen_ms,
        readings_count=track.readings_count,
        provisional_plates=track.provisional_plates,
    )
    return ProvisionalRecognition(
        kind=ProvisionalKind.RESOLVED,
        recognition=provisional,
        final_recognition=_final_recognition(retracted.suppressed_by, published),
    )


def _final_recognition(
    suppressed_by: SuppressedPlate | None, published: Mapping[str, Recognition]
) -> Recognition | None:
    if suppressed_by is None:
        return None
    return suppressed_by.recognition or published.get(suppressed_by.track)


def missed_pass_of(frame: FrameReadings, track: Track) -> PassOutcome:
    """Return the outcome of a track without an accepted reading, the same in every replay."""
    return PassOutcome(
        id=missed_pass_id(track.first_seen_ms, frame.camera_id, track.name),
        owner_id=frame.owner_id,
        camera_id=frame.camera_id,
        source=RecognitionSource.CAMERA,
        at_ms=track.first_seen_ms,
        accepted=False,
    )
