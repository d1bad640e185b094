"""An application for tests with a real database, and fakes of the parts that are not under test."""

import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import httpx
from cryptography.fernet import Fernet
from fastapi import FastAPI
from sqlalchemy.orm import Session

from analytics_sql.deliveries import (
    AddressedDelivery,
    DeliveryCursor,
    DeliveryFilter,
    DeliverySummary,
    EventFilter,
    WebhookSpan,
)
from analytics_sql.erased_images import ErasedImages
from analytics_sql.erasure import Erasures
from analytics_sql.exports import ExportPart, FileForm
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
)
from analytics_sql.traffic.analytics import OwnerSpan, Traffic
from analytics_sql.traffic.camera_counts import CameraHour, CameraSpan, ReportedHour
from analytics_sql.triggers import (
    CooldownQuestion,
    FiredPage,
    RecognitionTrigger,
    SpanRow,
    SuppressingTrigger,
    TriggerCount,
    TriggerCursor,
)
from api.accounts.service import create_key, create_owner
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.adapters.outbound import HostResolver
from api.app import create_app
from api.cameras.status_cache import CameraStatusCache
from api.container import AppDependencies, Services
from api.db.database import Database
from api.erasure.images import RemovedImages
from api.erasure.jobs import ErasePlate
from api.erasure.service import ErasedPlate
from api.health.service import Health, InstallationStatus
from api.limits.limiter import LimitRules
from api.limits.owner_limits import OwnerLimit, installation_limits
from api.live.recent import RecentRecognitions
from api.recognitions.repository import Misreading
from api.recognize.readers import ImageReader
from api.security.permissions import ALL_SCOPES, Scope
from api.sessions.attempts import AttemptRules
from api.settings import ApiSettings
from api.webhooks.service import WebhookStatusCache
from common.errors import TransientError
from common.networks import IpAddress
from common.records.recognitions import PlateReading
from common.secrets import SecretBox
from common.settings import S3Settings
from recognition.workers.protocol import ImageReadings

NO_LIMITS = LimitRules(per_minute=0, recognize_per_minute=0, demo_per_minute=0, block_seconds=300)
NO_ATTEMPT_RULES = AttemptRules(0, 0, 0)
PER_OWNER = 5
BODY_MEBIBYTES = 16
IMAGE_CALLS_AT_ONCE = 200
EXPORTS_PER_MINUTE = 20
_SETTINGS = {
    "database_url": "postgresql://nobody@127.0.0.1:1/nothing",
    "clickhouse_password": "never used",
    "s3_secret_key": "never used",
    "cameras_per_owner": PER_OWNER,
    "frames_per_second_per_owner": 100,
    "smtp_encryption": "none",
    "smtp_from": "Gate <gate@platestream.example>",
    "public_url": "https://plates.example.com",
    "session_hours": 1,
}
_SIZES = {
    **dict.fromkeys((OwnerLimit.ALERTS, OwnerLimit.WEBHOOKS, OwnerLimit.API_KEYS), PER_OWNER),
    OwnerLimit.PEOPLE: PER_OWNER,
    OwnerLimit.STREAMS: 5,
    OwnerLimit.REPLAYS: 3,
    OwnerLimit.BODY_MEBIBYTES: BODY_MEBIBYTES,
    OwnerLimit.EXPORTS_PER_MINUTE: EXPORTS_PER_MINUTE,
}
NOW_MS = 1_790_000_000_000
PASSWORD = "a password of a test"


