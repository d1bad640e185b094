"""Builds the MQTT stage, which publishes recognitions, alerts and cameras to the broker.

The stage is separate, so that an unavailable broker delays no other stage.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
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
from common.s3 import S3Bucket
from common.settings import S3Settings
from common.timestamps import now_ms
from streams.mqtt.broker import Broker, tls_context, warn_of_plaintext_login
from streams.mqtt.camera_registry import CameraRegistry
from streams.mqtt.events import CameraUpdates, EventPublisher, StartTimes
from streams.mqtt.messages import TopicNames
from streams.mqtt.metrics import MqttMetrics
from streams.mqtt.reconnecting_client import Publish, ReconnectingClient
from streams.mqtt.settings import MqttPicture, MqttStageSettings
from streams.runtime.alert_cache import AlertCache, AlertSubscription
from streams.runtime.app import StageApp, build_app, raw_topic
from streams.runtime.batch_agent import BatchAgent, add_batch_agent
from streams.runtime.process_exit import end_process
from streams.runtime.stage_runner import RETRY_PAUSE_SECONDS, StageRunner, build_runner
from streams.runtime.tables import DurableTable, faust_table

log = structlog.get_logger()

STAGE = "mqtt"

_BATCH = 100
_BATCH_WAIT_SECONDS = 0.01
_LINK_VALIDITY = timedelta(days=1)
"""Lifetime of image URLs. Home Assistant loads an image only when the image is displayed."""


class ClientService(Service):
    """Runs the broker client while the app runs."""

    def __init__(self, client: ReconnectingClient, **options: Any) -> None:
        super().__init__(**options)
        self._client = client
        self._running: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        """Start connecting. Agents wait for the connection."""
        self._running = asyncio.create_task(self._client.run())

    async def on_stop(self) -> None:
        """Report this process offline, and disconnect."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running


def build_mqtt_app(settings: MqttStageSettings, images: S3Settings | None) -> StageApp:
    """Return the stage's app, not yet started.

    ``images`` configures the bucket whose image URLs are published. None: no URLs are published.

    Raises:
        MisconfiguredError: a certificate file cannot be read.
    """
    app = build_app(settings, STAGE)
    runner = build_runner(
        app, stage=STAGE, dead_letters=raw_topic(app, MQTT_DEAD_LETTERS), gives_up=False
    )
    metrics = MqttMetrics(app.metrics.registry)
    names = TopicNames(settings.mqtt_topic_prefix, settings.mqtt_discovery_prefix)
    client = _client(settings, names, metrics)
    table = faust_table(app, "cameras")
    start_times = StartTimes(DurableTable(faust_table(app, "beginnings")), now_ms)
    registry = CameraRegistry(
        DurableTable(table),
        client.publish,
        names,
        is_wanted=_account_filter(settings),
        offline_after_ms=round(settings.camera_offline_seconds * 1000),
        has_images=images is not None,
    )
    alerts = AlertCache()
    reader = CompactedTopicReader(settings, CONFIG_ALERTS, AlertConfig, alerts.apply, client=STAGE)
    app.add_dependency(AlertSubscription(reader))
    publisher = EventPublisher(
        client.publish,
        names,
        metrics,
        start_times,
        alerts,
        image_url=_image_url(settings.mqtt_picture, images),
        is_wanted=_account_filter(settings),
        now_ms=now_ms,
    )
    recognitions = BatchAgent(runner, partial(decode, Recognition), publisher.publish_recognitions)
    triggers = BatchAgent(runner, partial(decode, AlertTrigger), publisher.publish_triggers)
    for topic, take in ((RECOGNITIONS, recognitions.take), (ALERTS, triggers.take)):
        add_batch_agent(
            app, topic, take, stage=STAGE, max_batch=_BATCH, within_seconds=_BATCH_WAIT_SECONDS
        )
    _add_cameras(app, CameraUpdates(runner, registry, start_times), runner)
    _begin_on_recovery(app, client, registry, start_times, table)
    return app


def _client(
    settings: MqttStageSettings, names: TopicNames, metrics: MqttMetrics
) -> ReconnectingClient:
    warn_of_plaintext_login(settings)
    broker = Broker(settings, names.availability, tls_context(settings))
    retry = RetryPolicy(longest_pause_seconds=RETRY_PAUSE_SECONDS)
    return ReconnectingClient(broker.open, metrics, retry=retry)


def _add_cameras(app: StageApp, updates: CameraUpdates, runner: StageRunner) -> None:
    @app.agent(raw_topic(app, CONFIG_CAMERAS), name=f"{STAGE}-configuration", concurrency=1)
    async def take_configurations(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await runner.run(event, updates.apply_configuration)

    @app.agent(raw_topic(app, CAMERA_STATUS), name=f"{STAGE}-cameras", concurrency=1)
    async def take_statuses(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await runner.run(event, updates.apply_status)


def _begin_on_recovery(
    app: StageApp,
    client: ReconnectingClient,
    registry: CameraRegistry,
    start_times: StartTimes,
    table: Any,
) -> None:
    """Announce all cameras once the tables have been read, before other topics are read."""
    recognitions = raw_topic(app, RECOGNITIONS)

    async def announce(publish: Publish) -> None:
        await registry.publish_all(publish, app.own_partitions(recognitions))

    async def begin() -> None:
        try:
            await start_times.record(sorted(app.own_partitions(recognitions)))
        except TransientError as error:
            # Events must not be read without start times, so the process exits and is restarted.
            log.error("kafka_unavailable", error=str(error))
            end_process(EXIT_TEMPORARY_FAILURE)
        registry.reset()
        # Before this point, the registry knew no cameras to announce.
        client.announce = announce
        client.announce_again()

    table.on_recover(begin)
    app.add_dependency(ClientService(client))


def _image_url(
    picture: MqttPicture, images: S3Settings | None
) -> Callable[[Recognition], str | None]:
    """Return a function that returns the presigned URL of a recognition's image, or None."""
    if images is None:
        return lambda _: None
    bucket = S3Bucket(images, read_seconds=1.0, connections=1)

    def url(seen: Recognition) -> str | None:
        key = seen.crop_key if picture is MqttPicture.CROP else seen.photo_key
        return None if key is None else bucket.link(key, _LINK_VALIDITY, "image/jpeg")

    return url


def _account_filter(settings: MqttStageSettings) -> Callable[[UUID], bool]:
    owners = frozenset(settings.mqtt_owners)
    return lambda owner_id: not owners or owner_id in owners
