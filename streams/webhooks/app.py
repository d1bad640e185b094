"""The webhooks stage: what happened -> deliveries -> attempts -> how each webhook fares."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import faust

from contracts.alert_records import AlertTrigger
from contracts.cameras import CameraConfig
from contracts.deliveries import DeliveryAttempt, WebhookStatus
from contracts.moments import now_ms
from contracts.outbound import OutboundRules
from contracts.recognitions import Recognition
from contracts.records import decode, encode
from contracts.secrets import SecretBox
from contracts.topic_feed import TopicFeed
from contracts.topics import (
    ALERTS,
    ATTEMPTS,
    CAMERA_STATUS,
    CONFIG_CAMERAS,
    CONFIG_WEBHOOKS,
    DELIVERIES,
    RECOGNITIONS,
    WEBHOOK_STATUS,
    WEBHOOKS_DEAD_LETTERS,
    Topic,
)
from contracts.webhooks import WebhookConfig
from streams.common.app import StageApp, build_app, raw_topic
from streams.common.batch_agent import BatchAgent, Take, add_batch_agent
from streams.common.guard import Guard, build_guard
from streams.common.sending import Outgoing, try_to_send
from streams.common.tables import DurableTable, faust_table
from streams.webhooks.bounds import PendingBounds
from streams.webhooks.delivering import Deliverer, SendsMails
from streams.webhooks.directory import Directory
from streams.webhooks.dispatcher import Dispatcher
from streams.webhooks.http_sender import HttpSender
from streams.webhooks.images import ImageReader
from streams.webhooks.intake import CameraWatch, DeliveryIntake, FanOut, StatusKeeper, publisher_of
from streams.webhooks.jobs import DispatchRules, Send
from streams.webhooks.mail import MailSender, NoMail
from streams.webhooks.metrics import DeliveryMetrics
from streams.webhooks.pending import PendingTable
from streams.webhooks.queues import QueueRules
from streams.webhooks.recorder import TellsAttempts
from streams.webhooks.service import DeliveryService
from streams.webhooks.settings import WebhooksSettings
from streams.webhooks.status import SwitchOffRules

STAGE = "webhooks"

_BATCH = 500
_BATCH_WAIT_SECONDS = 0.02
_STATUS_WAIT_SECONDS = 0.25


@dataclass(frozen=True)
class _Shared:
    """What all agents use."""

    app: StageApp
    settings: WebhooksSettings
    guard: Guard
    directory: Directory
    box: SecretBox


def build_webhooks_app(settings: WebhooksSettings) -> StageApp:
    """Return the stage's app with its agents, not yet started.

    Raises:
        MisconfiguredError: the secret key cannot be used.
    """
    box = SecretBox(settings.secret_key.get_secret_value())
    app = build_app(settings, STAGE, linger_ms=2)
    guard = build_guard(app, stage=STAGE, dead_letters=raw_topic(app, WEBHOOKS_DEAD_LETTERS))
    shared = _Shared(app, settings, guard, Directory(box), box)
    _add_fan_out(shared)
    _add_camera_watch(shared)
    _add_delivery(shared)
    _add_status(shared)
    return app


def _add_fan_out(shared: _Shared) -> None:
    publish = publisher_of(raw_topic(shared.app, DELIVERIES))
    fan_out = FanOut(shared.directory, shared.box, publish)
    recognitions = BatchAgent(shared.guard, partial(decode, Recognition), fan_out.recognitions)
    triggers = BatchAgent(shared.guard, partial(decode, AlertTrigger), fan_out.triggers)
    _add_batches(shared.app, RECOGNITIONS, recognitions.take, _BATCH_WAIT_SECONDS)
    _add_batches(shared.app, ALERTS, triggers.take, _BATCH_WAIT_SECONDS)


def _add_batches(app: StageApp, topic: Topic, take: Take, wait_seconds: float) -> None:
    add_batch_agent(app, topic, take, stage=STAGE, most=_BATCH, within_seconds=wait_seconds)


def _add_camera_watch(shared: _Shared) -> None:
    watch = CameraWatch(
        shared.guard,
        shared.directory,
        DurableTable(faust_table(shared.app, "camera-presence")),
        publisher_of(raw_topic(shared.app, DELIVERIES)),
        offline_after_ms=round(shared.settings.camera_offline_seconds * 1000),
    )

    @shared.app.agent(raw_topic(shared.app, CAMERA_STATUS), name=f"{STAGE}-cameras", concurrency=1)
    async def watch_cameras(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await shared.guard.run(event, watch.handle)


def _add_delivery(shared: _Shared) -> None:
    app, settings = shared.app, shared.settings
    http = HttpSender(
        OutboundRules(settings.webhook_allowed_networks),
        timeout_seconds=settings.webhook_timeout_seconds,
    )
    images = ImageReader(settings)
    deliverer = Deliverer(
        directory=shared.directory,
        box=shared.box,
        http=http,
        mail=_mail(settings, images),
        now_ms=now_ms,
    )
    dispatcher = _add_dispatcher(shared, deliverer.send)

    async def close() -> None:
        images.close()
        await http.close()

    app.add_dependency(DeliveryService(_feeds(shared), dispatcher, close))


def _add_dispatcher(shared: _Shared, send: Send) -> Dispatcher:
    """Return the dispatcher with its table, its agent and what a rebalance means to it."""
    app = shared.app
    table = faust_table(app, "pending-deliveries")
    dispatcher = Dispatcher(
        stage=app,
        table=PendingTable(DurableTable(table)),
        tell=_teller_of(raw_topic(app, ATTEMPTS)),
        send=send,
        rules=_dispatch_rules(shared.settings),
        metrics=DeliveryMetrics(app.metrics.registry),
        now_ms=now_ms,
    )
    deliveries = raw_topic(app, DELIVERIES)
    intake = DeliveryIntake(shared.guard, dispatcher.offer)

    async def restore() -> None:
        dispatcher.restore(app.own_partitions(deliveries))

    table.on_recover(restore)

    @app.on_partitions_revoked.connect
    async def fence(*_: Any, **__: Any) -> None:
        await dispatcher.fence()

    @app.agent(deliveries, name=f"{STAGE}-deliveries", concurrency=1)
    async def take_deliveries(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await intake.take(event)

    return dispatcher


def _add_status(shared: _Shared) -> None:
    keeper = StatusKeeper(
        shared.guard,
        shared.directory,
        raw_topic(shared.app, WEBHOOK_STATUS),
        SwitchOffRules(
            failures=shared.settings.webhook_switch_off_failures,
            over_ms=round(shared.settings.webhook_switch_off_seconds * 1000),
        ),
    )
    attempts = BatchAgent(shared.guard, partial(decode, DeliveryAttempt), keeper.take)
    _add_batches(shared.app, ATTEMPTS, attempts.take, _STATUS_WAIT_SECONDS)


def _mail(settings: WebhooksSettings, images: ImageReader) -> SendsMails:
    if not settings.smtp_host:
        return NoMail()
    return MailSender(settings, images.fetch, timeout_seconds=settings.webhook_timeout_seconds)


def _teller_of(topic: faust.TopicT) -> TellsAttempts:
    async def tell(attempts: Sequence[DeliveryAttempt]) -> Sequence[bool]:
        messages = [Outgoing(each.delivery.endpoint.encode(), encode(each)) for each in attempts]
        return await try_to_send(topic, messages)

    return tell


def _feeds(shared: _Shared) -> tuple[TopicFeed[Any], ...]:
    settings, directory = shared.settings, shared.directory
    return (
        TopicFeed(settings, CONFIG_WEBHOOKS, WebhookConfig, directory.take_webhooks, client=STAGE),
        TopicFeed(settings, CONFIG_CAMERAS, CameraConfig, directory.take_cameras, client=STAGE),
        TopicFeed(settings, WEBHOOK_STATUS, WebhookStatus, directory.take_statuses, client=STAGE),
    )


def _dispatch_rules(settings: WebhooksSettings) -> DispatchRules:
    return DispatchRules(
        queues=QueueRules(
            most=settings.webhook_attempts_at_once,
            most_per_endpoint=settings.webhook_attempts_per_endpoint,
        ),
        pending=PendingBounds(
            most=settings.webhook_pending_in_all,
            most_per_endpoint=settings.webhook_pending_per_endpoint,
        ),
        pauses_seconds=settings.webhook_retry_seconds,
    )