class StandInStore(ClickHouseStore):
    """Stores nothing, unless a test sets hours of cameras or deliveries."""

    def __init__(self, hours: tuple[CameraHour, ...] = ()) -> None:
        self.hours = hours
        self.asked_hours: list[CameraSpan] = []
        self.summaries: tuple[DeliverySummary, ...] = ()
        self.contents: dict[UUID, bytes] = {}
        self.recognitions: tuple[RecognitionRow, ...] = ()
        self.asked: list[DeliveryFilter] = []
        self.addressed: tuple[AddressedDelivery, ...] = ()
        self.events: list[EventFilter] = []

    async def export_part(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, rows: int
    ) -> ExportPart:
        return ExportPart(None, None)

    @asynccontextmanager
    async def exported(
        self,
        wanted: RecognitionFilter,
        after: RecognitionCursor | None,
        part: ExportPart,
        form: FileForm,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"id\n"

        yield pieces()

    async def page(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, limit: int
    ) -> RecognitionPage:
        return RecognitionPage(self.recognitions, None)

    async def get_many(
        self, owner_id: UUID, places: Sequence[RecognitionCursor]
    ) -> tuple[RecognitionRow, ...]:
        return ()

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        return None

    async def traffic(self, span: OwnerSpan, /, *, plates: int, settle_ms: int = 0) -> Traffic:
        return Traffic((), (), ())

    async def erasures(self) -> Erasures:
        return Erasures()

    async def list_images_to_remove(
        self, limit: int, owner_id: UUID | None = None, after: ErasedImages | None = None
    ) -> tuple[ErasedImages, ...]:
        return ()

    async def mark_removed(self, images: Sequence[ErasedImages]) -> None:
        return None

    async def trigger_counts(self, owner_id: UUID) -> dict[UUID, TriggerCount]:
        return {}

    async def triggers_for(
        self, owner_id: UUID, recognition_id: UUID, captured_ms: int
    ) -> tuple[RecognitionTrigger, ...]:
        return ()

    async def fired_for(
        self, owner_id: UUID, alert_id: UUID, after: TriggerCursor | None, limit: int
    ) -> FiredPage:
        return FiredPage((), None)

    async def holding(self, question: CooldownQuestion) -> SuppressingTrigger | None:
        return None

    async def span(
        self, owner_id: UUID, span_ms: tuple[int, int], after: SpanRow | None, limit: int
    ) -> tuple[SpanRow, ...]:
        return ()

    async def camera_hours(self, span: CameraSpan, /) -> tuple[CameraHour, ...]:
        self.asked_hours.append(span)
        return self.hours

    async def reported_hours(self, hours_ms: Sequence[int], /) -> tuple[ReportedHour, ...]:
        return ()

    async def deliveries(self, wanted: DeliveryFilter, limit: int) -> tuple[DeliverySummary, ...]:
        self.asked.append(wanted)
        return self.summaries[:limit]

    async def deliveries_of(self, wanted: EventFilter, limit: int) -> tuple[AddressedDelivery, ...]:
        self.events.append(wanted)
        return self.addressed[:limit]

    async def get_delivery_content(self, place: DeliveryCursor, delivery_id: UUID) -> bytes | None:
        return self.contents.get(delivery_id)

    async def list_deliveries_between(self, span: WebhookSpan, limit: int) -> tuple[bytes, ...]:
        return tuple(self.contents.values()) if span.events else ()


async def _nothing_to_erase(
    owner_id: UUID, plate: str, misread: Sequence[Misreading], before_ms: int
) -> ErasedPlate:
    return ErasedPlate(Counter(), RemovedImages(0, 0))


class StandInReader:
    """Finds no plate in any image, or raises a given error."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.calls = 0
        self.readings: tuple[PlateReading, ...] = ()

    async def read_image(self, data: bytes, *, wait_seconds: float) -> ImageReadings:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return ImageReadings(readings=self.readings, width_px=640, height_px=480, duration_ms=1.0)


class StandInResolver(HostResolver):
    """Resolves the names that a test sets."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    async def addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        return tuple(ip_address(text) for text in self.names.get(host, "").split())


@dataclass(frozen=True)
class Caller:
    """An account with an API key."""

    owner_id: UUID
    key: str
    email: str = ""


async def new_owner(
    database: Database,
    *,
    credits: int = 0,
    scopes: frozenset[Scope] = ALL_SCOPES,
    email: str | None = None,
    timezone: str = "UTC",
    key_name: str = "test",
) -> Caller:
    """Return a new account with an API key."""

    def work(session: Session) -> Caller:
        owner = create_owner(
            session,
            email=email or f"{uuid.uuid4().hex}@platestream.example",
            password=PASSWORD,
            timezone=timezone,
            credits=credits,
        )
        key = create_key(session, owner.id, name=key_name, scopes=scopes)
        return Caller(owner.id, key.plain_key, owner.email)

    return await database.run(work)


@dataclass
class Application:
    """The application, and methods with which a test changes its environment."""

    app: FastAPI
    database: Database
    reader: StandInReader
    services: Services
    box: SecretBox
    resolver: StandInResolver
    camera_statuses: CameraStatusCache
    webhook_board: WebhookStatusCache
    recent: RecentRecognitions

    async def new_owner(self, *, credits: int = 0, scopes: frozenset[Scope] = ALL_SCOPES) -> Caller:
        """Return a new account with an API key."""
        return await new_owner(self.database, credits=credits, scopes=scopes)

    def client(self, caller: Caller | None = None) -> httpx.AsyncClient:
        """Return a client that sends the caller's key, or no key without a caller."""
        headers = {} if caller is None else {"Authorization": f"Bearer {caller.key}"}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://api.test", headers=headers
        )


