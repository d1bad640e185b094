"""Puts the services together from rules and from what they reach outside of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from api.accounts.authentication import Authenticator
from api.alerts.deliveries import AlertDeliveries
from api.alerts.history import TriggerHistory, TriggerStore
from api.alerts.insight import AlertInsight
from api.alerts.repository import AlertRepository
from api.alerts.service import Alerts
from api.analytics.service import Analytics, TrafficStore
from api.api_keys.service import ApiKeys
from api.cameras.service import Cameras
from api.cameras.status_board import StatusBoard
from api.cameras.streams import StreamVault
from api.credits.service import Credits
from api.db.engine import Database
from api.erasure.images import ErasedImageNotes, ErasedImageRemoval
from api.erasure.watch import ErasureList, ErasureWatch
from api.health import Health
from api.image_retention import ImageRetention
from api.image_store import ImageStore
from api.limit_storage import LimitStore
from api.limits import RateLimiter
from api.live.position import PositionSealer
from api.live.recent import RecentRecognitions
from api.live.service import LiveRecognitions
from api.outbound import OutboundGate, Resolver
from api.recognitions.cursor import CursorSealer
from api.recognitions.service import Recognitions, RecognitionStore
from api.recognize.models import ImageReader, PhotoStore
from api.recognize.service import ImageRecognition
from api.service_rules import ServiceRules
from api.services import Services
from api.sessions.attempts import LoginAttempts
from api.sessions.service import Sessions
from api.webhooks.board import WebhookBoard
from api.webhooks.deliveries import Deliveries, DeliveryStore
from api.webhooks.repository import WebhookRepository
from api.webhooks.samples import SampleMaker
from api.webhooks.service import Webhooks
from contracts.secrets import SecretBox


@dataclass(frozen=True)
class Stores:
    """Where things are searched: ClickHouse for all of them, in the service."""

    recognitions: RecognitionStore
    traffic: TrafficStore
    triggers: TriggerStore
    deliveries: DeliveryStore
    erasures: ErasureList
    erased_images: ErasedImageNotes


@dataclass(frozen=True)
class News:
    """What is heard on topics, in the memory of this process.

    ``ping`` raises while recent recognitions are not being followed.
    """

    cameras: StatusBoard
    webhooks: WebhookBoard
    recent: RecentRecognitions
    ping: Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Outside:
    """What the services reach. ``now_ms`` is the wall clock (Unix ms, UTC).

    Without ``shared_limits`` this process counts alone.
    """

    database: Database
    stores: Stores
    news: News
    images: ImageStore
    photos: PhotoStore
    reader: ImageReader
    resolver: Resolver
    shared_limits: LimitStore | None
    health: Health
    now_ms: Callable[[], int]


def assemble(rules: ServiceRules, outside: Outside) -> Services:
    """Return the services; nothing is started or called."""
    box = SecretBox(rules.secret_keys)
    gate = OutboundGate(outside.resolver, rules.validation.outbound)
    authenticator = Authenticator(outside.database)
    watch = ErasureWatch(outside.stores.erasures, outside.news.recent)
    return Services(
        authenticator=authenticator,
        limiter=RateLimiter(rules.limits, outside.shared_limits),
        recognitions=_recognitions(rules, outside),
        live=_live(rules, outside, box, watch),
        image_recognition=ImageRecognition(
            outside.database, outside.reader, outside.photos, lease=rules.image_lease
        ),
        credits=Credits(outside.database),
        cameras=_cameras(rules, outside, box),
        alerts=_alerts(rules, outside, box, gate),
        alert_deliveries=_alert_deliveries(outside, box),
        alert_insight=AlertInsight(outside.database, AlertRepository(box), outside.stores.triggers),
        api_keys=ApiKeys(outside.database, authenticator, per_owner=rules.api_keys_per_owner),
        sessions=_sessions(rules, outside, authenticator),
        webhooks=_webhooks(rules, outside, box, gate),
        deliveries=_deliveries(outside, box),
        analytics=Analytics(outside.database, outside.stores.traffic, outside.now_ms),
        images=outside.images,
        image_retention=ImageRetention(outside.images, rules.image_retention, outside.now_ms),
        erasure_watch=watch,
        erased_images=ErasedImageRemoval(outside.stores.erased_images, outside.images),
        health=outside.health,
        rules=rules.validation,
        demo_enabled=rules.demo_enabled,
        trusted_proxies=rules.trusted_proxies,
    )


def _recognitions(rules: ServiceRules, outside: Outside) -> Recognitions:
    return Recognitions(
        outside.stores.recognitions,
        outside.images,
        CursorSealer(rules.secret_keys),
        image_retention=rules.image_retention,
    )


def _live(
    rules: ServiceRules, outside: Outside, box: SecretBox, watch: ErasureWatch
) -> LiveRecognitions:
    news, sealer = outside.news, PositionSealer(box)
    return LiveRecognitions(
        news.recent, news.ping, watch.ready, sealer, rules.streams, outside.now_ms
    )


def _cameras(rules: ServiceRules, outside: Outside, box: SecretBox) -> Cameras:
    vault = StreamVault(rules.validation.streams, box)
    board = outside.news.cameras
    return Cameras(outside.database, board, vault, rules.cameras, outside.now_ms)


def _alerts(rules: ServiceRules, outside: Outside, box: SecretBox, gate: OutboundGate) -> Alerts:
    history = TriggerHistory(outside.stores.triggers)
    rows = AlertRepository(box)
    return Alerts(outside.database, rows, gate, history, per_owner=rules.alerts_per_owner)


def _alert_deliveries(outside: Outside, box: SecretBox) -> AlertDeliveries:
    rows, deliveries = AlertRepository(box), outside.stores.deliveries
    return AlertDeliveries(outside.database, rows, deliveries, outside.now_ms)


def _sessions(rules: ServiceRules, outside: Outside, authenticator: Authenticator) -> Sessions:
    attempts = LoginAttempts(rules.attempts, outside.shared_limits)
    return Sessions(outside.database, authenticator, attempts, lifetime=rules.session_lifetime)


def _webhooks(
    rules: ServiceRules, outside: Outside, box: SecretBox, gate: OutboundGate
) -> Webhooks:
    rows, board = WebhookRepository(box), outside.news.webhooks
    return Webhooks(outside.database, rows, gate, board, per_owner=rules.webhooks_per_owner)


def _deliveries(outside: Outside, box: SecretBox) -> Deliveries:
    return Deliveries(
        outside.database,
        WebhookRepository(box),
        outside.stores.deliveries,
        SampleMaker(box),
        outside.now_ms,
    )
