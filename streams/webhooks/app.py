"""Builds the webhooks stage, which turns events into deliveries, and attempts into statuses."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import faust
from mode import Service

from common.kafka.compacted import CompactedTopicReader
from common.mail.rate_limit import HourlyLimits
from common.owner_limits import LimitUsageGauge
from common.records.alerts import AlertConfig, AlertTrigger
from common.records.cameras import CameraConfig
from common.records.codec import decode, encode
from common.records.deliveries import DeliveryAttempt, WebhookStatus
from common.records.owners import OwnerConfig
from common.records.recognitions import Recognition
from common.records.topics import (
    ALERTS,
    ATTEMPTS,
    CAMERA_STATUS,
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    CONFIG_OWNERS,
    CONFIG_WEBHOOKS,
    DELIVERIES,
    RECOGNITIONS,
    WEBHOOK_STATUS,
    WEBHOOKS_DEAD_LETTERS,
    Topic,
)
from common.records.webhooks import WebhookConfig
from common.secrets import SecretBox
from common.telemetry.tracing import parse_traceparent
from common.timestamps import now_ms
from common.urls.outbound import OutboundRules
from streams.runtime.alert_cache import AlertCache
from streams.runtime.app import StageApp, build_app, raw_topic
from streams.runtime.batch_agent import BatchAgent, HandleBatch, LoopYielder, add_batch_agent
from streams.runtime.sending import OutgoingMessage, try_to_send
from streams.runtime.stage_runner import StageRunner, build_runner
from streams.runtime.tables import DurableTable, faust_table
from streams.webhooks.apprise.sender import AppriseSender
from streams.webhooks.delivery.crops import CropReader
from streams.webhooks.delivery.dispatcher import Dispatcher
from streams.webhooks.delivery.http_sender import HttpSender
from streams.webhooks.delivery.job import DeliveryIntake, DispatchRules
from streams.webhooks.delivery.metrics import DeliveryMetrics
from streams.webhooks.delivery.pending import PendingLimits, PendingTable
from streams.webhooks.delivery.queues import QueueRules
from streams.webhooks.delivery.sender import DeliverySender
from streams.webhooks.email.sender import DisabledEmail, EmailSender
from streams.webhooks.events.camera_availability import CameraAvailability
from streams.webhooks.events.delivery_budget import DeliveryBudget
from streams.webhooks.events.fan_out import FanOut, attempt_sender, delivery_publisher
from streams.webhooks.events.subscription_cache import SubscriptionCache
from streams.webhooks.events.webhook_status import AutoDisableRules, WebhookStatusUpdater
from streams.webhooks.settings import WebhooksSettings

STAGE = "webhooks"

CONCURRENT_ATTEMPTS: Final = 512
"""Maximum number of concurrent delivery attempts of a worker."""
# Concurrent deliveries to an endpoint with a backlog. Without a backlog, there is only one.
_ATTEMPTS_PER_ENDPOINT: Final = 16
# Maximum number of pending deliveries of a worker (about 2 kB each), to limit memory.
_MAX_PENDING: Final = 200_000
_MAX_PENDING_PER_ENDPOINT: Final = 100_000
AUTO_DISABLE_FAILURES: Final = 20
"""A webhook is disabled after this many consecutive failed attempts over at least a day."""
_AUTO_DISABLE_MS: Final = 86_400_000
# Maximum number of notifications of an account, per worker, to protect providers' quotas.
_MESSAGES_PER_OWNER_PER_HOUR: Final = 500

_BATCH = 500
_BATCH_WAIT_SECONDS = 0.01
_STATUS_WAIT_SECONDS = 0.25


class DeliveryService(Service):
    """Runs the readers of configuration and the dispatcher while the app runs."""

    def __init__(
        self,
        readers: Sequence[CompactedTopicReader[Any]],
        dispatcher: Dispatcher,
        close: Callable[[], Awaitable[None]],
        **options: Any,
    ) -> None:
        """``close`` closes the senders' connections and threads."""
        super().__init__(**options)
        self._readers = readers
        self._dispatcher = dispatcher
        self._close = close
        self._running: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        """Read the configuration, then start delivering. Until then, events have no subscribers."""
        for reader in self._readers:
            reader.start()
        for reader in self._readers:
            await reader.wait_until_caught_up()
        self._running = asyncio.create_task(self._dispatcher.run())

    async def on_stop(self) -> None:
        """Cancel running attempts, which will be retried later."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
        await self._dispatcher.stop()
        await self._close()
        for reader in self._readers:
            reader.stop()


def build_webhooks_app(settings: WebhooksSettings) -> StageApp:
    """Return the stage's app with its agents, not yet started.

    Raises:
        MisconfiguredError: the secret key cannot be used.
    """
    box = SecretBox(settings.secret_key.get_secret_value())
    app = build_app(settings, STAGE, linger_ms=2)
    runner = build_runner(app, stage=STAGE, dead_letters=raw_topic(app, WEBHOOKS_DEAD_LETTERS))
    subscriptions, alerts = SubscriptionCache(box), AlertCache()
    _add_fan_out(app, settings, runner, subscriptions, alerts, box)
    _add_camera_watch(app, settings, runner, subscriptions)
    _add_delivery(app, settings, runner, subscriptions, alerts, box)
    _add_status(app, runner, subscriptions)
    return app


def _add_fan_out(
    app: StageApp,
    settings: WebhooksSettings,
    runner: StageRunner,
    subscriptions: SubscriptionCache,
    alerts: AlertCache,
    box: SecretBox,
) -> None:
    """Add the agents that turn recognitions and alerts into deliveries."""
    near = LimitUsageGauge("platestream_webhooks_owner_limit_ratio")
    app.metrics.registry.register(near)
    fan_out = FanOut(
        subscriptions,
        alerts,
        box,
        delivery_publisher(raw_topic(app, DELIVERIES)),
        attempt_sender(raw_topic(app, ATTEMPTS)),
        DeliveryBudget(settings, subscriptions.own_limits, near),
        sends_email=bool(settings.smtp_host),
        now_ms=now_ms,
    )
    recognitions = BatchAgent(
        runner, partial(decode, Recognition), fan_out.publish_recognitions, lambda seen: seen.id
    )
    triggers = BatchAgent(
        runner,
        partial(decode, AlertTrigger),
        fan_out.publish_triggers,
        lambda trigger: trigger.recognition.id,
    )
    _add_batches(app, RECOGNITIONS, recognitions.take, _BATCH_WAIT_SECONDS)
    _add_batches(app, ALERTS, triggers.take, _BATCH_WAIT_SECONDS)


def _add_batches(app: StageApp, topic: Topic, take: HandleBatch, wait_seconds: float) -> None:
    add_batch_agent(app, topic, take, stage=STAGE, max_batch=_BATCH, within_seconds=wait_seconds)


def _add_camera_watch(
    app: StageApp, settings: WebhooksSettings, runner: StageRunner, subscriptions: SubscriptionCache
) -> None:
    """Add the agent that turns camera statuses into deliveries."""
    watch = CameraAvailability(
        runner,
        subscriptions,
        DurableTable(faust_table(app, "camera-presence")),
        delivery_publisher(raw_topic(app, DELIVERIES)),
        offline_after_ms=round(settings.camera_offline_seconds * 1000),
    )

    @app.agent(raw_topic(app, CAMERA_STATUS), name=f"{STAGE}-cameras", concurrency=1)
    async def watch_cameras(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await runner.run(event, watch.handle)


def _add_delivery(
    app: StageApp,
    settings: WebhooksSettings,
    runner: StageRunner,
    subscriptions: SubscriptionCache,
    alerts: AlertCache,
    box: SecretBox,
) -> None:
    """Add the agent that attempts deliveries to receivers."""
    http = HttpSender(
        OutboundRules(settings.webhook_allowed_networks),
        timeout_seconds=settings.webhook_timeout_seconds,
    )
    images = CropReader(settings)
    services = _services(settings, http, images)
    deliveries = raw_topic(app, DELIVERIES)
    sender = DeliverySender(
        subscriptions=subscriptions,
        alerts=alerts,
        box=box,
        http=http,
        email=EmailSender(settings, images.fetch, timeout_seconds=settings.webhook_timeout_seconds)
        if settings.smtp_host
        else DisabledEmail(),
        services=services,
        topic=deliveries.get_topic_name(),
        now_ms=now_ms,
    )
    dispatcher = _add_dispatcher(app, settings, sender)
    intake = DeliveryIntake(runner, dispatcher.offer)

    @app.agent(deliveries, name=f"{STAGE}-deliveries", concurrency=1)
    async def take_deliveries(stream: faust.StreamT[bytes]) -> None:
        yielder = LoopYielder()
        async for event in stream.events():
            await intake.take(event)
            await yielder.yield_if_due()

    async def close() -> None:
        images.close()
        services.close()
        await http.close()

    readers = _readers(settings, subscriptions, alerts)
    app.add_dependency(DeliveryService(readers, dispatcher, close))


def _add_dispatcher(
    app: StageApp, settings: WebhooksSettings, sender: DeliverySender
) -> Dispatcher:
    """Return the dispatcher with its table, connected to rebalances."""
    table, attempts = faust_table(app, "pending-deliveries"), raw_topic(app, ATTEMPTS)

    async def publish(made: Sequence[DeliveryAttempt]) -> Sequence[bool]:
        messages = [
            OutgoingMessage(
                each.delivery.endpoint.encode(),
                encode(each),
                trace=parse_traceparent(each.delivery.trace),
            )
            for each in made
        ]
        return await try_to_send(attempts, messages)

    dispatcher = Dispatcher(
        stage=app,
        table=PendingTable(DurableTable(table)),
        publish=publish,
        send=sender.send,
        rules=_dispatch_rules(settings),
        metrics=DeliveryMetrics(app.metrics.registry),
        now_ms=now_ms,
    )
    app.on_recovery(table, raw_topic(app, DELIVERIES), dispatcher.restore)

    @app.on_partitions_revoked.connect
    async def fence(*_: Any, **__: Any) -> None:
        await dispatcher.fence()

    return dispatcher


def _add_status(app: StageApp, runner: StageRunner, subscriptions: SubscriptionCache) -> None:
    """Add the agent that derives the status of each webhook from attempts."""
    rules = AutoDisableRules(failures=AUTO_DISABLE_FAILURES, over_ms=_AUTO_DISABLE_MS)
    topic = raw_topic(app, WEBHOOK_STATUS)
    updater = WebhookStatusUpdater(runner, subscriptions, topic, rules)
    attempts = BatchAgent(runner, partial(decode, DeliveryAttempt), updater.publish_statuses)
    _add_batches(app, ATTEMPTS, attempts.take, _STATUS_WAIT_SECONDS)


def _services(settings: WebhooksSettings, http: HttpSender, images: CropReader) -> AppriseSender:
    # The default URL points to this machine, which a phone cannot reach.
    public_url = settings.public_url if "public_url" in settings.model_fields_set else ""
    return AppriseSender(
        http,
        images.fetch,
        HourlyLimits(
            per_address=settings.messages_per_address_per_hour,
            per_owner=_MESSAGES_PER_OWNER_PER_HOUR,
            messages="notifications",
            clock=time.monotonic,
        ),
        public_url=public_url,
        timeout_seconds=settings.webhook_timeout_seconds,
        threads=CONCURRENT_ATTEMPTS,
        now_ms=now_ms,
    )


def _readers(
    settings: WebhooksSettings, subscriptions: SubscriptionCache, alerts: AlertCache
) -> tuple[CompactedTopicReader[Any], ...]:
    read = partial(CompactedTopicReader, settings, client=STAGE)
    return (
        read(CONFIG_WEBHOOKS, WebhookConfig, subscriptions.apply_webhooks),
        read(CONFIG_CAMERAS, CameraConfig, subscriptions.apply_cameras),
        read(WEBHOOK_STATUS, WebhookStatus, subscriptions.apply_statuses),
        read(CONFIG_OWNERS, OwnerConfig, subscriptions.apply_owners),
        read(CONFIG_ALERTS, AlertConfig, alerts.apply),
    )


def _dispatch_rules(settings: WebhooksSettings) -> DispatchRules:
    return DispatchRules(
        queues=QueueRules(
            max_attempts=CONCURRENT_ATTEMPTS,
            max_per_endpoint=_ATTEMPTS_PER_ENDPOINT,
        ),
        pending=PendingLimits(max_total=_MAX_PENDING, max_per_endpoint=_MAX_PENDING_PER_ENDPOINT),
        pauses_seconds=settings.webhook_retry_seconds,
    )
