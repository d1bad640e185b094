"""Whether what an installation needs answers, as an operator asks from a terminal."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import urllib3
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from api.db.engine import Database
from api.health import Check, Health, Readiness
from api.image_store import ImageStore
from api.recognitions.repository import ClickHouseStore
from contracts.errors import TransientError
from contracts.kafka import client_options, require_reachable, topic_name
from contracts.settings import ClickHouseSettings, DatabaseSettings, KafkaSettings, S3Settings
from contracts.topics import TOPICS

_KAFKA_TIMEOUT_MS = 5_000
_API_SECONDS = 5.0
_CHECK_SECONDS = 10.0


class StackSettings(DatabaseSettings, KafkaSettings, S3Settings, ClickHouseSettings):
    """Where the servers of an installation are."""


async def check_stack(settings: StackSettings, api_url: str | None) -> Readiness:
    """Return what PostgreSQL, Kafka, ClickHouse and S3 answer, and the API where its URL is given.

    Kafka is well where every topic is there, ClickHouse where recognitions can be read, PostgreSQL
    where it answers.
    """
    async with _checks(settings, api_url) as checks:
        return await Health(checks, check_seconds=_CHECK_SECONDS).readiness()


@asynccontextmanager
async def _checks(settings: StackSettings, api_url: str | None) -> AsyncIterator[dict[str, Check]]:
    database = Database(settings, pool_size=2)
    clickhouse, images = ClickHouseStore(settings), ImageStore(settings)
    checks: dict[str, Callable[[], Awaitable[None]]] = {
        "postgres": database.ping,
        "clickhouse": clickhouse.ping,
        "s3": images.ping,
        "kafka": lambda: asyncio.to_thread(_check_kafka, settings),
    }
    if api_url is not None:
        checks["api"] = lambda: asyncio.to_thread(_check_api, api_url)
    try:
        yield checks
    finally:
        await clickhouse.close()
        images.close()
        database.close()


def _check_kafka(settings: KafkaSettings) -> None:
    require_reachable(settings)
    options = client_options(settings, "stack-check") | {"request_timeout_ms": _KAFKA_TIMEOUT_MS}
    try:
        admin = KafkaAdminClient(**options)
        try:
            there = set(admin.list_topics())
        finally:
            admin.close()
    except KafkaError as error:
        raise TransientError(f"Kafka does not answer: {error!r}") from error
    missing = sorted(name for topic in TOPICS if (name := topic_name(settings, topic)) not in there)
    if missing:
        raise TransientError(f"topics are missing: {', '.join(missing)}")


def _check_api(url: str) -> None:
    address = f"{url.rstrip('/')}/readyz"
    try:
        answer = urllib3.request("GET", address, timeout=_API_SECONDS, retries=False)
    except urllib3.exceptions.HTTPError as error:
        raise TransientError("the API does not answer") from error
    if answer.status != 200:
        raise TransientError(f"the API is not ready: {answer.data[:500].decode(errors='replace')}")
