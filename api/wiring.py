"""Opens what an application needs, from its settings, and takes it down again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from api.assembly import News, Outside, Stores, assemble
from api.cameras.status_board import StatusBoard
from api.db.engine import Database, database_url
from api.health import Health
from api.image_store import ImageStore
from api.limit_storage import LimitStore, SharedLimitStore
from api.live.feed import RecognitionFeed
from api.live.recent import RecentRecognitions
from api.outbound import SystemResolver
from api.recognitions.repository import ClickHouseStore
from api.recognize.engine import RecognizerEngine
from api.service_rules import service_rules
from api.services import Services
from api.settings import ApiSettings
from api.webhooks.board import WebhookBoard
from contracts.cameras import CameraStatus
from contracts.deliveries import WebhookStatus
from contracts.moments import now_ms
from contracts.secrets import SecretBox
from contracts.topic_feed import TopicFeed
from contracts.topic_follower import TopicFollower
from contracts.topics import CAMERA_STATUS, WEBHOOK_STATUS


def check_settings(settings: ApiSettings) -> None:
    """Find out before anything starts what would stop it.

    Raises:
        MisconfiguredError: the settings cannot work.
    """
    SecretBox(settings.secret_key.get_secret_value())
    database_url(settings)


@dataclass(frozen=True)
class _Connections:
    """The adapters of one application, each of which it opens and closes."""

    database: Database
    store: ClickHouseStore
    images: ImageStore
    resolver: SystemResolver
    engine: RecognizerEngine
    shared_limits: LimitStore | None


@dataclass(frozen=True)
class _Feeds:
    """What follows topics, and where it writes what it hears."""

    cameras: StatusBoard
    webhooks: WebhookBoard
    recent: RecentRecognitions
    camera_feed: TopicFollower
    webhook_feed: TopicFollower
    recognition_feed: TopicFollower

    @property
    def all(self) -> tuple[TopicFollower, ...]:
        """Those that are started and stopped."""
        return (self.camera_feed, self.recognition_feed, self.webhook_feed)

    def news(self) -> News:
        """Return what is heard, as the services read it."""
        return News(self.cameras, self.webhooks, self.recent, self.recognition_feed.ping)


@asynccontextmanager
async def open_services(settings: ApiSettings) -> AsyncIterator[Services]:
    """Yield the services. No dependency has to be up: each is reached when it is first needed.

    Raises:
        MisconfiguredError: the settings cannot work.
    """
    rules = service_rules(settings)
    connections, feeds = _connections(settings), _feeds(settings)
    services = assemble(rules, _outside(connections, feeds))
    async with AsyncExitStack() as held:
        # Left in the reverse order: first what calls, then what is called.
        _close_in_the_end(held, connections)
        held.push_async_callback(services.close)
        for feed in feeds.all:
            feed.start()
            held.push_async_callback(asyncio.to_thread, feed.stop)
        connections.engine.start()
        held.push_async_callback(connections.engine.stop)
        for sweeper in services.sweepers():
            held.push_async_callback(_cancelled, asyncio.create_task(sweeper.run()))
        yield services


def _connections(settings: ApiSettings) -> _Connections:
    url = settings.rate_limit_store_url
    return _Connections(
        database=Database(settings, pool_size=settings.api_database_connections),
        store=ClickHouseStore(settings),
        images=ImageStore(settings),
        resolver=SystemResolver(),
        engine=RecognizerEngine(settings),
        shared_limits=None if url is None else SharedLimitStore(url),
    )


def _feeds(settings: ApiSettings) -> _Feeds:
    cameras, webhooks = StatusBoard(), WebhookBoard()
    recent = RecentRecognitions(settings.stream_memory_records)
    return _Feeds(
        cameras=cameras,
        webhooks=webhooks,
        recent=recent,
        camera_feed=TopicFeed(
            settings, CAMERA_STATUS, CameraStatus, cameras.post, client="api-camera-status"
        ),
        webhook_feed=TopicFeed(
            settings, WEBHOOK_STATUS, WebhookStatus, webhooks.post, client="api-webhook-status"
        ),
        recognition_feed=RecognitionFeed(settings, recent),
    )


def _outside(connections: _Connections, feeds: _Feeds) -> Outside:
    store = connections.store
    return Outside(
        database=connections.database,
        stores=Stores(
            recognitions=store,
            traffic=store,
            triggers=store,
            deliveries=store,
            erasures=store,
            erased_images=store,
        ),
        news=feeds.news(),
        images=connections.images,
        photos=connections.images,
        reader=connections.engine,
        resolver=connections.resolver,
        shared_limits=connections.shared_limits,
        health=_health(connections, feeds),
        now_ms=now_ms,
    )


def _health(connections: _Connections, feeds: _Feeds) -> Health:
    return Health(
        {
            "postgres": connections.database.ping,
            "clickhouse": connections.store.ping,
            "s3": connections.images.ping,
            "kafka": partial(_all_well, feeds.camera_feed.ping, feeds.recognition_feed.ping),
            "recognizer": connections.engine.ping,
        }
    )


def _close_in_the_end(held: AsyncExitStack, connections: _Connections) -> None:
    held.callback(connections.database.close)
    held.callback(connections.images.close)
    held.callback(connections.resolver.close)
    held.push_async_callback(connections.store.close)
    if connections.shared_limits is not None:
        held.push_async_callback(connections.shared_limits.close)


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _all_well(*checks: Callable[[], Awaitable[None]]) -> None:
    for check in checks:
        await check()
