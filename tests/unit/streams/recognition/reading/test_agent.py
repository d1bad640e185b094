import asyncio
from uuid import UUID

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from common.errors import InvalidInputError, TransientError
from common.records.codec import encode
from common.records.counts import CaptureCounts, PlatesLeft
from common.records.frames import (
    FRAME_META_HEADER,
    Box,
    FrameKind,
    FrameMeta,
    FrameReference,
    Point,
    Zone,
    ZoneKind,
)
from common.records.recognitions import FrameReadings, PlateReading
from recognition.analysis_hints import NOTHING_KNOWN, AnalysisHints, KnownPlate
from recognition.workers.pool import (
    RecognizerBusyError,
    RecognizerCrashedError,
    RecognizerPool,
    RecognizerTimeoutError,
)
from recognition.workers.protocol import ImageReadings
from streams.recognition.frame_store import FrameCache, FrameRecord
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.reading.agent import POISON_FRAME, ReadingAgent
from streams.recognition.reading.fair_share import FairShare
from streams.recognition.reading.late_pace import LatePace
from streams.recognition.reading.ordered_worker import QueuePosition
from streams.recognition.tracking.state import TrackerState
from tests.unit.streams.recognition.builders import START_MS, frame, play, reading

CAMERA = UUID(int=7)
NOW_MS = 1_790_000_000_000
JPEG = b"\xff\xd8 image"
VIEW = b"brightness and detail"
REFERENCE = FrameReference(partition=2, offset=40)


class ScriptedPool(RecognizerPool):
    """Returns readings or raises an error, with one entry per call."""

    def __init__(self, *answers: tuple[PlateReading, ...] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[bytes, int]] = []
        self.hints: list[AnalysisHints] = []
        self.followed: tuple[KnownPlate, ...] = ()

    async def read_image(
        self,
        data: bytes,
        *,
        min_plate_width_px: int = 0,
        hints: AnalysisHints = NOTHING_KNOWN,
        timeout_seconds: float | None = None,
        wait_seconds: float | None = None,
    ) -> ImageReadings:
        self.asked.append((data, min_plate_width_px))
        self.hints.append(hints)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        left = PlatesLeft(small=2)
        return ImageReadings(answer, 1000, 500, 12.0, VIEW, left, self.followed)


class Published:
    """The published records with their keys. Fails as often as a test requires."""

    def __init__(self, failures: int = 0) -> None:
        self.records: list[tuple[bytes, FrameReadings]] = []
        self.failures = failures

    async def __call__(self, key: bytes, record: FrameReadings) -> None:
        if self.failures:
            self.failures -= 1
            raise TransientError("Kafka is unavailable")
        self.records.append((key, record))


def keep_room() -> None:
    """Do not release the frame's capacity, so that no other frame is processed meanwhile."""


def stage(
    pool: ScriptedPool,
    published: Published,
    cache: FrameCache | None = None,
    registry: CollectorRegistry | None = None,
    state: TrackerState | None = None,
) -> ReadingAgent:
    return ReadingAgent(
        pool=pool,
        cache=cache or FrameCache(1000),
        state_of=lambda _: state,
        publish=published,
        metrics=RecognitionMetrics(registry),
        fair_share=FairShare(lambda: 0.0, readers=1, is_busy=lambda: False),
        track_end_ms=2_000,
        late_pace=LatePace(60_000),
        now_ms=lambda: NOW_MS,
    )


def record(
    value: bytes = JPEG,
    kind: FrameKind = FrameKind.FRAME,
    captured_ms: int = NOW_MS - 100,
    zones: tuple[Zone, ...] = (),
    camera: UUID = CAMERA,
    min_plate_width_px: int = 33,
    **headers: bytes,
) -> FrameRecord:
    meta = FrameMeta(
        kind=kind,
        camera_id=camera,
        owner_id=UUID(int=1),
        camera_name="Gate",
        captured_ms=captured_ms,
        width_px=1000,
        height_px=500,
        min_plate_width_px=min_plate_width_px,
        zones=zones,
        counts=CaptureCounts(since_ms=1, sent=1),
    )
    return FrameRecord(
        key=b"camera",
        value=value,
        headers={FRAME_META_HEADER: encode(meta), **headers},
        reference=REFERENCE,
    )


async def turn() -> None:
    return


async def test_publishes_what_was_read() -> None:
    found = reading("AB123CD")
    pool, published = ScriptedPool((found,)), Published()
    await stage(pool, published).handle(record(), turn, keep_room)
    ((key, out),) = published.records
    assert key == b"camera"
    assert out.readings == (found,)
    assert out.frame == REFERENCE
    assert out.camera_id == CAMERA
    assert out.captured_ms == NOW_MS - 100
    assert (out.width_px, out.height_px) == (1000, 500)
    assert out.view == VIEW
    assert (out.refused, out.over_share, out.plates_left) == (False, False, PlatesLeft(small=2))
    assert pool.asked == [(JPEG, 33)]


