"""The recognition stage: frames -> readings -> recognitions."""

from dataclasses import dataclass

import faust

from contracts.moments import now_ms
from contracts.readings import FrameReadings
from contracts.topics import (
    FRAMES,
    OUTCOMES,
    READING_DEAD_LETTERS,
    READINGS,
    RECOGNITIONS,
    SIGHTINGS,
)
from recognition.pool import RecognizerPool
from streams.common.app import Event, StageApp, build_app, raw_topic
from streams.common.guard import Guard, build_guard
from streams.common.tables import DurableTable, faust_table
from streams.recognition.frame_cache import FrameCache
from streams.recognition.frame_fetcher import FrameFetcher
from streams.recognition.frames import FrameStore
from streams.recognition.image_store import ImageStore
from streams.recognition.lanes import ReadingLanes
from streams.recognition.metrics import RecognitionMetrics
from streams.recognition.ordered_window import OrderedWindow
from streams.recognition.publishing import TopicPublisher
from streams.recognition.reading import Reading
from streams.recognition.rules import tracking_rules
from streams.recognition.service import Recognizers
from streams.recognition.settings import RecognitionSettings
from streams.recognition.states import CameraStates
from streams.recognition.tracking import Tracking

STAGE = "recognition"

_POLLED_RECORDS = 16


@dataclass(frozen=True)
class _Shared:
    """What both agents use."""

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
        stream_buffer_maxsize=_window(settings),
        max_poll_records=_POLLED_RECORDS,
        linger_ms=0,
    )
    guard = build_guard(app, stage=STAGE, dead_letters=raw_topic(app, READING_DEAD_LETTERS))
    shared = _Shared(
        app,
        guard,
        FrameCache(settings.reading_cache_bytes),
        RecognitionMetrics(app.metrics.registry),
    )
    _add_reading(shared, settings)
    _add_tracking(shared, settings)
    return app


def _add_reading(shared: _Shared, settings: RecognitionSettings) -> None:
    app = shared.app
    pool = RecognizerPool(_pool_settings(settings))
    window = OrderedWindow(_window(settings))
    readings = TopicPublisher(raw_topic(app, READINGS))
    app.add_dependency(Recognizers(pool, window))
    shared.metrics.watch_replaced(pool)

    async def publish(key: bytes, record: FrameReadings) -> None:
        await readings.publish(key, record, record.frame.partition)

    reading = Reading(
        pool=pool,
        cache=shared.cache,
        publish=publish,
        metrics=shared.metrics,
        deadline_ms=round(settings.reading_deadline_seconds * 1000),
        now_ms=now_ms,
    )

    lanes = ReadingLanes(window, shared.guard, reading)

    @app.agent(raw_topic(app, FRAMES), name=f"{STAGE}-reading", concurrency=1)
    async def read_frames(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await lanes.submit(event)


def _add_tracking(shared: _Shared, settings: RecognitionSettings) -> None:
    app, guard = shared.app, shared.guard
    tracking = Tracking(
        states=CameraStates(DurableTable(faust_table(app, "cameras"))),
        frames=FrameStore(shared.cache, FrameFetcher(settings), shared.metrics),
        images=ImageStore(settings),
        publish=TopicPublisher(raw_topic(app, RECOGNITIONS)).publish,
        publish_outcome=TopicPublisher(raw_topic(app, OUTCOMES)).publish,
        publish_sighting=TopicPublisher(raw_topic(app, SIGHTINGS)).publish,
        metrics=shared.metrics,
        rules=tracking_rules(settings),
        now_ms=now_ms,
    )

    async def track(event: Event) -> None:
        guard.require_next(event)
        await tracking.handle(event.message.key or b"", event.message.value or b"")

    @app.agent(raw_topic(app, READINGS), name=f"{STAGE}-tracking", concurrency=1)
    async def track_vehicles(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await guard.run(event, track)


def _window(settings: RecognitionSettings) -> int:
    # A process gets the next batch before it is done with the last.
    each = max(settings.reading_frames_per_worker, 2 * settings.batch_size)
    return each * settings.worker_count


def _pool_settings(settings: RecognitionSettings) -> RecognitionSettings:
    """Return the settings with room in the pool for all that may be under way."""
    room = max(settings.recognition_queue_limit, _window(settings))
    return settings.model_copy(update={"recognition_queue_limit": room})
