"""Reads the plates in records of the frames topic, and publishes readings in the same order."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import msgspec
import structlog

from common.errors import InvalidInputError
from common.records.codec import decode
from common.records.counts import PlatesLeft
from common.records.frames import FRAME_META_HEADER, FrameGap, FrameKind, FrameMeta, FrameReference
from common.records.recognitions import FollowedPlate, FrameReadings, PlateReading
from common.telemetry.tracing import traced
from recognition.analysis_hints import AnalysisHints
from recognition.workers.pool import RecognizerCrashedError, RecognizerPool, RecognizerTimeoutError
from recognition.workers.protocol import ImageReadings
from streams.recognition.frame_store import FrameCache, FrameRecord
from streams.recognition.geometry import in_zones
from streams.recognition.metrics import FrameOutcome, RecognitionMetrics
from streams.recognition.reading.analysis_plan import AnalysisPlan, plan_analysis
from streams.recognition.reading.fair_share import FairShare
from streams.recognition.reading.late_pace import LatePace
from streams.recognition.tracking.state import TrackerState

log = structlog.get_logger()

POISON_FRAME = "poison_frame"
"""Dead-letter code of a frame that makes inference workers crash or hang."""

_TRIES = 2
_WAIT_SECONDS = 60.0
_LOG_INTERVAL_MS = 60_000
_MAX_LOGGED_CAMERAS = 1_000


class PoisonFrameError(InvalidInputError):
    """A frame makes inference workers crash or hang, and must become a dead letter."""


WaitOrder = Callable[[], Awaitable[None]]
"""Returns once all earlier results are published. Raises an error if one was abandoned."""

Release = Callable[[], None]
"""Lets another record be processed while the current record only waits for its turn."""

Publish = Callable[[bytes, FrameReadings], Awaitable[None]]
"""Publishes readings with a key to the frame's partition. Returns once Kafka has stored them."""


OpenGaps = Callable[[FrameReference], tuple[FrameGap, ...]]
"""Returns the open gaps that precede a record in its partition."""


StateOf = Callable[[bytes], TrackerState | None]
"""Returns the tracker state of a camera (by key), as of the latest tracked frame."""


