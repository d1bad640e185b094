"""An application put together for tests: real database, stand-ins for what is not under test."""

import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from uuid import UUID

import httpx
from cryptography.fernet import Fernet
from fastapi import FastAPI
from sqlalchemy.orm import Session

from analytics_sql.analytics import OwnerSpan, Traffic
from analytics_sql.attempts import DeliveryFilter, DeliveryPlace, DeliverySummary, WebhookSpan
from analytics_sql.erased_images import ErasedImages
from analytics_sql.erasures import Erasures
from analytics_sql.recognitions import (
    ListedRecognition,
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
)
from analytics_sql.trigger_queries import (
    CooldownQuestion,
    Fired,
    HoldingTrigger,
    SpanRow,
    TriggerCount,
)
from api.accounts.service import create_key, create_owner
from api.alerts.history import TriggerStore
from api.analytics.service import TrafficStore
from api.app import create_app
from api.assembly import News, Outside, Stores, assemble
from api.cameras.service import CameraRules
from api.cameras.status_board import StatusBoard
from api.db.engine import Database
from api.erasure.images import ErasedImageNotes
from api.erasure.watch import ErasureList
from api.health import Health
from api.image_store import ImageStore
from api.limits import LimitRules
from api.live.recent import RecentRecognitions
from api.live.service import StreamRules
from api.live.slots import StreamBounds
from api.recognitions.service import RecognitionStore
from api.recognize.models import ImageReader, PhotoStore
from api.scopes import ALL_SCOPES, Scope
from api.service_rules import ServiceRules
from api.services import Services
from api.sessions.attempts import AttemptRules
from api.validation import ValidationRules
from api.webhooks.board import WebhookBoard
from api.webhooks.deliveries import DeliveryStore
from contracts.errors import TransientError
from contracts.outbound import IpAddress, OutboundRules, parse_networks
from contracts.readings import PlateReading
from contracts.secrets import SecretBox
from contracts.settings import S3Settings
from recognition.pool import ImageReadings

NO_LIMITS = LimitRules(per_minute=0, recognize_per_minute=0, demo_per_minute=0, block_seconds=300)
NO_ATTEMPT_RULES = AttemptRules(0, 0, 0)
PER_OWNER = 5
_STALE_MS = 30_000
STREAM_RULES = StreamRules(
    heart_beat_seconds=15, bounds=StreamBounds(per_credential=3, per_owner=5, in_all=20)
)
NOW_MS = 1_790_000_000_000
PASSWORD = "a password of a test"


class StandInStore:
    """Holds no recognitions."""

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        return RecognitionPage((), None)

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        return None

    async def traffic(self, span: OwnerSpan, *, plates: int) -> Traffic:
        return Traffic((), (), ())

    async def erasures(self) -> Erasures:
        return Erasures()

    async def images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        return ()

    async def note_removed(self, images: tuple[ErasedImages, ...]) -> None:
        return None

    async def trigger_counts(self, owner_id: UUID) -> dict[UUID, TriggerCount]:
        return {}

    async def fired_for(
        self, owner_id: UUID, recognition_id: UUID, captured_ms: int
    ) -> tuple[Fired, ...]:
        return ()

    async def holding(self, question: CooldownQuestion) -> HoldingTrigger | None:
        return None

    async def span(
        self, owner_id: UUID, span_ms: tuple[int, int], after: SpanRow | None, limit: int
    ) -> tuple[SpanRow, ...]:
        return ()


class StandInDeliveries(StandInStore):
    """Holds no deliveries, unless a test gives it some."""

    def __init__(self) -> None:
        self.summaries: tuple[DeliverySummary, ...] = ()
        self.contents: dict[UUID, bytes] = {}
        self.recognitions: tuple[ListedRecognition, ...] = ()
        self.asked: list[DeliveryFilter] = []

    async def deliveries(self, wanted: DeliveryFilter, limit: int) -> tuple[DeliverySummary, ...]:
        self.asked.append(wanted)
        return self.summaries[:limit]

    async def delivery_content(self, place: DeliveryPlace, delivery_id: UUID) -> bytes | None:
        return self.contents.get(delivery_id)

    async def deliveries_between(self, span: WebhookSpan, limit: int) -> tuple[bytes, ...]:
        return tuple(self.contents.values()) if span.events else ()

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        return RecognitionPage(self.recognitions, None)


class StandInReader:
    """Finds no plate in any image, or raises what it is told to."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.calls = 0
        self.readings: tuple[PlateReading, ...] = ()

    async def read_image(self, data: bytes) -> ImageReadings:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return ImageReadings(readings=self.readings, width_px=640, height_px=480, duration_ms=1.0)


class StandInResolver:
    """Knows the names that a test gives it."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    async def addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        return tuple(ip_address(text) for text in self.names.get(host, "").split())


@dataclass(frozen=True)
class Caller:
    """An owner with a key."""

    owner_id: UUID
    key: str
    email: str = ""


