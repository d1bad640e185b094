"""One record of the readings topic: state, passes, images, recognitions, in the order that keeps.

Images are stored before the recognition that names them is published; the state is written after
Kafka has taken it, and Kafka has the state before the record is released. Whatever a crash cuts off
is done again, with the same ids and keys. What is told of a pass before it is over goes out
likewise, before the state that remembers it. Of a camera that was deleted the state goes where it
would be written otherwise.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol

import structlog

from contracts.alert_records import AlertSighting
from contracts.frames import FrameReference
from contracts.object_keys import crop_key, photo_key
from contracts.plates import mask_plate
from contracts.readings import FrameReadings
from contracts.recognitions import PassOutcome, Recognition
from contracts.records import decode
from streams.recognition.camera import CameraTracks, advance, frames_needed, with_published
from streams.recognition.crops import cut_crop
from streams.recognition.metrics import RecognitionMetrics, TrackOutcome
from streams.recognition.passes import Pass
from streams.recognition.recognitions import (
    dismissal_of,
    missed_pass_of,
    pass_id,
    recognition_of,
    sighting_of,
)
from streams.recognition.rules import TrackingRules
from streams.recognition.states import CameraStates

log = structlog.get_logger()

Publish = Callable[[bytes, Recognition], Awaitable[None]]
"""Publishes a recognition under a key; returns once Kafka has it."""

PublishOutcome = Callable[[bytes, PassOutcome], Awaitable[None]]
"""Publishes the outcome of a pass under a key; returns once Kafka has it."""

PublishSighting = Callable[[bytes, AlertSighting], Awaitable[None]]
"""Publishes what is told of a pass beside its recognition; returns once Kafka has it."""


class Frames(Protocol):
    """Where a pass's frame is found."""

    async def jpeg(self, reference: FrameReference) -> bytes | None:
        """Return the frame, or None where it is gone for good."""

    def keep_only(
        self, camera: bytes, needed: Collection[FrameReference], up_to: FrameReference
    ) -> None:
        """Let a camera's frames go that are not needed, up to and with one place."""


class Images(Protocol):
    """Where images are kept."""

    async def put(self, key: str, jpeg: bytes) -> None:
        """Store an image."""


class Tracking:
    """Turns readings into recognitions, one record after the other."""

    def __init__(
        self,
        *,
        states: CameraStates,
        frames: Frames,
        images: Images,
        publish: Publish,
        publish_outcome: PublishOutcome,
        publish_sighting: PublishSighting,
        metrics: RecognitionMetrics,
        rules: TrackingRules,
        now_ms: Callable[[], int],
    ) -> None:
        """Take the table and the neighbours."""
        self._states = states
        self._frames = frames
        self._images = images
        self._publish = publish
        self._publish_outcome = publish_outcome
        self._publish_sighting = publish_sighting
        self._metrics = metrics
        self._rules = rules
        self._now_ms = now_ms

    async def handle(self, key: bytes, value: bytes) -> None:
        """Do one record. Safe to do again.

        Raises:
            InvalidInputError: the record cannot be read.
            TransientError: a neighbour is away; the state is as before.
        """
        frame = decode(FrameReadings, value)
        known = self._states.get(key)
        if known is None and self._states.was_deleted_after(frame):
            self._frames.keep_only(key, (), frame.frame)
            return
        state = known or CameraTracks()
        step = advance(state, frame, self._rules)
        ended = step.ended
        for seen in step.sighted:
            await self._publish_sighting(key, sighting_of(frame, seen))
        published = {
            settled.track: await self._publish_pass(key, frame, settled) for settled in ended.passes
        }
        for track in ended.missed:
            await self._publish_outcome(key, missed_pass_of(frame, track))
        for dismissed in ended.dismissed:
            await self._publish_sighting(key, dismissal_of(frame, dismissed, published))
        if known is not None and frame.deleted:
            await self._states.forget(key, frame)
        elif step.state is not state:
            remembered = published if self._rules.tells_early else {}
            await self._states.write(key, with_published(step.state, remembered))
        if frame.readings or step.state is not state:
            self._frames.keep_only(key, frames_needed(step.state), frame.frame)
        self._metrics.tracks_ended(TrackOutcome.RECOGNIZED, len(ended.passes))
        self._metrics.tracks_ended(TrackOutcome.SILENT, ended.silent)
        self._metrics.tracks_ended(TrackOutcome.UNSURE, ended.unsure)

    async def _publish_pass(self, key: bytes, frame: FrameReadings, settled: Pass) -> Recognition:
        photo, crop = await self._store_images(frame, settled)
        recognition = recognition_of(frame, settled, photo, crop)
        await self._publish(key, recognition)
        self._metrics.recognition_published(self._now_ms() - settled.last_seen_ms)
        log.info(
            "plate_recognized",
            camera_id=str(frame.camera_id),
            recognition_id=str(recognition.id),
            plate=mask_plate(recognition.plate),
            confidence=round(recognition.confidence, 3),
            readings=recognition.readings_count,
        )
        return recognition

    async def _store_images(
        self, frame: FrameReadings, settled: Pass
    ) -> tuple[str | None, str | None]:
        """Return the keys of photo and crop, None for what cannot be had."""
        jpeg = await self._frames.jpeg(settled.best.frame)
        if jpeg is None:
            log.warning("frame_gone", camera_id=str(frame.camera_id))
            return None, None
        identifier = pass_id(frame.camera_id, settled)
        photo = photo_key(frame.owner_id, identifier)
        crop = crop_key(frame.owner_id, identifier)
        crop_jpeg = await asyncio.to_thread(cut_crop, jpeg, settled.best.box)
        if crop_jpeg is None:
            await self._images.put(photo, jpeg)
            return photo, None
        await asyncio.gather(self._images.put(photo, jpeg), self._images.put(crop, crop_jpeg))
        return photo, crop
