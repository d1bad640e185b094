"""Creates the application's services from the settings, and closes them at the end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.adapters.outbound import HostResolver, OutboundUrlChecker
from api.adapters.periodic_tasks import PeriodicTasks
from api.alerts.insight import AlertInsight
from api.alerts.repository import AlertRepository
from api.alerts.service import Alerts, TriggerHistory
from api.analytics.service import Analytics
from api.api_keys.service import ApiKeys
from api.audit.audit_buffer import AuditBuffer
from api.audit.plates import PlateHashes
from api.audit_log.service import AuditLog
from api.cameras.funnel import CameraFunnels, LowActivityCameras
from api.cameras.probe import CameraProbe
from api.cameras.service import Cameras
from api.cameras.status_cache import CameraStatusCache
from api.cameras.stream_vault import StreamVault
from api.credits.service import Credits
from api.db.database import Database
from api.db.engine import database_url
from api.deliveries.samples import SampleEvents
from api.deliveries.service import Deliveries
from api.erasure.images import ErasedImageRemoval, ImageRetention, SnapshotRemoval
from api.erasure.jobs import ErasePlate, ErasureJobs
from api.erasure.service import erase_stored_plate
from api.exports.service import Exports
from api.health.operators import Operators
from api.health.service import Check, Health, InstallationStatus, disk_usage, disk_warnings
from api.imports.routes import TableImports
from api.limits.body_budget import BODY_BOUNDS, BodyBudget
from api.limits.limiter import FailedAuthentications, RateLimiter, limit_rules
from api.limits.owner_limits import OwnerLimits, installation_limits
from api.limits.storage import LimitStore, SharedLimitStore
from api.live.feed import RecognitionFeed
from api.live.recent import RecentRecognitions
from api.live.service import ErasureSync, LiveRecognitions, StreamSlots
from api.oidc.service import OidcLogIn
from api.paging.cursor import CursorSealer
from api.people.invitations import Invitations
from api.people.service import People
from api.pictures.service import Pictures, Thumbnails
from api.recognitions.corrections import Corrections
from api.recognitions.service import Recognitions
from api.recognize.readers import ImageReader, RecognizerEngine, fair_reader
from api.recognize.service import ImageRecognition, image_lease
from api.security.authentication import Authenticator
from api.security.client_address import PublicAccess
from api.security.devices import Devices
from api.sessions.account import OwnAccount
from api.sessions.attempts import LoginAttempts, attempt_rules
from api.sessions.methods import log_in_methods
from api.sessions.service import Sessions
from api.settings import ApiSettings
from api.validation.fields import operator_rules
from api.webhooks.repository import WebhookRepository
from api.webhooks.service import DisabledWebhookEmail, Webhooks, WebhookStatusCache
from common.kafka.compacted import CompactedTopicReader
from common.kafka.stage_progress import stage_progress
from common.metrics import LABELLED_CAMERAS
from common.records.cameras import CameraStatus
from common.records.deliveries import WebhookStatus
from common.records.topics import CAMERA_STATUS, WEBHOOK_STATUS
from common.secrets import SecretBox
from common.timestamps import now_ms

FAILED_AUTHENTICATIONS_PER_MINUTE = 100
"""Limit of invalid credentials per IP address and minute; known credentials are still checked."""
STREAMS_PER_KEY = 5
STREAMS_PER_PROCESS = 500
CAMERA_ASSIGN_SECONDS = 4.5
"""Time for an ingest worker to accept a new camera. The API must respond within 5 s."""
_HEARTBEAT_SECONDS = 15.0
# Recognitions held in memory (about 1 kB each), so that event streams can resume without gaps.
_STREAM_MEMORY_RECORDS = 20_000


@dataclass(frozen=True)
class AppDependencies:
    """Dependencies of the services. ``now_ms`` returns the time (Unix ms, UTC).

    ``ping_recognitions`` raises an error while ``recent`` is not being updated. Without
    ``shared_limits``, this process counts requests separately from other processes.
    """

    database: Database
    store: ClickHouseStore
    images: ImageStore
    reader: ImageReader
    resolver: HostResolver
    camera_statuses: CameraStatusCache
    webhook_statuses: WebhookStatusCache
    recent: RecentRecognitions
    ping_recognitions: Callable[[], Awaitable[None]]
    shared_limits: LimitStore | None
    erase_plate: ErasePlate
    health: Health
    now_ms: Callable[[], int]


class Services:
    """The services of the application. Routes look up a service by its type."""

    def __init__(self, settings: ApiSettings, outside: AppDependencies) -> None:
        """Create the services, without starting or calling anything."""
        keys = settings.secret_key.get_secret_value()
        box, hashes, self.cursors = SecretBox(keys), PlateHashes(keys), CursorSealer(keys)
        database, store, now = outside.database, outside.store, outside.now_ms
        self.images = images = outside.images
        self.health = outside.health
        self.rules = operator_rules(settings)
        self.access = PublicAccess(settings.trusted_proxies, settings.public_url)

        # Limits
        self.owner_limits = limits = OwnerLimits(installation_limits(settings))
        self.limiter = RateLimiter(limit_rules(settings), limits, outside.shared_limits)
        self.body_budget = BodyBudget(BODY_BOUNDS, limits)

        # Authentication
        self.audit_buffer = audit = AuditBuffer(database, hashes)
        self.authenticator = Authenticator(
            database,
            FailedAuthentications(FAILED_AUTHENTICATIONS_PER_MINUTE, outside.shared_limits),
            unknown_concurrency=max(1, settings.api_database_connections // 4),
        )
        self.devices = Devices(box)
        self.sessions = Sessions(
            database,
            self.authenticator,
            LoginAttempts(attempt_rules(settings), outside.shared_limits),
            self.devices,
            limits,
            audit,
            log_in_methods(settings),
            lifetime=timedelta(hours=settings.session_hours),
        )
        # Failed logins are counted separately, so that calls with revoked keys do not block logins.
        failures = self.authenticator.failures.with_namespace("failed-log-in")
        self.oidc_log_in = OidcLogIn(settings, self.sessions, box, failures, limits, audit)
        self.own_account = OwnAccount(self.sessions)
        self.people = People(database, self.authenticator)
        self.invitations = Invitations(database, self.sessions, failures, limits, settings)
        self.api_keys = ApiKeys(database, self.authenticator, limits)
        self.operators = Operators(database, settings.operator_accounts)
        self.audit_log = AuditLog(
            database, self.cursors, hashes, settings.audit_retention_days, now
        )

        # Recognitions
        retention = timedelta(days=settings.image_retention_days) or None
        self.recognitions = Recognitions(
            store, database, images, self.cursors, image_retention=retention
        )
        correctable = timedelta(days=settings.recognition_retention_days)
        self.corrections = Corrections(
            database, self.recognitions, self.cursors, hashes, correctable, now
        )
        self.exports = Exports(store, self.recognitions, limits, self.limiter, database)
        self.pictures = Pictures(self.recognitions, outside.recent, images, Thumbnails())
        self.erasure_sync = ErasureSync(store, outside.recent)
        slots = StreamSlots(limits, per_credential=STREAMS_PER_KEY, in_all=STREAMS_PER_PROCESS)
        self.live = LiveRecognitions(
            outside.recent,
            outside.ping_recognitions,
            self.erasure_sync,
            slots,
            box,
            now,
            heart_beat_seconds=_HEARTBEAT_SECONDS,
        )
        self.analytics = Analytics(database, store, now)
        self.credits = Credits(database)
        self.image_recognition = ImageRecognition(
            database,
            fair_reader(outside.reader, settings),
            images,
            limits,
            lease=image_lease(),
            demo_enabled=settings.demo_enabled,
        )

        # Cameras
        self.cameras = Cameras(
            database,
            outside.camera_statuses,
            StreamVault(self.rules.streams, box),
            limits,
            now,
            assign_seconds=CAMERA_ASSIGN_SECONDS,
            stale_seconds=2 * settings.camera_offline_seconds,
            sample_fps=settings.ingest_sample_fps,
            price=settings.camera_subscription_credits,
        )
        self.camera_probe = CameraProbe(settings)
        self.camera_funnels = CameraFunnels(store, now)
        self.quiet_cameras = LowActivityCameras(store, now, max_cameras=LABELLED_CAMERAS)

        # Alerts, webhooks
        alerts, webhooks = AlertRepository(box, hashes), WebhookRepository(box)
        url_checker = OutboundUrlChecker(outside.resolver, self.rules.outbound)
        sends_email = bool(settings.smtp_host)
        self.alerts = Alerts(
            database, alerts, url_checker, TriggerHistory(store), limits, sends_email=sends_email
        )
        self.alert_insight = AlertInsight(database, alerts, store, limits)
        self.table_imports = TableImports()
        mail = DisabledWebhookEmail(settings)
        self.webhooks = Webhooks(
            database, webhooks, url_checker, outside.webhook_statuses, limits, mail
        )
        self.deliveries = Deliveries(
            database, webhooks, alerts, store, SampleEvents(box), limits, now
        )

        # Erasure, retention
        self.erasure_jobs = ErasureJobs(database, outside.erase_plate, now)
        self.erased_images = ErasedImageRemoval(store, images)
        self.image_retention = ImageRetention(images, retention, now)
        self.snapshot_removal = SnapshotRemoval(database, images, now)

    def sweepers(self) -> tuple[PeriodicTasks, ...]:
        """Return the periodic tasks, which run concurrently."""
        sequential = (
            self.cameras.sweep,
            self.corrections.sweep,
            self.cameras.renew,
            self.image_recognition.sweep,
            self.sessions.sweep,
            self.invitations.sweep,
            self.webhooks.sweep,
            self.erased_images.sweep,
            self.image_retention.sweep,
            self.snapshot_removal.sweep,
            self.audit_log.sweep,
        )
        separate = (self.erasure_sync, self.erasure_jobs, self.audit_buffer, self.quiet_cameras)
        return (
            PeriodicTasks(sequential),
            *(PeriodicTasks((each.sweep,)) for each in separate),
        )

    async def close(self) -> None:
        """Finish or cancel background work."""
        closing = (self.authenticator, self.sessions, self.alerts, self.alert_insight)
        for service in (*closing, self.table_imports, self.pictures, self.audit_buffer):
            await service.close()


def check_settings(settings: ApiSettings) -> None:
    """Check the settings before anything is started.

    Raises:
        MisconfiguredError: the encryption key or the database URL is invalid.
    """
    SecretBox(settings.secret_key.get_secret_value())
    database_url(settings)


@asynccontextmanager
async def open_services(settings: ApiSettings) -> AsyncIterator[Services]:
    """Yield the services. Connections to dependencies are opened on first use.

    Raises:
        MisconfiguredError: a setting is invalid.
    """
    # Services are closed in reverse order, each before the services that it calls.
    async with AsyncExitStack() as stack:
        database = Database(settings, pool_size=settings.api_database_connections)
        stack.callback(database.close)
        images = ImageStore(settings)
        stack.callback(images.close)
        resolver = HostResolver()
        stack.callback(resolver.close)
        store = ClickHouseStore(settings)
        stack.push_async_callback(store.close)
        shared_limits = None
        if (url := settings.rate_limit_store_url) is not None:
            shared_limits = SharedLimitStore(url)
            stack.push_async_callback(shared_limits.close)

        cameras, webhooks = CameraStatusCache(), WebhookStatusCache()
        recent = RecentRecognitions(_STREAM_MEMORY_RECORDS)
        camera_feed = CompactedTopicReader(
            settings, CAMERA_STATUS, CameraStatus, cameras.post, client="api-camera-status"
        )
        webhook_feed = CompactedTopicReader(
            settings, WEBHOOK_STATUS, WebhookStatus, webhooks.post, client="api-webhook-status"
        )
        feed = RecognitionFeed(settings, recent)

        async def ping_kafka() -> None:
            await camera_feed.ping()
            await feed.ping()

        engine, folders = RecognizerEngine(settings), settings.disk_folders
        checks: dict[str, Check] = {
            "postgres": database.ping,
            "clickhouse": store.ping,
            "s3": images.ping,
            "kafka": ping_kafka,
            "recognizer": engine.ping,
        }
        health = Health(
            checks,
            partial(disk_warnings, folders),
            InstallationStatus(partial(stage_progress, settings), partial(disk_usage, folders)),
        )
        services = Services(
            settings,
            AppDependencies(
                database=database,
                store=store,
                images=images,
                reader=engine,
                resolver=resolver,
                camera_statuses=cameras,
                webhook_statuses=webhooks,
                recent=recent,
                ping_recognitions=feed.ping,
                shared_limits=shared_limits,
                erase_plate=partial(erase_stored_plate, settings, settings),
                health=health,
                now_ms=now_ms,
            ),
        )
        stack.push_async_callback(services.close)

        for tailer in (camera_feed, feed, webhook_feed):
            tailer.start()
            stack.callback(tailer.stop)
        engine.start()
        stack.push_async_callback(engine.stop)
        sweeping = [asyncio.create_task(sweeper.run()) for sweeper in services.sweepers()]
        stack.push_async_callback(_cancelled, sweeping)
        yield services


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