@dataclass
class Application:
    """The application and what a test does to it from outside."""

    app: FastAPI
    database: Database
    reader: StandInReader
    services: Services
    box: SecretBox
    resolver: StandInResolver
    news: News

    @property
    def board(self) -> StatusBoard:
        """What is known of cameras."""
        return self.news.cameras

    @property
    def webhook_board(self) -> WebhookBoard:
        """What is known of webhooks."""
        return self.news.webhooks

    @property
    def recent(self) -> RecentRecognitions:
        """What streams are fed from."""
        return self.news.recent

    async def new_owner(self, *, credits: int = 0, scopes: frozenset[Scope] = ALL_SCOPES) -> Caller:
        """Make an owner with a key."""

        def work(session: Session) -> Caller:
            owner = create_owner(
                session,
                email=f"{uuid.uuid4().hex}@platestream.example",
                password=PASSWORD,
                timezone="UTC",
                credits=credits,
            )
            key = create_key(session, owner.id, name="test", scopes=scopes)
            return Caller(owner.id, key.plain_key, owner.email)

        return await self.database.run(work)

    def client(self, caller: Caller | None = None) -> httpx.AsyncClient:
        """Return a client of the application with the caller's key."""
        headers = {} if caller is None else {"Authorization": f"Bearer {caller.key}"}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://api.test", headers=headers
        )


async def _is_fed() -> None:
    """Say that the recognitions topic is being followed."""


async def _is_not_fed() -> None:
    raise TransientError("this test follows no topic")


def s3_settings_of_nothing() -> S3Settings:
    """Return settings of an S3 that nobody calls; links can still be signed."""
    return S3Settings.model_validate(
        {
            "s3_endpoint": "http://127.0.0.1:1",
            "s3_public_endpoint": "https://images.example",
            "s3_secret_key": "secret",
        }
    )


@dataclass(frozen=True, kw_only=True)
class Options:
    """What an application is started with: stand-ins, and rules that no test meets by chance."""

    store: RecognitionStore = field(default_factory=StandInStore)
    traffic: TrafficStore = field(default_factory=StandInStore)
    triggers: TriggerStore = field(default_factory=StandInStore)
    deliveries: DeliveryStore = field(default_factory=StandInDeliveries)
    erasures: ErasureList = field(default_factory=StandInStore)
    erased_images: ErasedImageNotes = field(default_factory=StandInStore)
    reader: ImageReader | None = None
    photos: PhotoStore | None = None
    take_seconds: float = 0.5
    s3: S3Settings | None = None
    limits: LimitRules = NO_LIMITS
    allowed_networks: str = ""
    trusted_proxies: str = ""
    demo_enabled: bool = True
    subscription_credits: int = 0
    attempts: AttemptRules = NO_ATTEMPT_RULES
    streams: StreamRules = STREAM_RULES
    feeds_streams: bool = False
    now_ms: Callable[[], int] = lambda: NOW_MS

    def rules(self, secret_keys: str) -> ServiceRules:
        """Return the rules of the service."""
        return ServiceRules(
            secret_keys=secret_keys,
            validation=ValidationRules(
                outbound=OutboundRules(parse_networks(self.allowed_networks))
            ),
            cameras=CameraRules(self.take_seconds, _STALE_MS, PER_OWNER, self.subscription_credits),
            limits=self.limits,
            attempts=self.attempts,
            streams=self.streams,
            session_lifetime=timedelta(hours=1),
            image_lease=timedelta(seconds=10),
            image_retention=None,
            alerts_per_owner=PER_OWNER,
            webhooks_per_owner=PER_OWNER,
            api_keys_per_owner=PER_OWNER,
            demo_enabled=self.demo_enabled,
            trusted_proxies=parse_networks(self.trusted_proxies),
        )

    def stores(self) -> Stores:
        """Return what stands for ClickHouse."""
        return Stores(
            recognitions=self.store,
            traffic=self.traffic,
            triggers=self.triggers,
            deliveries=self.deliveries,
            erasures=self.erasures,
            erased_images=self.erased_images,
        )


@asynccontextmanager
async def running_application(
    database: Database, options: Options | None = None
) -> AsyncIterator[Application]:
    """Yield a started application."""
    options = options or Options()
    secret_keys = Fernet.generate_key().decode()
    stand_in, resolver = StandInReader(), StandInResolver()
    ping = _is_fed if options.feeds_streams else _is_not_fed
    news = News(StatusBoard(), WebhookBoard(), RecentRecognitions(1000), ping)
    images = ImageStore(options.s3 or s3_settings_of_nothing())
    services = assemble(
        options.rules(secret_keys),
        Outside(
            database=database,
            stores=options.stores(),
            news=news,
            images=images,
            photos=options.photos or images,
            reader=options.reader or stand_in,
            resolver=resolver,
            shared_limits=None,
            health=Health({"postgres": database.ping}),
            now_ms=options.now_ms,
        ),
    )
    async with _started(services, images) as app:
        yield Application(app, database, stand_in, services, SecretBox(secret_keys), resolver, news)


@asynccontextmanager
async def _started(services: Services, images: ImageStore) -> AsyncIterator[FastAPI]:
    @asynccontextmanager
    async def given_services() -> AsyncIterator[Services]:
        yield services
        await services.close()
        images.close()

    app = create_app(given_services)
    async with app.router.lifespan_context(app):
        yield app
