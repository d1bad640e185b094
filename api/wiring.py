"""Builds the services of an application from its settings, and takes them down again."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

import structlog

from api.accounts.authentication import Authenticator
from api.alerts.history import TriggerHistory
from api.alerts.insight import AlertInsight
from api.alerts.repository import AlertRepository
from api.alerts.service import Alerts
from api.analytics.service import Analytics
from api.api_keys.service import ApiKeys
from api.cameras.service import CameraRules, Cameras
from api.cameras.status_board import StatusBoard
from api.cameras.streams import StreamVault
from api.credits.service import Credits
from api.db.engine import Database, database_url
from api.health import Health
from api.image_store import ImageStore
from api.limit_storage import LimitStore
from api.limits import LimitRules, RateLimiter
from api.live.feed import RecognitionFeed
from api.live.position import PositionSealer
from api.live.recent import RecentRecognitions
from api.live.service import LiveRecognitions, StreamRules
from api.outbound import OutboundGate, SystemResolver
from api.recognitions.cursor import CursorSealer
from api.recognitions.repository import ClickHouseStore
from api.recognitions.service import Recognitions
from api.recognize.engine import RecognizerEngine
from api.recognize.service import ImageRecognition
from api.services import Services
from api.sessions.attempts import AttemptRules, LoginAttempts
from api.sessions.service import Sessions
from api.settings import ApiSettings
from api.validation import ValidationRules
from api.webhooks.board import WebhookBoard
from api.webhooks.deliveries import Deliveries
from api.webhooks.repository import WebhookRepository
from api.webhooks.samples import SampleMaker
from api.webhooks.service import Webhooks
from contracts.deliveries import WebhookStatus
from contracts.errors import TransientError
from contracts.outbound import OutboundRules
from contracts.records import CameraStatus
from contracts.secrets import SecretBox
from contracts.stream_urls import stream_url_rules
from contracts.topic_feed import TopicFeed
from contracts.topics import CAMERA_STATUS, WEBHOOK_STATUS

log = structlog.get_logger()

_SWEEP_SECONDS = 5.0
_LEASE_MARGIN_SECONDS = 5.0


def check_settings(settings: ApiSettings) -> None:
    """Find out before anything starts what would stop it.

    Raises:
        MisconfiguredError: the settings cannot work.
    """
    SecretBox(settings.secret_key.get_secret_value())
    database_url(settings)


@asynccontextmanager
async def open_services(settings: ApiSettings) -> AsyncIterator[Services]:
    """Yield the services. No dependency has to be up: each is reached when it is first needed.

    Raises:
        MisconfiguredError: the settings cannot work.
    """
    secret_keys = settings.secret_key.get_secret_value()
    box = SecretBox(secret_keys)
    rules = _validation_rules(settings)
    vault = StreamVault(rules.streams, box)
    resolver = SystemResolver()
    gate = OutboundGate(resolver, rules.outbound)
    database = Database(settings, pool_size=settings.api_database_connections)
    images = ImageStore(settings)
    store = ClickHouseStore(settings)
    alert_rows = AlertRepository(box)
    board = StatusBoard()
    feed = TopicFeed(settings, CAMERA_STATUS, CameraStatus, board.post, client="api-camera-status")
    recent = RecentRecognitions(settings.stream_memory_records)
    live_feed = RecognitionFeed(settings, recent)
    webhook_board = WebhookBoard()
    webhook_feed = TopicFeed(
        settings, WEBHOOK_STATUS, WebhookStatus, webhook_board.post, client="api-webhook-status"
    )
    webhook_rows = WebhookRepository(box)
    webhooks = Webhooks(
        database, webhook_rows, gate, webhook_board, per_owner=settings.webhooks_per_owner
    )
    engine = RecognizerEngine(settings)
    authenticator = Authenticator(database)
    shared_limits = _shared_limits(settings)
    sessions = Sessions(
        database,
        authenticator,
        LoginAttempts(_attempt_rules(settings), shared_limits),
        lifetime=timedelta(hours=settings.session_hours),
    )
    limiter = RateLimiter(_limit_rules(settings), shared_limits)
    cameras = Cameras(database, board, vault, _camera_rules(settings), _now_ms)
    image_recognition = ImageRecognition(database, engine, images, lease=_lease(settings))
    retention = timedelta(days=settings.image_retention_days) or None
    services = Services(
        authenticator=authenticator,
        limiter=limiter,
        recognitions=Recognitions(
            store, images, CursorSealer(secret_keys), image_retention=retention
        ),
        live=LiveRecognitions(
            recent, live_feed.ping, PositionSealer(box), _stream_rules(settings), _now_ms
        ),
        image_recognition=image_recognition,
        credits=Credits(database),
        cameras=cameras,
        alerts=Alerts(
            database,
            alert_rows,
            gate,
            TriggerHistory(store),
            per_owner=settings.alerts_per_owner,
        ),
        alert_insight=AlertInsight(database, alert_rows, store),
        api_keys=ApiKeys(database, authenticator, per_owner=settings.api_keys_per_owner),
        sessions=sessions,
        webhooks=webhooks,
        deliveries=Deliveries(database, webhook_rows, store, SampleMaker(box), _now_ms),
        analytics=Analytics(database, store, _now_ms),
        images=images,
        health=Health(
            {
                "postgres": database.ping,
                "clickhouse": store.ping,
                "s3": images.ping,
                "kafka": partial(_all_well, feed.ping, live_feed.ping),
                "recognizer": engine.ping,
            }
        ),
        rules=rules,
        demo_enabled=settings.demo_enabled,
        trusted_proxies=settings.trusted_proxies,
    )
    feed.start()
    live_feed.start()
    webhook_feed.start()
    engine.start()
    sweeps = (
        cameras.sweep,
        cameras.renew,
        image_recognition.sweep,
        sessions.sweep,
        webhooks.sweep,
    )
    sweeper = asyncio.create_task(_sweep_for_ever(sweeps))
    try:
        yield services
    finally:
        sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await sweeper
        await authenticator.close()
        await sessions.close()
        if shared_limits is not None:
            await shared_limits.close()
        await engine.stop()
        await asyncio.to_thread(feed.stop)
        await asyncio.to_thread(live_feed.stop)
        await services.alerts.close()
        await asyncio.to_thread(webhook_feed.stop)
        await store.close()
        resolver.close()
        images.close()
        database.close()


def _camera_rules(settings: ApiSettings) -> CameraRules:
    return CameraRules(
        take_seconds=settings.camera_take_seconds,
        stale_ms=settings.camera_status_stale_seconds * 1000,
        per_owner=settings.cameras_per_owner,
        subscription_credits=settings.camera_subscription_credits,
    )


def _validation_rules(settings: ApiSettings) -> ValidationRules:
    return ValidationRules(
        streams=stream_url_rules(settings),
        outbound=OutboundRules(settings.webhook_allowed_networks),
        plates_per_alert=settings.plates_per_alert,
    )


def _attempt_rules(settings: ApiSettings) -> AttemptRules:
    return AttemptRules(
        per_minute=settings.login_attempts_per_minute,
        per_address_per_minute=settings.login_attempts_per_address_per_minute,
        per_account_per_hour=settings.login_attempts_per_account_per_hour,
    )


def _limit_rules(settings: ApiSettings) -> LimitRules:
    return LimitRules(
        per_minute=settings.rate_limit_per_minute,
        recognize_per_minute=settings.rate_limit_recognize_per_minute,
        demo_per_minute=settings.rate_limit_demo_per_minute,
        block_seconds=settings.rate_limit_block_seconds,
    )


def _shared_limits(settings: ApiSettings) -> LimitStore | None:
    url = settings.rate_limit_store_url
    return None if url is None else LimitStore.shared(url)


def _stream_rules(settings: ApiSettings) -> StreamRules:
    return StreamRules(
        heart_beat_seconds=settings.stream_heart_beat_seconds,
        per_credential=settings.streams_per_key,
        in_all=settings.streams_per_process,
    )


async def _all_well(*checks: Callable[[], Awaitable[None]]) -> None:
    for check in checks:
        await check()


def _lease(settings: ApiSettings) -> timedelta:
    # A call waits for a process and then for the reading, each at most the time-out.
    seconds = 2 * settings.recognition_timeout_seconds + _LEASE_MARGIN_SECONDS
    return timedelta(seconds=seconds)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


async def _sweep_for_ever(sweeps: tuple[Callable[[], Awaitable[int]], ...]) -> None:
    """Clear up after calls that died with their process, this one's or another's."""
    while True:
        for sweep in sweeps:
            try:
                swept = await sweep()
            except TransientError as error:
                log.warning("sweep_put_off", error=str(error))
            except Exception:
                # The edge of the loop: a fault here must not end all sweeping.
                log.exception("sweep_failed")
            else:
                if swept:
                    log.info("swept", count=swept, what=getattr(sweep, "__qualname__", ""))
        await asyncio.sleep(_SWEEP_SECONDS)