class ReadingAgent:
    """Turns frames into readings. Frames are read concurrently, and published in order."""

    def __init__(
        self,
        *,
        pool: RecognizerPool,
        cache: FrameCache,
        state_of: StateOf,
        publish: Publish,
        metrics: RecognitionMetrics,
        fair_share: FairShare,
        track_end_ms: int,
        late_pace: LatePace,
        now_ms: Callable[[], int],
        open_gaps: OpenGaps = lambda reference: (),
    ) -> None:
        """Late frames are read if ``late_pace`` admits them. Frames beyond their account's share
        are never read. A track that was not seen for ``track_end_ms`` has ended.
        """
        self._pool = pool
        self._cache = cache
        self._state_of = state_of
        self._publish = publish
        self._metrics = metrics
        self._fair_share = fair_share
        self._track_end_ms = track_end_ms
        self._late_pace = late_pace
        self._now_ms = now_ms
        self._open_gaps = open_gaps
        self._logged_ms: dict[tuple[str, UUID], int] = {}

    async def handle(self, record: FrameRecord, wait_order: WaitOrder, release: Release) -> None:
        """Handle one record. Safe to repeat.

        An undecodable image results in a reading without plates, not in a dead letter. With dead
        letters, the images of one camera could stop the stage for all cameras (see
        :class:`streams.runtime.stage_runner.StageRunner`).

        Raises:
            InvalidInputError: the record cannot be decoded, or its image makes inference workers
                crash or hang. In the second case, an empty reading was published.
            TransientError: a dependency is unavailable.
        """
        meta = meta_of(record)
        left_out = self._left_out(meta)
        result = FrameResult(left_out=left_out)
        if meta.kind is not FrameKind.FRAME or left_out is not None:
            release()
        else:
            state = self._state_of(record.key) or TrackerState()
            plan = plan_analysis(meta, state, self._track_end_ms)
            result = await self.analyse(record, meta, plan, record.key)
        await wait_order()
        gaps = self._open_gaps(record.reference)
        await self._publish(record.key, readings_of(record, meta, result, gaps))
        if result.found is not None:
            self._fair_share.was_read(result.found.duration_ms)
        self.count(meta, result)
        if result.poison is not None:
            raise result.poison

    async def analyse(
        self, record: FrameRecord, meta: FrameMeta, plan: AnalysisPlan, cache_key: bytes
    ) -> "FrameResult":
        """Return the result of reading a frame. A frame with plates is cached under ``cache_key``.

        Raises:
            TransientError: a dependency is unavailable.
        """
        try:
            found, followed = await self._read(record, meta, plan, cache_key)
            return FrameResult(found=found, followed=followed)
        except PoisonFrameError as error:
            return FrameResult(poison=error)
        except InvalidInputError as error:
            self._log_refused(meta, error)
            return FrameResult()

    def count(self, meta: FrameMeta, result: "FrameResult", *, is_late: bool = False) -> None:
        """Count a record whose readings are published. The age of a late record is not measured."""
        if meta.kind is not FrameKind.FRAME:
            return
        age_ms = max(0, self._now_ms() - meta.captured_ms)
        if result.found is None:
            outcome = result.left_out or FrameOutcome.REFUSED
        else:
            is_old = is_late or self._late_pace.is_late(age_ms)
            outcome = FrameOutcome.LATE if is_old else FrameOutcome.READ
            self._metrics.frame_seconds.observe(result.found.duration_ms / 1000)
            if not is_late:
                self._metrics.frame_age.observe(age_ms / 1000)
        self._metrics.frames.labels(outcome.value).inc()

    def _log_refused(self, meta: FrameMeta, error: InvalidInputError) -> None:
        if self._is_to_be_logged("frame_undecodable", meta):
            log.warning("frame_undecodable", camera_id=str(meta.camera_id), code=error.code)

    def _log_left_out(self, event: str, meta: FrameMeta, age_ms: int) -> None:
        if self._is_to_be_logged(event, meta):
            age_seconds = round(age_ms / 1000, 1)
            log.warning(event, camera_id=str(meta.camera_id), age_seconds=age_seconds)

    def _is_to_be_logged(self, event: str, meta: FrameMeta) -> bool:
        """Return whether to log: once per minute and camera, as all of its frames may be faulty."""
        now_ms, key = self._now_ms(), (event, meta.camera_id)
        if now_ms - self._logged_ms.get(key, -_LOG_INTERVAL_MS) < _LOG_INTERVAL_MS:
            return False
        if len(self._logged_ms) >= _MAX_LOGGED_CAMERAS:
            self._logged_ms.clear()
        self._logged_ms[key] = now_ms
        return True

    def _left_out(self, meta: FrameMeta) -> FrameOutcome | None:
        """Return why a frame is skipped, or None if the record is not a frame or must be read."""
        if meta.kind is not FrameKind.FRAME:
            return None
        age_ms = self._now_ms() - meta.captured_ms
        is_admitted = self._fair_share.admits(
            meta.owner_id, meta.camera_id, meta.captured_ms, age_ms=age_ms
        )
        if not is_admitted:
            self._log_left_out("frame_skipped_fair_share", meta, age_ms)
            return FrameOutcome.OVER_SHARE
        # The pace is checked last, because it counts every admitted frame as read.
        if not self._late_pace.admits(meta.camera_id, meta.captured_ms, age_ms=age_ms):
            self._log_left_out("frame_skipped_late", meta, age_ms)
            return FrameOutcome.STALE
        return None

    async def _read(
        self, record: FrameRecord, meta: FrameMeta, plan: AnalysisPlan, cache_key: bytes
    ) -> tuple[ImageReadings, tuple[FollowedPlate, ...]]:
        found = await self._read_within_tries(record.value, meta.min_plate_width_px, plan.hints)
        size = (found.width_px, found.height_px)
        wanted = in_zones(found.readings, meta.zones, *size)
        followed = {
            plan.followed[each.index].name: each.box
            for each in found.followed
            if each.box.width >= meta.min_plate_width_px
        }
        plates = tuple(FollowedPlate(track=track, box=box) for track, box in followed.items())
        if wanted:
            self._cache.put(cache_key, record.reference, record.value)
        outside = len(found.readings) - len(wanted)
        left = msgspec.structs.replace(found.left, outside=outside)
        return (
            msgspec.structs.replace(found, readings=wanted, left=left),
            in_zones(plates, meta.zones, *size),
        )

    async def _read_within_tries(
        self, jpeg: bytes, min_plate_width_px: int, hints: AnalysisHints
    ) -> ImageReadings:
        for tried in range(1, _TRIES + 1):
            try:
                with traced("read plates"):
                    return await self._pool.read_image(
                        jpeg,
                        min_plate_width_px=min_plate_width_px,
                        hints=hints,
                        wait_seconds=_WAIT_SECONDS,
                    )
            except (RecognizerCrashedError, RecognizerTimeoutError) as error:
                log.warning("frame_failed", tried=tried, error=type(error).__name__)
                last = error
        raise PoisonFrameError(f"inference workers failed on the frame: {last}", code=POISON_FRAME)


@dataclass(frozen=True)
class FrameResult:
    """The result of a frame: the plates found, or the reason why there are none.

    ``followed`` are plates of known tracks that were found at their expected position but not read.
    """

    found: ImageReadings | None = None
    followed: tuple[FollowedPlate, ...] = ()
    left_out: FrameOutcome | None = None
    poison: PoisonFrameError | None = None


def meta_of(record: FrameRecord) -> FrameMeta:
    """Return the metadata of a record's frame.

    Raises:
        InvalidInputError: the metadata is missing or cannot be decoded.
    """
    header = record.headers.get(FRAME_META_HEADER)
    if header is None:
        raise InvalidInputError("the record lacks the frame's metadata", code="unreadable_record")
    return decode(FrameMeta, header)


def readings_of(
    record: FrameRecord,
    meta: FrameMeta,
    result: FrameResult,
    gaps: tuple[FrameGap, ...],
    *,
    is_late: bool = False,
) -> FrameReadings:
    """Return the readings to publish for a record."""
    found, left_out = result.found, result.left_out
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
        stale=left_out is not None,
        readings=readings,
        deleted=meta.deleted,
        still=meta.still,
        view=found.view if found else b"",
        over_share=left_out is FrameOutcome.OVER_SHARE,
        refused=meta.kind is FrameKind.FRAME and found is None and left_out is None,
        plates_left=found.left if found else PlatesLeft(),
        counts=meta.counts,
        followed=result.followed,
        late=is_late,
        gaps=gaps,
    )
