"""One record of the frames topic: read its plates, say what was read, in the topic's order."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import structlog

from contracts.errors import InvalidInputError
from contracts.frames import FRAME_META_HEADER, FrameKind, FrameMeta, FrameReference
from contracts.readings import FrameReadings, PlateReading
from contracts.records import decode
from recognition.pool import ImageReadings, RecognizerCrashedError, RecognizerTimeoutError
from streams.recognition.frame_cache import FrameCache
from streams.recognition.metrics import FrameOutcome, RecognitionMetrics
from streams.recognition.zones import in_zones

log = structlog.get_logger()

POISON_FRAME = "poison_frame"
"""Dead-letter code of a frame over which recogniser processes crash or hang."""

_TRIES = 2
_TELL_REFUSED_MS = 60_000
_MOST_TOLD = 1_000


class PoisonFrameError(InvalidInputError):
    """Recogniser processes crash or hang over a frame: a fault of ours, worth a dead letter."""


AwaitTurn = Callable[[], Awaitable[None]]
"""Returns when the results of all earlier records are out; raises where one will not be."""

Publish = Callable[[bytes, FrameReadings], Awaitable[None]]
"""Publishes readings under a key to the frame's own partition; returns once Kafka has them."""


class ReadsImages(Protocol):
    """What reads an image, :class:`recognition.pool.RecognizerPool`."""

    async def read_image(
        self, data: bytes, *, min_plate_width_px: int = 0, wait_seconds: float | None = None
    ) -> ImageReadings:
        """Return the plates of an image."""


@dataclass(frozen=True, kw_only=True)
class FrameRecord:
    """A record of the frames topic as Kafka delivered it."""

    key: bytes
    value: bytes
    headers: dict[str, bytes]
    reference: FrameReference


class Reading:
    """Turns frames into readings. Frames are read at the same time, results leave in order."""

    def __init__(
        self,
        *,
        pool: ReadsImages,
        cache: FrameCache,
        publish: Publish,
        metrics: RecognitionMetrics,
        deadline_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """Take the neighbours; frames older than the deadline are not looked at."""
        self._pool = pool
        self._cache = cache
        self._publish = publish
        self._metrics = metrics
        self._deadline_ms = deadline_ms
        self._now_ms = now_ms
        self._refused_ms: dict[str, int] = {}

    async def handle(self, record: FrameRecord, await_turn: AwaitTurn) -> None:
        """Do one record. Safe to do again.

        A picture that cannot be read is a reading without plates and no fault of the record: one
        camera's pictures, dead letters, would end the stage for all (see
        :class:`streams.common.guard.Guard`).

        Raises:
            InvalidInputError: the record cannot be read, or no process survives its picture; in
                the second case an empty reading was published all the same.
            TransientError: a neighbour is away.
        """
        meta = _meta(record)
        poison: PoisonFrameError | None = None
        found: ImageReadings | None = None
        stale = self._is_stale(meta)
        if meta.kind is FrameKind.FRAME and not stale:
            try:
                found = await self._read(record, meta)
            except PoisonFrameError as error:
                poison = error
            except InvalidInputError as error:
                self._tell_refused(meta, error)
        await await_turn()
        await self._publish(record.key, _frame_readings(record, meta, found, stale))
        self._count(meta, found, stale)
        if poison is not None:
            raise poison

    def _count(self, meta: FrameMeta, found: ImageReadings | None, stale: bool) -> None:
        if meta.kind is not FrameKind.FRAME:
            return
        if found is None:
            self._metrics.frame_skipped(FrameOutcome.STALE if stale else FrameOutcome.REFUSED)
            return
        self._metrics.frame_read(found.duration_ms)
        self._metrics.readings_published(self._now_ms() - meta.captured_ms)

    def _tell_refused(self, meta: FrameMeta, error: InvalidInputError) -> None:
        """Tell of a camera's picture once a minute: all of them may be wrong in the same way."""
        now_ms, camera = self._now_ms(), str(meta.camera_id)
        if now_ms - self._refused_ms.get(camera, -_TELL_REFUSED_MS) < _TELL_REFUSED_MS:
            return
        if len(self._refused_ms) >= _MOST_TOLD:
            self._refused_ms.clear()
        self._refused_ms[camera] = now_ms
        log.warning("frame_refused", camera_id=camera, code=error.code)

    def _is_stale(self, meta: FrameMeta) -> bool:
        age_ms = self._now_ms() - meta.captured_ms
        return meta.kind is FrameKind.FRAME and age_ms > self._deadline_ms

    async def _read(self, record: FrameRecord, meta: FrameMeta) -> ImageReadings:
        found = await self._read_within_tries(record.value, meta.min_plate_width_px)
        wanted = in_zones(found.readings, meta.zones, found.width_px, found.height_px)
        if wanted:
            self._cache.put(record.key, record.reference, record.value)
        return ImageReadings(wanted, found.width_px, found.height_px, found.duration_ms)

    async def _read_within_tries(self, jpeg: bytes, min_plate_width_px: int) -> ImageReadings:
        for tried in range(1, _TRIES + 1):
            try:
                return await self._pool.read_image(
                    jpeg,
                    min_plate_width_px=min_plate_width_px,
                    wait_seconds=self._deadline_ms / 1000,
                )
            except (RecognizerCrashedError, RecognizerTimeoutError) as error:
                log.warning("frame_failed", tried=tried, error=type(error).__name__)
                last = error
        raise PoisonFrameError(f"no process survives this frame: {last}", code=POISON_FRAME)


def _meta(record: FrameRecord) -> FrameMeta:
    header = record.headers.get(FRAME_META_HEADER)
    if header is None:
        raise InvalidInputError("a frame without its header", code="unreadable_record")
    return decode(FrameMeta, header)


def _frame_readings(
    record: FrameRecord, meta: FrameMeta, found: ImageReadings | None, stale: bool
) -> FrameReadings:
    readings: tuple[PlateReading, ...] = found.readings if found else ()
    return FrameReadings(
        kind=meta.kind,
        camera_id=meta.camera_id,
        owner_id=meta.owner_id,
        camera_name=meta.camera_name,
        captured_ms=meta.captured_ms,
        frame=record.reference,
        width_px=found.width_px if found else meta.width_px,
        height_px=found.height_px if found else meta.height_px,
        stale=stale,
        readings=readings,
        deleted=meta.deleted,
    )
