"""The recognition stage: frames -> readings -> recognitions."""

import time
from dataclasses import dataclass
from typing import Any

import faust

from common.records.recognitions import FrameReadings
from common.records.topics import (
    CAMERA_COUNTS,
    FRAMES,
    LOST_IMAGES,
    OUTCOMES,
    READING_DEAD_LETTERS,
    READINGS,
    RECOGNITIONS,
    SIGHTINGS,
)
from common.timestamps import now_ms
from recognition.workers.pool import RecognizerPool
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.reading.agent import ReadingAgent
from streams.recognition.reading.fair_share import FairShare
from streams.recognition.reading.frame_store import FrameCache, FrameFetcher, FrameStore
from streams.recognition.reading.late_pace import LatePace
from streams.recognition.reading.look_plan import LookPlanner
from streams.recognition.reading.ordered_worker import (
    OrderedFrameWorker,
    OrderedTaskPool,
    RecognizerService,
)
from streams.recognition.settings import RecognitionSettings
from streams.recognition.tracking.agent import TrackingAgent
from streams.recognition.tracking.counting import CameraCounter, CountMarks
from streams.recognition.tracking.images import RecognitionImageStore
from streams.recognition.tracking.passes import tracking_rules
from streams.recognition.tracking.pending_images import ImageKeeper, PendingImageService
from streams.recognition.tracking.state_store import TrackerStateStore
from streams.runtime.app import Event, StageApp, build_app, raw_topic
from streams.runtime.guard import Guard, build_guard
from streams.runtime.sending import TopicPublisher
from streams.runtime.tables import DurableTable, faust_table

STAGE = "recognition"

_POLLED_RECORDS = 16


@dataclass(frozen=True)
class _AgentParts:
    """The parts that both agents use."""

    app: StageApp
    guard: Guard
    cache: FrameCache
    metrics: RecognitionMetrics


def build_recognition_app(settings: RecognitionSettings) -> StageApp:
    """Return the stage's app with its two agents, not yet started."""
    # A frame is 0.3 MB: what Faust may keep waiting is bounded like what is under way.
    app = build_app(
        settings,
        STAGE,
        stream_buffer_maxsize=_max_frames(settings),
        max_poll_records=_POLLED_RECORDS,
        linger_ms=0,
    )
    guard = build_guard(app, stage=STAGE, dead_letters=raw_topic(app, READING_DEAD_LETTERS))
    parts = _AgentParts(
        app,
        guard,
        FrameCache(settings.reading_cache_bytes),
        RecognitionMetrics(app.metrics.registry, cameras=settings.metrics_cameras),
    )
    cameras = faust_table(app, "cameras")
    states = TrackerStateStore(DurableTable(cameras))
    _add_reading(parts, settings, states)
    _add_tracking(parts, settings, cameras, states)
    return app


def _add_reading(
    parts: _AgentParts, settings: RecognitionSettings, states: TrackerStateStore
) -> None:
    app = parts.app
    pool = RecognizerPool(_pool_settings(settings))
    tasks = OrderedTaskPool(_max_frames(settings))
    readings = TopicPublisher(raw_topic(app, READINGS))
    app.add_dependency(RecognizerService(pool, tasks))
    parts.metrics.watch_replaced(pool)

    async def publish(key: bytes, record: FrameReadings) -> None:
        await readings.publish(key, record, record.frame.partition)

    reading = ReadingAgent(
        pool=pool,
        cache=parts.cache,
        state_of=states.get,
        publish=publish,
        metrics=parts.metrics,
        fair_share=FairShare(
            time.monotonic, readers=settings.worker_count, is_busy=lambda: tasks.is_full
        ),
        looks=LookPlanner(round(settings.reading_whole_frame_seconds * 1000)),
        late_pace=LatePace(round(settings.reading_deadline_seconds * 1000)),
        now_ms=now_ms,
    )

    worker = OrderedFrameWorker(tasks, parts.guard, reading)

    @app.agent(raw_topic(app, FRAMES), name=f"{STAGE}-reading", concurrency=1)
    async def read_frames(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await worker.submit(event)


def _add_tracking(
    parts: _AgentParts, settings: RecognitionSettings, cameras: Any, states: TrackerStateStore
) -> None:
    app, guard = parts.app, parts.guard
    frames = FrameStore(parts.cache, FrameFetcher(settings), parts.metrics)
    counter = CameraCounter()
    tracking = TrackingAgent(
        states=states,
        frames=frames,
        images=_image_keeper(parts, settings, frames),
        publish=TopicPublisher(raw_topic(app, RECOGNITIONS)).publish,
        publish_outcome=TopicPublisher(raw_topic(app, OUTCOMES)).publish,
        publish_provisional=TopicPublisher(raw_topic(app, SIGHTINGS)).publish,
        publish_counts=TopicPublisher(raw_topic(app, CAMERA_COUNTS)).publish,
        counter=counter,
        marks=CountMarks(DurableTable(faust_table(app, "counted"))),
        metrics=parts.metrics,
        rules=tracking_rules(settings),
        now_ms=now_ms,
    )

    async def begin_counting() -> None:
        counter.forget()

    cameras.on_recover(begin_counting)

    async def track(event: Event) -> None:
        guard.require_next(event)
        await tracking.handle(event.message.key or b"", event.message.value or b"")

    @app.agent(raw_topic(app, READINGS), name=f"{STAGE}-tracking", concurrency=1)
    async def track_vehicles(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await guard.run(event, track)


def _image_keeper(
    parts: _AgentParts, settings: RecognitionSettings, frames: FrameStore
) -> ImageKeeper:
    """Return the keeper of images with its table, wired to rebalances."""
    app, table = parts.app, faust_table(parts.app, "pending-images")
    keeper = ImageKeeper(
        stage=app,
        table=DurableTable(table),
        fetch=frames.jpeg,
        store=RecognitionImageStore(settings),
        publish_lost=TopicPublisher(raw_topic(app, LOST_IMAGES)).publish,
        metrics=parts.metrics,
        now_ms=now_ms,
    )
    readings = raw_topic(app, READINGS)

    async def restore() -> None:
        keeper.restore(app.own_partitions(readings))

    table.on_recover(restore)
    app.add_dependency(PendingImageService(keeper))
    return keeper


def _max_frames(settings: RecognitionSettings) -> int:
    # A process gets the next batch before it is done with the last.
    each = max(settings.reading_frames_per_worker, 2 * settings.batch_size)
    return each * settings.worker_count


def _pool_settings(settings: RecognitionSettings) -> RecognitionSettings:
    """Return the settings with room in the pool for all that may be under way."""
    room = max(settings.recognition_queue_limit, _max_frames(settings))
    return settings.model_copy(update={"recognition_queue_limit": room})
