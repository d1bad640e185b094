"""Builds the recognition stage, which reads the plates in frames and recognises passes."""

import time

import faust

from common.metrics import LABELLED_CAMERAS
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
from recognition.workers.pool import QUEUE_LIMIT, RecognizerPool
from streams.recognition.frame_store import FrameCache, FrameLog, FrameRecord, FrameStore
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.reading.agent import Publish, ReadingAgent
from streams.recognition.reading.backlog_reader import BacklogReader
from streams.recognition.reading.fair_share import FairShare
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
from streams.recognition.tracking.passes import LONGEST_TRACK_MS, tracking_rules
from streams.recognition.tracking.pending_images import PassImageStore
from streams.recognition.tracking.state_store import TrackerStateStore
from streams.runtime.app import Event, StageApp, build_app, raw_topic
from streams.runtime.backlog import Backlog, GapRule
from streams.runtime.sending import TopicPublisher
from streams.runtime.stage_runner import MessageSource, StageRunner, build_runner
from streams.runtime.tables import DurableTable, faust_table

STAGE = "recognition"

_POLLED_RECORDS = 16
# Older frames are deferred and read later, at a reduced rate. The limit is longer than the failover
# of a worker, which takes a session timeout and a rebalance.
DEADLINE_MS = 20_000
# Frames of current passes are cached in memory. Evicted frames are fetched from Kafka again.
CACHE_BYTES = 134_217_728
# Number of frames in flight per inference worker. A few frames keep the worker busy.
_FRAMES_PER_WORKER = 4


def build_recognition_app(settings: RecognitionSettings) -> StageApp:
    """Return the stage's app, not yet started. One agent reads frames, and one tracks vehicles."""
    # A frame is 0.3 MB, so Faust's buffer has the same limit as the frames being processed.
    app = build_app(
        settings,
        STAGE,
        stream_buffer_maxsize=_max_frames(settings),
        max_poll_records=_POLLED_RECORDS,
        linger_ms=0,
    )
    runner = build_runner(app, stage=STAGE, dead_letters=raw_topic(app, READING_DEAD_LETTERS))
    metrics = RecognitionMetrics(app.metrics.registry, cameras=LABELLED_CAMERAS)
    cache = FrameCache(CACHE_BYTES)
    cameras = faust_table(app, "cameras")
    states = TrackerStateStore(DurableTable(cameras))
    _add_reading(app, settings, runner, metrics, cache, states)
    tracking = _add_tracking(app, settings, runner, metrics, cache, states)
    app.on_recovery(cameras, raw_topic(app, READINGS), lambda _: tracking.forget_counts())
    return app