async def _is_fed() -> None:
    """Report that the recognitions topic is being consumed."""


async def _is_not_fed() -> None:
    raise TransientError("this test follows no topic")


def s3_settings_of_nothing() -> S3Settings:
    """Return settings of an S3 server that is never called. Links can still be signed."""
    return S3Settings.model_validate(
        {
            "s3_endpoint": "http://127.0.0.1:1",
            "s3_public_endpoint": "https://images.example",
            "s3_secret_key": "secret",
        }
    )


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of an application: fakes, and limits that a test does not reach by accident."""

    store: ClickHouseStore = field(default_factory=StandInStore)
    erase_plate: ErasePlate = _nothing_to_erase
    reader: ImageReader | None = None
    images: ImageStore | None = None
    assign_seconds: float = 0.5
    s3: S3Settings | None = None
    limits: LimitRules = NO_LIMITS
    failed_authentications: int = 0
    allowed_networks: str = ""
    smtp_host: str = ""
    smtp_port: int = 1
    trusted_proxies: str = ""
    demo_enabled: bool = True
    subscription_credits: int = 0
    installation: InstallationStatus | None = None
    image_retention_days: int = 0
    camera_files: Path | None = None
    attempts: AttemptRules = NO_ATTEMPT_RULES
    feeds_streams: bool = False
    more: Mapping[str, object] = field(default_factory=dict)
    """Settings of a single test."""
    sizes: Mapping[OwnerLimit, int] = field(default_factory=dict)
    """Limits of a single test that have no setting."""
    now_ms: Callable[[], int] = lambda: NOW_MS

    def constants(self) -> dict[str, object]:
        """Return the constants that differ from the service, by full name."""
        return {
            "api.container.limit_rules": lambda _: self.limits,
            "api.container.attempt_rules": lambda _: self.attempts,
            "api.container.FAILED_AUTHENTICATIONS_PER_MINUTE": self.failed_authentications,
            "api.container.CAMERA_ASSIGN_SECONDS": self.assign_seconds,
            "api.container.STREAMS_PER_KEY": 3,
            "api.container.STREAMS_PER_PROCESS": 20,
            "api.recognize.readers.TIMEOUT_SECONDS": 2.5,
            "api.recognize.service.TIMEOUT_SECONDS": 2.5,
        }

    def settings(self, secret_keys: str) -> ApiSettings:
        given = {
            "secret_key": secret_keys,
            "webhook_allowed_networks": self.allowed_networks,
            "smtp_host": self.smtp_host,
            "smtp_port": self.smtp_port,
            "trusted_proxies": self.trusted_proxies,
            "camera_subscription_credits": self.subscription_credits,
            "demo_enabled": self.demo_enabled,
            "rate_limit_per_minute": self.limits.per_minute,
            "rate_limit_recognize_per_minute": self.limits.recognize_per_minute,
            "image_retention_days": self.image_retention_days,
            "camera_files_folder": self.camera_files,
            "login_attempts_per_minute": self.attempts.per_minute,
        }
        return ApiSettings.model_validate({**_SETTINGS, **given, **self.more})


@asynccontextmanager
async def running_application(
    database: Database, options: Options | None = None
) -> AsyncIterator[Application]:
    options = options or Options()
    secret_keys = Fernet.generate_key().decode()
    stand_in, resolver = StandInReader(), StandInResolver()
    cameras, webhooks, recent = CameraStatusCache(), WebhookStatusCache(), RecentRecognitions(1000)
    images = options.images or ImageStore(options.s3 or s3_settings_of_nothing())
    settings = options.settings(secret_keys)
    sizes = {**installation_limits(settings), **_SIZES, **options.sizes}
    outside = AppDependencies(
        database=database,
        store=options.store,
        images=images,
        reader=options.reader or stand_in,
        resolver=resolver,
        camera_statuses=cameras,
        webhook_statuses=webhooks,
        recent=recent,
        ping_recognitions=_is_fed if options.feeds_streams else _is_not_fed,
        shared_limits=None,
        erase_plate=options.erase_plate,
        health=Health({"postgres": database.ping}, None, options.installation),
        now_ms=options.now_ms,
    )
    with ExitStack() as changed:
        for name, value in options.constants().items():
            changed.enter_context(patch(name, value))
        changed.enter_context(patch("api.container.installation_limits", return_value=sizes))
        services = Services(settings, outside)
    async with _started(services, images) as app:
        yield Application(
            app,
            database,
            stand_in,
            services,
            SecretBox(secret_keys),
            resolver,
            cameras,
            webhooks,
            recent,
        )


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
