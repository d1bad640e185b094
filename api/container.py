"""Puts an application together from its settings, and takes it down again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import get_type_hints

from api.adapters.background import Sweeper, all_well, cancelled
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.adapters.outbound import HostResolver, OutboundGate, Resolver
from api.alerts.insight import AlertInsight
from api.alerts.repository import AlertRepository
from api.alerts.service import Alerts, TriggerHistory, TriggerStore
from api.analytics.service import Analytics, TrafficStore
from api.api_keys.service import ApiKeys
from api.audit.service import AuditLog
from api.cameras.funnel import CameraFunnels
from api.cameras.probe import CameraProbe
from api.cameras.quiet import CameraHourStore, QuietCameras
from api.cameras.service import Cameras, camera_rules
from api.cameras.stream_vault import StreamVault
from api.credits.service import Credits
from api.db.database import Database
from api.db.engine import database_url
from api.deliveries.of_recognition import RecognitionDeliveries
from api.deliveries.samples import SampleMaker
from api.deliveries.service import AlertDeliveries, Deliveries, DeliveryStore
from api.erasure.images import ErasedImageNotes, ErasedImageRemoval, ImageRetention
from api.erasure.jobs import ErasePlate, ErasureJobs
from api.erasure.service import erase_stored_plate
from api.erasure.sweeps import ErasureList, ErasureWatch, SnapshotRemoval
from api.exports.service import Exports, ExportStore
from api.health.operators import Operators
from api.health.service import Check, Health, watched_health
from api.imports.service import TableImports
from api.limits.body_budget import BodyBudget, body_bounds
from api.limits.limiter import FailedAuthentications, RateLimiter, limit_rules
from api.limits.owner_limits import OwnerLimits, installation_limits
from api.limits.storage import LimitStore, SharedLimitStore
from api.live.service import LiveRecognitions, live_recognitions
from api.live.topics import TopicCaches, followed_topics
from api.oidc.service import OidcLogIn
from api.paging.cursor import CursorSealer
from api.people.invitations import Invitations, invitation_rules
from api.people.service import People
from api.pictures.service import Pictures
from api.pictures.thumbnails import Thumbnails
from api.recognitions.corrections import Corrections
from api.recognitions.service import Recognitions, RecognitionStore
from api.recognize.models import ImageReader, PhotoStore
from api.recognize.readers import RecognizerEngine
from api.recognize.service import ImageRecognition, image_recognition
from api.security.authentication import Authenticator
from api.security.client_address import PublicAccess
from api.security.devices import Devices
from api.sessions.account import OwnAccount
from api.sessions.attempts import LoginAttempts, attempt_rules
from api.sessions.service import Sessions
from api.sessions.ways import log_in_ways
from api.settings import ApiSettings
from api.trail.notes import AuditNotes
from api.trail.plates import PlateHashes
from api.validation.fields import ValidationRules, operator_rules
from api.webhooks.disabled_email import DisabledWebhookEmail
from api.webhooks.repository import WebhookRepository
from api.webhooks.service import Webhooks
from common.kafka.tailer import TopicTailer, stop_tailers
from common.secrets import SecretBox
from common.timestamps import now_ms


@dataclass(frozen=True)
class Repositories:
    """The searchable stores: ClickHouse for all of them, in the service."""

    recognitions: RecognitionStore
    exports: ExportStore
    traffic: TrafficStore
    camera_hours: CameraHourStore
    triggers: TriggerStore
    deliveries: DeliveryStore
    erasures: ErasureList
    erased_images: ErasedImageNotes


@dataclass(frozen=True)
class AppDependencies:
    """Everything outside of the services. ``now_ms`` is the wall clock (Unix ms, UTC).

    Without ``shared_limits`` this process counts alone.
    """

    database: Database
    repositories: Repositories
    caches: TopicCaches
    images: ImageStore
    photos: PhotoStore
    reader: ImageReader
    resolver: Resolver
    shared_limits: LimitStore | None
    erase_plate: ErasePlate
    health: Health
    now_ms: Callable[[], int]


@dataclass(frozen=True)
class Services:
    """The application's own objects."""

    authenticator: Authenticator
    limiter: RateLimiter
    owner_limits: OwnerLimits
    body_budget: BodyBudget
    cursors: CursorSealer
    recognitions: Recognitions
    corrections: Corrections
    exports: Exports
    pictures: Pictures
    live: LiveRecognitions
    image_recognition: ImageRecognition
    credits: Credits
    cameras: Cameras
    camera_probe: CameraProbe
    camera_funnels: CameraFunnels
    quiet_cameras: QuietCameras
    alerts: Alerts
    alert_deliveries: AlertDeliveries
    alert_insight: AlertInsight
    table_imports: TableImports
    api_keys: ApiKeys
    sessions: Sessions
    devices: Devices
    own_account: OwnAccount
    oidc_log_in: OidcLogIn
    people: People
    invitations: Invitations
    webhooks: Webhooks
    deliveries: Deliveries
    recognition_deliveries: RecognitionDeliveries
    analytics: Analytics
    audit_log: AuditLog
    audit_notes: AuditNotes
    images: ImageStore
    image_retention: ImageRetention
    snapshot_removal: SnapshotRemoval
    erasure_watch: ErasureWatch
    erased_images: ErasedImageRemoval
    erasure_jobs: ErasureJobs
    health: Health
    operators: Operators
    rules: ValidationRules
    access: PublicAccess

    def by_type(self) -> dict[type, object]:
        """Return all of them by the types under which routes ask for them."""
        return {kind: getattr(self, name) for name, kind in get_type_hints(type(self)).items()}

    def sweepers(self) -> tuple[Sweeper, ...]:
        """Return the sweepers, each of which runs beside the others."""
        sweeps = (
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
        alone = (self.erasure_watch, self.erasure_jobs, self.audit_notes, self.quiet_cameras)
        return (Sweeper(sweeps), *(Sweeper((each.sweep,)) for each in alone))

    async def close(self) -> None:
        """Let what is under way in the background end."""
        closing = (self.authenticator, self.sessions, self.alerts, self.alert_insight)
        for service in (
            *closing,
            self.table_imports,
            self.oidc_log_in,
            self.pictures,
            self.audit_notes,
        ):
            await service.close()


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
    # Left in the reverse order: first the callers, then what they call.
    async with AsyncExitStack() as stack:
        tailers, caches = followed_topics(settings)
        engine = RecognizerEngine(settings)
        services = build_services(settings, _dependencies(settings, stack, tailers, caches, engine))
        stack.push_async_callback(services.close)
        for tailer in tailers:
            tailer.start()
        stack.push_async_callback(stop_tailers, tailers)
        engine.start()
        stack.push_async_callback(engine.stop)
        for sweeper in services.sweepers():
            stack.push_async_callback(cancelled, asyncio.create_task(sweeper.run()))
        yield services


def _dependencies(
    settings: ApiSettings,
    stack: AsyncExitStack,
    tailers: tuple[TopicTailer, ...],
    caches: TopicCaches,
    engine: RecognizerEngine,
) -> AppDependencies:
    """Return the adapters, which ``stack`` closes."""
    database = Database(settings, pool_size=settings.api_database_connections)
    stack.callback(database.close)
    images = ImageStore(settings)
    stack.callback(images.close)
    resolver = HostResolver()
    stack.callback(resolver.close)
    store = ClickHouseStore(settings, searches_at_once=settings.api_searches_at_once)
    stack.push_async_callback(store.close)
    shared_limits = None
    if (url := settings.rate_limit_store_url) is not None:
        shared_limits = SharedLimitStore(url)
        stack.push_async_callback(shared_limits.close)
    checks: dict[str, Check] = {
        "postgres": database.ping,
        "clickhouse": store.ping,
        "s3": images.ping,
        "kafka": partial(all_well, *(tailer.ping for tailer in tailers[:2])),
        "recognizer": engine.ping,
    }
    return AppDependencies(
        database=database,
        repositories=Repositories(store, store, store, store, store, store, store, store),
        caches=caches,
        images=images,
        photos=images,
        reader=engine,
        resolver=resolver,
        shared_limits=shared_limits,
        erase_plate=partial(erase_stored_plate, settings, settings),
        health=watched_health(settings, settings.disk_folders, checks),
        now_ms=now_ms,
    )


def build_services(settings: ApiSettings, outside: AppDependencies) -> Services:
    """Return the services; nothing is started or called."""
    keys = settings.secret_key.get_secret_value()
    box, database, found = SecretBox(keys), outside.database, outside.repositories
    samples, mail = SampleMaker(box), DisabledWebhookEmail(settings)
    rules, now = operator_rules(settings), outside.now_ms
    hashes, gate = PlateHashes(keys), OutboundGate(outside.resolver, rules.outbound)
    authenticator = _authenticator(settings, outside)
    watch = ErasureWatch(found.erasures, outside.caches.recent)
    retention = timedelta(days=settings.image_retention_days) or None
    correctable = timedelta(days=settings.recognition_retention_days)
    past = TriggerHistory(found.triggers)
    limits = OwnerLimits(installation_limits(settings))
    alerts, webhooks = AlertRepository(box, hashes), WebhookRepository(box)
    limiter = RateLimiter(limit_rules(settings), limits, outside.shared_limits)
    images, cursors, notes = outside.images, CursorSealer(keys), AuditNotes(database, hashes)
    sessions = _sessions(settings, outside, authenticator, box, limits, notes)
    # Apart from those of keys: programs whose key was revoked keep nobody from logging in.
    failures = authenticator.failures.apart("failed-log-in")
    recognitions = Recognitions(found.recognitions, images, cursors, image_retention=retention)
    cameras = _cameras(settings, outside, StreamVault(rules.streams, box), limits)
    return Services(
        authenticator=authenticator,
        limiter=limiter,
        owner_limits=limits,
        body_budget=BodyBudget(body_bounds(settings), limits),
        cursors=cursors,
        recognitions=recognitions,
        corrections=Corrections(database, recognitions, cursors, hashes, correctable, now),
        exports=Exports(found.exports, recognitions, limits, limiter, database),
        pictures=Pictures(recognitions, outside.caches.recent, outside.images, Thumbnails()),
        live=live_recognitions(settings, outside.caches, watch.ready, box, limits, now),
        image_recognition=image_recognition(
            settings, database, outside.reader, outside.photos, limits
        ),
        credits=Credits(database),
        cameras=cameras,
        camera_probe=CameraProbe(settings),
        camera_funnels=CameraFunnels(cameras, found.camera_hours, now),
        quiet_cameras=QuietCameras(found.camera_hours, now, max_cameras=settings.metrics_cameras),
        alerts=Alerts(database, alerts, gate, past, limits, sends_email=bool(settings.smtp_host)),
        alert_deliveries=AlertDeliveries(database, alerts, found.deliveries, samples, limits, now),
        alert_insight=AlertInsight(database, alerts, found.triggers, limits),
        table_imports=TableImports(),
        api_keys=ApiKeys(database, authenticator, limits),
        sessions=sessions,
        devices=Devices(box),
        own_account=OwnAccount(sessions),
        oidc_log_in=OidcLogIn(settings, sessions, box, failures, limits, notes),
        people=People(database, authenticator),
        invitations=Invitations(database, sessions, failures, limits, invitation_rules(settings)),
        webhooks=Webhooks(database, webhooks, gate, outside.caches.webhooks, limits, mail),
        deliveries=Deliveries(database, webhooks, found.deliveries, samples, limits, now),
        recognition_deliveries=RecognitionDeliveries(found.triggers, found.deliveries),
        analytics=Analytics(database, found.traffic, now),
        audit_log=AuditLog(database, cursors, hashes, settings.audit_retention_days, now),
        audit_notes=notes,
        images=outside.images,
        image_retention=ImageRetention(outside.images, retention, now),
        snapshot_removal=SnapshotRemoval(database, outside.images, now),
        erasure_watch=watch,
        erased_images=ErasedImageRemoval(found.erased_images, outside.images),
        erasure_jobs=ErasureJobs(database, outside.erase_plate, now),
        health=outside.health,
        operators=Operators(database, settings.operator_accounts),
        rules=rules,
        access=PublicAccess(settings.trusted_proxies, settings.public_url),
    )


def _authenticator(settings: ApiSettings, outside: AppDependencies) -> Authenticator:
    per_minute = settings.rate_limit_failed_authentications_per_minute
    failures = FailedAuthentications(per_minute, outside.shared_limits)
    at_once = max(1, settings.api_database_connections // 4)
    return Authenticator(outside.database, failures, unknown_concurrency=at_once)


def _cameras(
    settings: ApiSettings, outside: AppDependencies, vault: StreamVault, limits: OwnerLimits
) -> Cameras:
    statuses, rules = outside.caches.cameras, camera_rules(settings)
    return Cameras(outside.database, statuses, vault, rules, limits, outside.now_ms)


def _sessions(
    settings: ApiSettings,
    outside: AppDependencies,
    authenticator: Authenticator,
    box: SecretBox,
    limits: OwnerLimits,
    notes: AuditNotes,
) -> Sessions:
    attempts = LoginAttempts(attempt_rules(settings), outside.shared_limits)
    ways, lifetime = log_in_ways(settings), timedelta(hours=settings.session_hours)
    devices, database = Devices(box), outside.database
    return Sessions(
        database, authenticator, attempts, devices, limits, notes, ways, lifetime=lifetime
    )