async def test_a_frame_with_plates_is_cached_and_an_empty_one_is_not() -> None:
    cache = FrameCache(1000)
    await stage(ScriptedPool(()), Published(), cache).handle(record(), turn, keep_room)
    assert cache.get(REFERENCE) is None
    await stage(ScriptedPool((reading("AB123CD"),)), Published(), cache).handle(
        record(), turn, keep_room
    )
    assert cache.get(REFERENCE) == JPEG


async def test_a_tick_passes_through() -> None:
    pool, published = ScriptedPool(), Published()
    await stage(pool, published).handle(
        record(b"", FrameKind.TICK, NOW_MS - 90_000), turn, keep_room
    )
    ((_, out),) = published.records
    assert out.kind is FrameKind.TICK
    assert not out.stale
    assert pool.asked == []


@pytest.mark.parametrize(("age_ms", "looked_at"), [(60_000, 10), (60_001 + 2_000, 5)])
async def test_of_late_frames_some_are_looked_at(age_ms: int, looked_at: int) -> None:
    pool, published, registry = ScriptedPool(*[()] * 10), Published(), CollectorRegistry()
    agent = stage(pool, published, registry=registry)
    for number in range(10):
        late = record(captured_ms=NOW_MS - age_ms + 200 * number)
        await agent.handle(late, turn, keep_room)

    assert [out.stale for _, out in published.records].count(False) == looked_at
    assert len(pool.asked) == looked_at

    def count(outcome: str) -> float:
        name = "platestream_recognition_frames_total"
        return registry.get_sample_value(name, {"outcome": outcome}) or 0

    in_time = 10 if looked_at == 10 else 0
    assert [count(outcome) for outcome in ("read", "late", "stale")] == [
        in_time,
        looked_at - in_time,
        10 - looked_at,
    ]


async def test_a_late_frame_that_kafka_did_not_take_is_looked_at_again() -> None:
    found = (reading("AB123CD"),)
    published = Published(failures=1)
    agent = stage(ScriptedPool(found, found), published)
    late = record(captured_ms=NOW_MS - 90_000)
    with pytest.raises(TransientError):
        await agent.handle(late, turn, keep_room)
    await agent.handle(late, turn, keep_room)
    ((_, out),) = published.records
    assert out.readings == found


async def test_late_frames_that_are_left_out_are_logged_once_a_minute_by_camera() -> None:
    agent = stage(ScriptedPool(*[()] * 3), Published())
    cameras = [CAMERA, CAMERA, CAMERA, UUID(int=99), UUID(int=99)]
    with capture_logs() as logs:
        for number, camera in enumerate(cameras):
            late = record(captured_ms=NOW_MS - 90_000 + 100 * number, camera=camera)
            await agent.handle(late, turn, keep_room)

    lines = [(log["event"], log["camera_id"], log["age_seconds"]) for log in logs]
    assert lines == [
        ("frame_skipped_late", str(CAMERA), 89.9),
        ("frame_skipped_late", str(UUID(int=99)), 89.6),
    ]


@pytest.mark.parametrize("code", ["image_too_large", "truncated_image", "unreadable_image"])
async def test_a_bad_image_is_a_reading_without_plates_and_no_dead_letter(code: str) -> None:
    refusal = InvalidInputError("Not such an image.", code=code)
    published, metrics = Published(), CollectorRegistry()
    await stage(ScriptedPool(refusal), published, registry=metrics).handle(
        record(), turn, keep_room
    )
    ((_, out),) = published.records
    assert out.readings == ()
    assert out.refused
    assert not out.stale
    refused = {"outcome": "undecodable"}
    assert metrics.get_sample_value("platestream_recognition_frames_total", refused) == 1


@pytest.mark.parametrize("fault", [RecognizerCrashedError, RecognizerTimeoutError])
async def test_a_process_lost_once_is_tried_again(fault: type[TransientError]) -> None:
    pool, published = ScriptedPool(fault("gone"), (reading("AB123CD"),)), Published()
    await stage(pool, published).handle(record(), turn, keep_room)
    assert len(published.records[0][1].readings) == 1


async def test_a_frame_that_no_process_survives_is_refused() -> None:
    pool = ScriptedPool(RecognizerCrashedError("gone"), RecognizerTimeoutError("hung"))
    published = Published()
    with pytest.raises(InvalidInputError) as refused:
        await stage(pool, published).handle(record(), turn, keep_room)
    assert refused.value.code == POISON_FRAME
    assert published.records[0][1].readings == ()


