"""One record of the readings topic: state, passes, images, recognitions, in a safe order.

Images are stored, or noted as pending, before the recognition that names them is published; the
state is written after Kafka has taken it, and Kafka has the state before the record is released.
Whatever a crash cuts off is done again, with the same ids and keys. Provisional recognitions are
published before the state that includes them, too. The state of a deleted camera is removed where
it would be written otherwise.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Protocol

import structlog

from common.plates.normalise import mask_plate
from common.records.alerts import ProvisionalRecognition
from common.records.codec import decode
from common.records.counts import CameraCounts
from common.records.frames import FrameReference
from common.records.recognitions import FrameReadings, PassOutcome, Recognition
from streams.recognition.metrics import RecognitionMetrics, TrackOutcome
from streams.recognition.tracking.counting import CameraCounter, CountMarks
from streams.recognition.tracking.passes import Pass, TrackingRules
from streams.recognition.tracking.pending_images import ImageKeeper
from streams.recognition.tracking.records import (
    missed_pass_of,
    provisional_of,
    recognition_of,
    retraction_of,
)
from streams.recognition.tracking.state import (
    TrackerState,
    frames_needed,
    with_published,
)
from streams.recognition.tracking.state_store import TrackerStateStore

log = structlog.get_logger()

Publish = Callable[[bytes, Recognition], Awaitable[None]]
"""Publishes a recognition under a key; returns once Kafka has it."""

PublishOutcome = Callable[[bytes, PassOutcome], Awaitable[None]]
"""Publishes the outcome of a pass under a key; returns once Kafka has it."""

PublishCounts = Callable[[bytes, CameraCounts], Awaitable[None]]
"""Publishes a camera's counts under a key; returns once Kafka has them."""

PublishProvisional = Callable[[bytes, ProvisionalRecognition], Awaitable[None]]
"""Publishes a provisional recognition under a key; returns once Kafka has it."""


class FrameMemory(Protocol):
    """The frames in memory."""

    def keep_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Drop a camera's frames that are not needed, up to and including one place."""


class TrackingAgent:
    """Turns readings into recognitions, one record after the other."""

    def __init__(
        self,
        *,
        states: TrackerStateStore,
        frames: FrameMemory,
        images: ImageKeeper,
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
        self._counter = counter
        self._marks = marks
        self._metrics = metrics
        self._rules = rules
        self._now_ms = now_ms

    async def handle(self, key: bytes, value: bytes) -> None:
        """Handle one record. Safe to repeat.

        Raises:
            InvalidInputError: the record cannot be read.
            TransientError: a dependency is unavailable; the state is as before.
        """
        frame = decode(FrameReadings, value)
        known = self._states.get(key)
        if known is None and self._states.was_deleted_after(frame):
            self._frames.keep_only(key, (), frame.frame)
            if frame.deleted:
                # A crash may have come between its state and its mark.
                await self._marks.forget(key)
            return
        await self._publish_minute(key, frame)
        state = known or TrackerState()
        transition = state.apply_frame(frame, self._rules)
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
        if known is not None and frame.deleted:
            await self._states.forget(key, frame)
        elif transition.state is not state:
            kept = published if self._rules.reports_early else {}
            await self._states.write(key, with_published(transition.state, kept))
        if frame.readings or transition.state is not state:
            self._frames.keep_only(key, frames_needed(transition.state), frame.frame)
        if frame.deleted:
            await self._marks.forget(key)
            self._metrics.camera_removed(frame.camera_id)
        self._counter.add(frame, ended)
        self._metrics.tracks_ended(TrackOutcome.RECOGNIZED, len(ended.passes))
        self._metrics.tracks_ended(TrackOutcome.SUPPRESSED, ended.suppressed)
        self._metrics.tracks_ended(TrackOutcome.UNSURE, ended.unsure)

    async def _publish_minute(self, key: bytes, frame: FrameReadings) -> None:
        """Publish the counts of the minute that a record ends, if it ends one."""
        counter = self._counter
        if not counter.knows(frame.camera_id):
            if (mark := self._marks.get(key)) is not None:
                counter.go_on(frame, mark)
            return
        if (finished := counter.finished(frame)) is None:
            return
        await self._publish_counts(key, finished)
        self._metrics.camera_minute(finished)
        if (mark := counter.mark(frame.camera_id)) is not None:
            await self._marks.write(key, mark)

    async def _publish_pass(self, key: bytes, frame: FrameReadings, resolved: Pass) -> Recognition:
        unnamed = recognition_of(frame, resolved)
        recognition = await self._images.keep(unnamed, resolved.best.frame)
        await self._publish(key, recognition)
        self._metrics.recognition_published(self._now_ms() - resolved.last_seen_ms)
        log.info(
            "plate_recognized",
            camera_id=str(frame.camera_id),
            recognition_id=str(recognition.id),
            plate=mask_plate(recognition.plate),
            confidence=round(recognition.confidence, 3),
            readings=recognition.readings_count,
        )
        return recognition
