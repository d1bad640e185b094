"""The MQTT stage: recognitions, alerts and cameras to the broker.

A stage of its own: a broker that is away holds up these offsets and nothing else.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import faust
import structlog

from contracts.alert_records import AlertTrigger
from contracts.errors import TransientError
from contracts.exit_statuses import EXIT_TEMPORARY_FAILURE
from contracts.moments import now_ms
from contracts.recognitions import Recognition
from contracts.records import decode
from contracts.topics import (
    ALERTS,
    CAMERA_STATUS,
    CONFIG_CAMERAS,
    MQTT_DEAD_LETTERS,
    RECOGNITIONS,
)
from streams.common.app import StageApp, build_app, raw_topic
from streams.common.batch_agent import BatchAgent, add_batch_agent
from streams.common.ending import end_process
from streams.common.guard import Guard, build_guard
from streams.common.retry import RetryPolicy
from streams.common.tables import DurableTable, faust_table
from streams.mqtt.beginning import Beginning
from streams.mqtt.broker import Broker, tls_context, warn_of_clear_text
from streams.mqtt.cameras import CameraBook
from streams.mqtt.intake import CameraTeller, EventTeller
from streams.mqtt.link import BrokerLink, Publish
from streams.mqtt.messages import TopicNames
from streams.mqtt.metrics import MqttMetrics
from streams.mqtt.service import LinkService
from streams.mqtt.settings import MqttStageSettings

log = structlog.get_logger()

STAGE = "mqtt"

_BATCH = 100
_BATCH_WAIT_SECONDS = 0.02


def build_mqtt_app(settings: MqttStageSettings) -> StageApp:
    """Return the stage's app with its agents, not yet started.

    Raises:
        MisconfiguredError: a file of certificates cannot be read.
    """
    app = build_app(settings, STAGE)
    dead_letters = raw_topic(app, MQTT_DEAD_LETTERS)
    guard = build_guard(app, stage=STAGE, dead_letters=dead_letters, gives_up=False)
    metrics = MqttMetrics(app.metrics.registry)
    names = TopicNames(settings.mqtt_topic_prefix, settings.mqtt_discovery_prefix)
    link = _link(settings, names, metrics)
    table = faust_table(app, "cameras")
    beginning = Beginning(DurableTable(faust_table(app, "beginnings")), now_ms)
    book = CameraBook(
        DurableTable(table),
        link.publish,
        names,
        wants=_wants(settings),
        offline_after_ms=round(settings.camera_offline_seconds * 1000),
    )
    teller = EventTeller(
        link.publish, names, metrics, beginning, wants=_wants(settings), now_ms=now_ms
    )
    _add_events(app, guard, teller)
    _add_cameras(app, CameraTeller(guard, book, beginning), guard)
    _join(app, link, book, beginning, table)
    return app


def _link(settings: MqttStageSettings, names: TopicNames, metrics: MqttMetrics) -> BrokerLink:
    warn_of_clear_text(settings)
    broker = Broker(settings, names.availability, tls_context(settings))
    retry = RetryPolicy(longest_pause_seconds=settings.stream_retry_pause_seconds)
    return BrokerLink(broker.open, metrics, retry=retry)


def _add_events(app: StageApp, guard: Guard, teller: EventTeller) -> None:
    recognitions = BatchAgent(guard, partial(decode, Recognition), teller.recognitions)
    triggers = BatchAgent(guard, partial(decode, AlertTrigger), teller.triggers)
    for topic, take in ((RECOGNITIONS, recognitions.take), (ALERTS, triggers.take)):
        add_batch_agent(
            app, topic, take, stage=STAGE, most=_BATCH, within_seconds=_BATCH_WAIT_SECONDS
        )


def _add_cameras(app: StageApp, teller: CameraTeller, guard: Guard) -> None:
    @app.agent(raw_topic(app, CONFIG_CAMERAS), name=f"{STAGE}-configuration", concurrency=1)
    async def take_configurations(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await guard.run(event, teller.configuration)

    @app.agent(raw_topic(app, CAMERA_STATUS), name=f"{STAGE}-cameras", concurrency=1)
    async def take_statuses(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await guard.run(event, teller.status)


def _join(
    app: StageApp, link: BrokerLink, book: CameraBook, beginning: Beginning, table: Any
) -> None:
    recognitions = raw_topic(app, RECOGNITIONS)

    async def greet(publish: Publish) -> None:
        await book.tell_all(publish, app.own_partitions(recognitions))

    async def begin() -> None:
        try:
            await beginning.note(sorted(app.own_partitions(recognitions)))
        except TransientError as error:
            # Nothing may be read before; the supervisor starts the stage again.
            log.error("kafka_away", error=str(error))
            end_process(EXIT_TEMPORARY_FAILURE)
        book.begin()
        # Before there is nothing to tell yet.
        link.greet = greet
        link.renew()

    # When all tables are there, and before anything is read.
    table.on_recover(begin)
    app.add_dependency(LinkService(link))


def _wants(settings: MqttStageSettings) -> Callable[[UUID], bool]:
    owners = frozenset(settings.mqtt_owners)
    return lambda owner_id: not owners or owner_id in owners