async def test_a_busy_pool_is_a_matter_of_time() -> None:
    published = Published()
    with pytest.raises(RecognizerBusyError):
        await stage(ScriptedPool(RecognizerBusyError("full")), published).handle(
            record(), turn, keep_room
        )
    assert published.records == []


async def test_what_kafka_did_not_take_is_done_again() -> None:
    found = (reading("AB123CD"),)
    handler, published = stage(ScriptedPool(found, found), (p := Published(failures=1))), p
    with pytest.raises(TransientError):
        await handler.handle(record(), turn, keep_room)
    await handler.handle(record(), turn, keep_room)
    assert len(published.records) == 1


@pytest.mark.parametrize(
    "headers",
    [{}, {FRAME_META_HEADER: b"not json"}, {FRAME_META_HEADER: b'{"version":7}'}],
    ids=["none", "unreadable", "version"],
)
async def test_a_record_without_a_readable_header_is_refused(headers: dict[str, bytes]) -> None:
    broken = FrameRecord(key=b"camera", value=JPEG, headers=headers, reference=REFERENCE)
    published = Published()
    with pytest.raises(InvalidInputError):
        await stage(ScriptedPool(), published).handle(broken, turn, keep_room)
    assert published.records == []


async def test_plates_outside_the_zones_are_left_out() -> None:
    left_half = Zone(
        kind=ZoneKind.INCLUDE,
        points=(Point(x=0, y=0), Point(x=0.5, y=0), Point(x=0.5, y=1), Point(x=0, y=1)),
    )
    found = (reading("AB123CD", x=100, y=100), reading("XY987ZW", x=800, y=100))
    published = Published()
    await stage(ScriptedPool(found), published).handle(record(zones=(left_half,)), turn, keep_room)
    assert [r.text for r in published.records[0][1].readings] == ["AB123CD"]


SETTLED = [frame(number, 200 * number, [reading("AB123CD", x=100, y=100)]) for number in range(3)]
"""A stationary vehicle at (100, 100), with three readings until ``START_MS`` + 400."""

FOLLOWED = Box(x=102, y=100, width=120, height=30)


@pytest.mark.parametrize(("min_width_px", "expected"), [(33, 1), (130, 0)])
async def test_the_plate_of_a_settled_track_is_followed_where_it_is_expected(
    min_width_px: int, expected: int
) -> None:
    state, _ = play(SETTLED)
    pool, published = ScriptedPool(()), Published()
    pool.followed = (KnownPlate(0, FOLLOWED),)
    sent = record(captured_ms=START_MS + 600, min_plate_width_px=min_width_px)
    await stage(pool, published, state=state).handle(sent, turn, keep_room)
    assert pool.hints == [AnalysisHints(known=(Box(x=100, y=100, width=120, height=30),))]
    ((_, out),) = published.records
    boxes = [(one.track, one.box) for one in out.followed]
    assert boxes == [(state.tracks[0].name, FOLLOWED)][:expected]


async def test_the_time_of_a_process_for_a_frame_is_measured() -> None:
    registry = CollectorRegistry()
    await stage(ScriptedPool(()), Published(), registry=registry).handle(record(), turn, keep_room)
    assert registry.get_sample_value("platestream_recognition_inference_seconds_sum") == 0.012


async def test_a_plate_that_is_followed_out_of_the_zones_is_left_out() -> None:
    state, _ = play(SETTLED)
    pool, published = ScriptedPool(()), Published()
    pool.followed = (KnownPlate(0, FOLLOWED),)
    corners = (Point(x=0.5, y=0), Point(x=1, y=0), Point(x=1, y=1), Point(x=0.5, y=1))
    right_half = Zone(kind=ZoneKind.INCLUDE, points=corners)
    sent = record(captured_ms=START_MS + 600, zones=(right_half,))
    await stage(pool, published, state=state).handle(sent, turn, keep_room)
    assert published.records[0][1].followed == ()


async def test_results_wait_for_their_turn() -> None:
    published = Published()
    first, second = QueuePosition(None), None
    second = QueuePosition(first)
    later = asyncio.create_task(
        stage(ScriptedPool((reading("SECOND1"),)), published).handle(
            record(), second.wait, keep_room
        )
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert published.records == []
    async with first:
        await stage(ScriptedPool((reading("FIRST11"),)), published).handle(
            record(), first.wait, keep_room
        )
    await later
    assert [r.readings[0].text for _, r in published.records] == ["FIRST11", "SECOND1"]
