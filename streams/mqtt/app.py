"""The MQTT stage: recognitions, alerts and cameras to the broker.

A stage of its own: an unavailable broker holds up these offsets and nothing else.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

import faust
import structlog
from mode import Service

from common.errors import EXIT_TEMPORARY_FAILURE, TransientError
from common.kafka.compacted import CompactedTopicReader
from common.records.alerts import AlertConfig, AlertTrigger
from common.records.codec import decode
from common.records.recognitions import Recognition
from common.records.topics import (
    ALERTS,
    CAMERA_STATUS,
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    MQTT_DEAD_LETTERS,
    RECOGNITIONS,
)
from common.retry import RetryPolicy
from common.settings import S3Settings
from common.timestamps import now_ms
from streams.mqtt.broker import Broker, tls_context, warn_of_plaintext_login
from streams.mqtt.camera_registry import CameraRegistry
from streams.mqtt.events import CameraUpdates, EventPublisher, StartTimes
from streams.mqtt.messages import TopicNames
from streams.mqtt.metrics import MqttMetrics
from streams.mqtt.picture_store import NoPictures, PictureStore
from streams.mqtt.pictures import PictureKeeper, PicturePace, PictureScope, ReadsPictures
from streams.mqtt.reconnecting_client import Publish, ReconnectingClient
from streams.mqtt.settings import MqttStageSettings
from streams.runtime.alert_book import AlertBook, AlertSubscription
from streams.runtime.app import StageApp, build_app, raw_topic
from streams.runtime.batch_agent import BatchAgent, add_batch_agent
from streams.runtime.guard import Guard, build_guard
from streams.runtime.process_exit import end_process
from streams.runtime.tables import DurableTable, faust_table


class ClientService(Service):
    """The client of the broker and what it shows, for as long as the app runs."""

    def __init__(self, client: ReconnectingClient, pictures: PictureKeeper, **options: Any) -> None:
        super().__init__(**options)
        self._client = client
        self._pictures = pictures
        self._running: list[asyncio.Task[None]] = []

    async def on_start(self) -> None:
        """Begin to connect; agents wait until that went well."""
        self._running = [
            asyncio.create_task(self._client.run()),
            asyncio.create_task(self._pictures.run()),
        ]

    async def on_stop(self) -> None:
        """Say good-bye to the broker."""
        for task in reversed(self._running):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._pictures.close()


log = structlog.get_logger()

STAGE = "mqtt"

_BATCH = 100
_BATCH_WAIT_SECONDS = 0.01


def build_mqtt_app(settings: MqttStageSettings, images: S3Settings | None) -> StageApp:
    """Return the stage's app with its agents, not yet started.

    ``images`` is where pictures are, None where none are shown.

    Raises:
        MisconfiguredError: a file of certificates cannot be read.
    """
    app = build_app(settings, STAGE)
    dead_letters = raw_topic(app, MQTT_DEAD_LETTERS)
    guard = build_guard(app, stage=STAGE, dead_letters=dead_letters, gives_up=False)
    metrics = MqttMetrics(app.metrics.registry)
    names = TopicNames(settings.mqtt_topic_prefix, settings.mqtt_discovery_prefix)
    client = _reconnecting_client(settings, names, metrics)
    table = faust_table(app, "cameras")
    start_times = StartTimes(DurableTable(faust_table(app, "beginnings")), now_ms)
    registry = CameraRegistry(
        DurableTable(table),
        client.publish,
        names,
        is_wanted=_owner_filter(settings),
        offline_after_ms=round(settings.camera_offline_seconds * 1000),
        has_pictures=images is not None,
    )
    pictures = PictureKeeper(
        kind=settings.mqtt_picture,
        table=DurableTable(faust_table(app, "pictures")),
        store=_picture_store(settings, images),
        publish=client.publish,
        names=names,
        scope=_picture_scope(app, settings, registry),
        pace=PicturePace(
            pause_seconds=settings.mqtt_picture_seconds,
            check_seconds=settings.mqtt_picture_check_seconds,
        ),
        metrics=metrics,
        now_ms=now_ms,
    )
    alerts = AlertBook()
    reader = CompactedTopicReader(settings, CONFIG_ALERTS, AlertConfig, alerts.apply, client=STAGE)
    app.add_dependency(AlertSubscription(reader))
    publisher = EventPublisher(
        client.publish,
        names,
        metrics,
        start_times,
        alerts,
        pictures,
        is_wanted=_owner_filter(settings),
        now_ms=now_ms,
    )
    _add_events(app, guard, publisher)
    _add_cameras(app, CameraUpdates(guard, registry, pictures, start_times), guard)
    _join(app, client, registry, pictures, start_times, table)
    return app


def _reconnecting_client(
    settings: MqttStageSettings, names: TopicNames, metrics: MqttMetrics
) -> ReconnectingClient:
    warn_of_plaintext_login(settings)
    broker = Broker(settings, names.availability, tls_context(settings))
    retry = RetryPolicy(longest_pause_seconds=settings.stream_retry_pause_seconds)
    return ReconnectingClient(broker.open, metrics, retry=retry)


def _picture_store(settings: MqttStageSettings, images: S3Settings | None) -> ReadsPictures:
    if images is None:
        return NoPictures()
    return PictureStore(images, max_bytes=settings.mqtt_picture_bytes)


def _picture_scope(
    app: StageApp, settings: MqttStageSettings, registry: CameraRegistry
) -> PictureScope:
    recognitions = raw_topic(app, RECOGNITIONS)
    return PictureScope(
        is_wanted=_owner_filter(settings),
        is_known=registry.is_known,
        owns=lambda partition: partition in app.own_partitions(recognitions),
    )


def _add_events(app: StageApp, guard: Guard, publisher: EventPublisher) -> None:
    recognitions = BatchAgent(guard, partial(decode, Recognition), publisher.publish_recognitions)
    triggers = BatchAgent(guard, partial(decode, AlertTrigger), publisher.publish_triggers)
    for topic, take in ((RECOGNITIONS, recognitions.take), (ALERTS, triggers.take)):
        add_batch_agent(
            app, topic, take, stage=STAGE, max_batch=_BATCH, within_seconds=_BATCH_WAIT_SECONDS
        )


def _add_cameras(app: StageApp, updates: CameraUpdates, guard: Guard) -> None:
    @app.agent(raw_topic(app, CONFIG_CAMERAS), name=f"{STAGE}-configuration", concurrency=1)
    async def take_configurations(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await guard.run(event, updates.apply_configuration)

    @app.agent(raw_topic(app, CAMERA_STATUS), name=f"{STAGE}-cameras", concurrency=1)
    async def take_statuses(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await guard.run(event, updates.apply_status)


def _join(
    app: StageApp,
    client: ReconnectingClient,
    registry: CameraRegistry,
    pictures: PictureKeeper,
    start_times: StartTimes,
    table: Any,
) -> None:
    recognitions = raw_topic(app, RECOGNITIONS)

    async def announce(publish: Publish) -> None:
        await registry.publish_all(publish, app.own_partitions(recognitions))
        pictures.publish_again()

    async def begin() -> None:
        try:
            await start_times.record(sorted(app.own_partitions(recognitions)))
        except TransientError as error:
            # Nothing may be read before; the supervisor starts the stage again.
            log.error("kafka_away", error=str(error))
            end_process(EXIT_TEMPORARY_FAILURE)
        registry.reset()
        # Before that there is nothing to announce.
        client.announce = announce
        client.announce_again()

    # When all tables are there, and before anything is read.
    table.on_recover(begin)
    app.add_dependency(ClientService(client, pictures))


def _owner_filter(settings: MqttStageSettings) -> Callable[[UUID], bool]:
    owners = frozenset(settings.mqtt_owners)
    return lambda owner_id: not owners or owner_id in owners