def _add_reading(
    app: StageApp,
    settings: RecognitionSettings,
    runner: StageRunner,
    metrics: RecognitionMetrics,
    cache: FrameCache,
    states: TrackerStateStore,
) -> None:
    """Add the agent that turns frames into readings, and the late lane for deferred frames."""
    frames, publisher = raw_topic(app, FRAMES), TopicPublisher(raw_topic(app, READINGS))
    pool = RecognizerPool(settings, queue_limit=max(QUEUE_LIMIT, _max_frames(settings)))
    tasks = OrderedTaskPool(_max_frames(settings))
    app.add_dependency(RecognizerService(pool, tasks))
    metrics.replaced.set_function(lambda: pool.replaced)
    app.details = lambda: _details(pool, settings)
    gaps = _open_gaps(app)

    async def publish(key: bytes, record: FrameReadings) -> None:
        await publisher.publish(key, record, record.frame.partition)

    reading = ReadingAgent(
        pool=pool,
        cache=cache,
        state_of=states.get,
        publish=publish,
        metrics=metrics,
        fair_share=FairShare(
            time.monotonic, readers=settings.worker_count, is_busy=lambda: tasks.is_full
        ),
        track_end_ms=round(settings.tracking_end_seconds * 1000),
        # Frames are thinned out from half the deferral age on, so that fewer must be deferred.
        late_pace=LatePace(DEADLINE_MS // 2, lambda: gaps.oldest_age_ms(now_ms())),
        now_ms=now_ms,
        open_gaps=lambda frame: gaps.before(frame.partition, frame.offset),
    )
    worker = OrderedFrameWorker(tasks, runner, reading)

    @app.agent(frames, name=f"{STAGE}-reading", concurrency=1)
    async def read_frames(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await worker.submit(event)

    _add_late_lane(app, settings, runner, metrics, pool, gaps, reading, publish)


def _open_gaps(app: StageApp) -> Backlog:
    """Return the gaps of the frames topic, restored after each rebalance."""
    frames, table = raw_topic(app, FRAMES), faust_table(app, "gaps")
    gaps = Backlog(DurableTable(table))
    app.on_recovery(table, frames, gaps.restore)
    app.gaps = GapRule(
        gaps,
        frames.get_topic_name(),
        after_ms=DEADLINE_MS,
        offset_since=app.offset_since,
        end_offset=app.end_offset,
        now_ms=now_ms,
    )
    return gaps


def _add_late_lane(
    app: StageApp,
    settings: RecognitionSettings,
    runner: StageRunner,
    metrics: RecognitionMetrics,
    pool: RecognizerPool,
    gaps: Backlog,
    reading: ReadingAgent,
    publish: Publish,
) -> None:
    """Add the task that turns the frames of gaps into readings."""
    frames = raw_topic(app, FRAMES)
    lane = BacklogReader(
        app=app,
        topic=frames,
        gaps=gaps,
        frames=FrameLog(settings),
        reading=reading,
        publish=publish,
        reject=lambda record, error: runner.send_to_dead_letters(_source_of(frames, record), error),
        has_capacity=lambda: not pool.waiting and pool.working < pool.size,
        metrics=metrics,
        past_end_ms=_longest_track_ms(settings),
        now_ms=now_ms,
    )
    app.task(lane.run)


def _add_tracking(
    app: StageApp,
    settings: RecognitionSettings,
    runner: StageRunner,
    metrics: RecognitionMetrics,
    cache: FrameCache,
    states: TrackerStateStore,
) -> TrackingAgent:
    """Add the agent that turns readings into recognitions with images. Return its handler."""
    readings, table = raw_topic(app, READINGS), faust_table(app, "pending-images")
    frames = FrameStore(cache, FrameLog(settings), metrics)
    images = PassImageStore(
        app=app,
        table=DurableTable(table),
        fetch=frames.jpeg,
        store=RecognitionImageStore(settings),
        publish_lost=TopicPublisher(raw_topic(app, LOST_IMAGES)).publish,
        metrics=metrics,
        now_ms=now_ms,
    )
    app.on_recovery(table, readings, images.restore)
    app.task(images.run)
    tracking = TrackingAgent(
        states=states,
        frames=frames,
        images=images,
        publish=TopicPublisher(raw_topic(app, RECOGNITIONS)).publish,
        publish_outcome=TopicPublisher(raw_topic(app, OUTCOMES)).publish,
        publish_provisional=TopicPublisher(raw_topic(app, SIGHTINGS)).publish,
        publish_counts=TopicPublisher(raw_topic(app, CAMERA_COUNTS)).publish,
        counter=CameraCounter(),
        marks=CountMarks(DurableTable(faust_table(app, "counted"))),
        metrics=metrics,
        rules=tracking_rules(settings),
        now_ms=now_ms,
    )

    async def track(event: Event) -> None:
        runner.require_next(event)
        message = event.message
        await tracking.handle(message.key or b"", message.value or b"", message_trace(message))

    @app.agent(readings, name=f"{STAGE}-tracking", concurrency=1)
    async def track_vehicles(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await runner.run(event, track)

    return tracking


def _source_of(topic: faust.TopicT, record: FrameRecord) -> MessageSource:
    return MessageSource(
        topic=topic.get_topic_name(),
        partition=record.reference.partition,
        offset=record.reference.offset,
        key=record.key,
        value=record.value,
    )


def _longest_track_ms(settings: RecognitionSettings) -> int:
    """Return the maximum time from the beginning of a track to its end."""
    return LONGEST_TRACK_MS + round(1000 * settings.tracking_end_seconds)


def _max_frames(settings: RecognitionSettings) -> int:
    # An inference worker gets the next batch before it has finished the previous batch.
    each = max(_FRAMES_PER_WORKER, 2 * settings.batch_size)
    return each * settings.worker_count


def _details(pool: RecognizerPool, settings: RecognitionSettings) -> dict[str, object]:
    """Return the details for ``/readyz``: inference workers and the precision of the models."""
    return {"recognisers": len(pool.pids), "precision": settings.precision}
