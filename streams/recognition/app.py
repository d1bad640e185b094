"""The recognition stage: frames -> readings -> recognitions."""

import time
from dataclasses import dataclass
from functools import partial
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
from common.telemetry.messaging import message_trace
from common.timestamps import now_ms
from recognition.workers.pool import RecognizerPool
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.reading.agent import FrameRecord, ReadingAgent
from streams.recognition.reading.fair_share import FairShare
from streams.recognition.reading.frame_pieces import PieceFetcher
from streams.recognition.reading.frame_store import FrameCache, FrameFetcher, FrameStore
from streams.recognition.reading.gaps import FreshFirst, GapKeeper
from streams.recognition.reading.late_lane import LateLane, LateLaneService
from streams.recognition.reading.late_pace import LatePace
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
from streams.runtime.guard import Guard, MessageSource, build_guard
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
    _add_reading(parts, settings, states, _gap_keeper(app))
    _add_tracking(parts, settings, cameras, states)
    return app


def _gap_keeper(app: StageApp) -> GapKeeper:
    """Return the keeper of gaps with its table, wired to rebalances."""
    table = faust_table(app, "gaps")
    keeper = GapKeeper(DurableTable(table))
    frames = raw_topic(app, FRAMES)

    async def restore() -> None:
        keeper.restore(app.own_partitions(frames))

    table.on_recover(restore)
    return keeper


def _add_reading(
    parts: _AgentParts,
    settings: RecognitionSettings,
    states: TrackerStateStore,
    keeper: GapKeeper,
) -> None:
    app, topic = parts.app, raw_topic(parts.app, FRAMES)
    deadline_ms = round(settings.reading_deadline_seconds * 1000)
    pool = RecognizerPool(_pool_settings(settings))
    tasks = OrderedTaskPool(_max_frames(settings))
    readings = TopicPublisher(raw_topic(app, READINGS))
    app.add_dependency(RecognizerService(pool, tasks))
    parts.metrics.watch_replaced(pool)
    app.details = partial(_details, pool)

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
        track_end_ms=round(settings.tracking_end_seconds * 1000),
        # Half-way to where frames are left for later they are thinned out, not to get there.
        late_pace=LatePace(deadline_ms // 2, lambda: keeper.oldest_age_ms(now_ms())),
        now_ms=now_ms,
        open_gaps=lambda place: keeper.book.before(place.partition, place.offset),
    )
    app.gaps = FreshFirst(
        topic=topic.get_topic_name(),
        places=app,
        keeper=keeper,
        after_ms=deadline_ms,
        now_ms=now_ms,
    )
    lane = LateLane(
        stage=app,
        topic=topic.get_topic_name(),
        keeper=keeper,
        own_partitions=lambda: app.own_partitions(topic),
        source=PieceFetcher(settings),
        reading=reading,
        publish=publish,
        reject=lambda record, error: parts.guard.set_aside(_source_of(topic, record), error),
        has_room=lambda: not pool.waiting and pool.working < pool.size,
        metrics=parts.metrics,
        count_gone=app.metrics.messages_gone,
        past_end_ms=_longest_track_ms(settings),
        now_ms=now_ms,
    )
    app.add_dependency(LateLaneService(lane))

    worker = OrderedFrameWorker(tasks, parts.guard, reading)

    @app.agent(topic, name=f"{STAGE}-reading", concurrency=1)
    async def read_frames(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await worker.submit(event)


def _add_tracking(
    parts: _AgentParts, settings: RecognitionSettings, cameras: Any, states: TrackerStateStore
) -> None:
    app, guard = parts.app, parts.guard
    frames = FrameStore(parts.cache, FrameFetcher(settings), parts.metrics)
    tracking = TrackingAgent(
        states=states,
        frames=frames,
        images=_image_keeper(parts, settings, frames),
        publish=TopicPublisher(raw_topic(app, RECOGNITIONS)).publish,
        publish_outcome=TopicPublisher(raw_topic(app, OUTCOMES)).publish,
        publish_provisional=TopicPublisher(raw_topic(app, SIGHTINGS)).publish,
        publish_counts=TopicPublisher(raw_topic(app, CAMERA_COUNTS)).publish,
        counter=CameraCounter(),
        marks=CountMarks(DurableTable(faust_table(app, "counted"))),
        metrics=parts.metrics,
        rules=tracking_rules(settings),
        now_ms=now_ms,
    )

    async def begin_counting() -> None:
        tracking.forget_counts()

    cameras.on_recover(begin_counting)

    async def track(event: Event) -> None:
        guard.require_next(event)
        message = event.message
        await tracking.handle(message.key or b"", message.value or b"", message_trace(message))

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


def _source_of(topic: faust.TopicT, record: FrameRecord) -> MessageSource:
    return MessageSource(
        topic=topic.get_topic_name(),
        partition=record.reference.partition,
        offset=record.reference.offset,
        key=record.key,
        value=record.value,
    )


def _longest_track_ms(settings: RecognitionSettings) -> int:
    """Return how long after its beginning a track may be seen last and then be over."""
    return round(1000 * (settings.tracking_longest_seconds + settings.tracking_end_seconds))


def _max_frames(settings: RecognitionSettings) -> int:
    # A process gets the next batch before it is done with the last.
    each = max(settings.reading_frames_per_worker, 2 * settings.batch_size)
    return each * settings.worker_count


def _details(pool: RecognizerPool) -> dict[str, object]:
    """Return what ``/readyz`` says: the processes that read, and what they read with."""
    choice = pool.choice
    return {"recognisers": len(pool.pids), "models": None if choice is None else choice.summary()}


def _pool_settings(settings: RecognitionSettings) -> RecognitionSettings:
    """Return the settings with room in the pool for all that may be under way."""
    room = max(settings.recognition_queue_limit, _max_frames(settings))
    return settings.model_copy(update={"recognition_queue_limit": room})
