"""Checks an installation's servers and changes the number of Kafka partitions, for the CLI."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Final

import urllib3
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.db.database import Database
from api.db.engine import in_transaction, opened_engine, require_service_stopped
from api.db.migrate import current_revision, head_revision
from api.db.pooler import refuse_pooler
from api.health.service import Health, Readiness, disk_warnings
from api.installation_settings import DiskSettings
from api.outbox.outbox import republish_all
from common.errors import MisconfiguredError, PlatestreamError, TransientError
from common.kafka.clients import (
    KafkaConsumer,
    KafkaError,
    TopicPartition,
    changelog_name,
    open_admin,
    open_consumer,
    topic_name,
)
from common.kafka.partitions import TopicState, partition_numbers, recreate_topics, topic_state
from common.plaintext_warning import kafka_servers_in_clear, mqtt_server_in_clear
from common.records.codec import decode
from common.records.frames import OpenGap
from common.records.topics import TOPICS
from common.settings import (
    ClickHouseSettings,
    DatabaseSettings,
    KafkaSettings,
    MqttLoginSettings,
    S3Settings,
)
from common.timestamps import now_ms

_KAFKA_TIMEOUT_MS = 5_000
_API_SECONDS = 5.0
_CHECK_SECONDS = 10.0
_POLL_MS = 200

_STEPS: Final = 'see "More partitions" in docs/deployment.md'


class StackSettings(
    DatabaseSettings, KafkaSettings, S3Settings, ClickHouseSettings, MqttLoginSettings, DiskSettings
):
    """The addresses and logins of an installation's servers."""

    mqtt_host: str = ""


def stack_warnings(settings: StackSettings) -> list[str]:
    """Return a warning for each login that is sent unencrypted."""
    warnings = [
        f"the Kafka login at {server} is not encrypted; set PLATESTREAM_KAFKA_SECURITY_PROTOCOL"
        for server in kafka_servers_in_clear(settings)
    ]
    if server := mqtt_server_in_clear(settings.mqtt_host, settings):
        sentence = f"the MQTT password sent to {server} is not encrypted"
        warnings.append(f"{sentence}; set PLATESTREAM_MQTT_TLS")
    return warnings


def pooler_warnings(settings: StackSettings) -> list[str]:
    """Return a warning if a connection pooler is in front of PostgreSQL."""
    try:
        with opened_engine(settings) as engine, engine.connect() as connection:
            refuse_pooler(connection.connection.driver_connection, "the relay and migrations")
    except MisconfiguredError as error:
        return [str(error)]
    except DBAPIError:
        # The check of this server already reports the problem.
        return []
    return []


def partition_warnings(settings: StackSettings) -> list[str]:
    """Return a warning if Kafka's topics do not have the configured number of partitions."""
    try:
        found = partition_numbers(settings, request_timeout_ms=_KAFKA_TIMEOUT_MS)
    except (KafkaError, PlatestreamError):
        # The check of this server already reports the problem.
        return []
    if found <= {settings.kafka_partitions}:
        return []
    numbers = " and ".join(map(str, sorted(found)))
    return [
        f"Kafka topics have {numbers} partitions but PLATESTREAM_KAFKA_PARTITIONS is "
        f"{settings.kafka_partitions}; set it to the actual number or run platestream stack "
        "partitions"
    ]


async def check_stack(settings: StackSettings, api_url: str | None) -> Readiness:
    """Return the health of PostgreSQL, Kafka, ClickHouse and S3, and of the API if a URL is given.

    Kafka must have all topics. ClickHouse must return recognitions and have all migrations of this
    release. PostgreSQL must have the schema of this release and accept a write, which is rolled
    back. Warnings report nearly full disks and late frames.
    """
    async with _health(settings, api_url) as health:
        return await health.readiness()


@asynccontextmanager
async def _health(settings: StackSettings, api_url: str | None) -> AsyncIterator[Health]:
    database = Database(settings, pool_size=2)
    clickhouse, images = ClickHouseStore(settings), ImageStore(settings)
    checks: dict[str, Callable[[], Awaitable[None]]] = {
        "postgres": lambda: database.run(check_database),
        "clickhouse": clickhouse.ping,
        "s3": images.ping,
        "kafka": lambda: asyncio.to_thread(check_kafka, settings),
    }
    if api_url is not None:
        checks["api"] = lambda: asyncio.to_thread(_check_api, api_url)
    try:

        async def warnings() -> tuple[str, ...]:
            disks = await disk_warnings(settings.disk_folders)
            return (*disks, *await asyncio.to_thread(late_frames, settings))

        yield Health(checks, warnings, check_seconds=_CHECK_SECONDS)
    finally:
        await clickhouse.close()
        images.close()
        database.close()


def check_database(session: Session) -> None:
    """Check that the schema matches this release and accepts a write, which is rolled back.

    Raises:
        TransientError: the schema belongs to a different release, or the database is read-only.
    """
    found, needed = current_revision(session.connection()), head_revision()
    if found != needed:
        raise TransientError(
            f"the database schema is at revision {found}, but this release needs {needed}; run "
            "python -m api.db migrate"
        )
    try:
        with session.begin_nested() as attempt:
            # This row always exists, and nothing else locks it.
            session.execute(text("UPDATE alembic_version SET version_num = version_num"))
            attempt.rollback()
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        cause = type(error.orig).__name__
        raise TransientError(f"the database is read-only: {cause}") from error


def check_kafka(settings: KafkaSettings) -> None:
    """Check that Kafka accepts the login and has all topics.

    Raises:
        MisconfiguredError: Kafka rejects the login.
        TransientError: Kafka is not responding, or topics are missing.
    """
    try:
        with closing(
            open_admin(settings, "stack-check", request_timeout_ms=_KAFKA_TIMEOUT_MS)
        ) as admin:
            found = set(admin.list_topics())
    except KafkaError as error:
        raise TransientError(f"Kafka is not responding: {error!r}") from error
    missing = sorted(name for topic in TOPICS if (name := topic_name(settings, topic)) not in found)
    if missing:
        raise TransientError(f"these Kafka topics are missing: {', '.join(missing)}")


def late_frames(settings: KafkaSettings) -> list[str]:
    """Return a warning if late frames are waiting. Return no warning if Kafka is unavailable."""
    topic = changelog_name(settings, "recognition", "gaps")
    try:
        opened = open_consumer(settings, "stack-check", request_timeout_ms=_KAFKA_TIMEOUT_MS)
        with closing(opened) as consumer:
            gaps = _open_gaps(consumer, topic) if topic in consumer.topics() else []
    except (KafkaError, PlatestreamError):
        # The check of Kafka already reports the problem.
        return []
    if not gaps:
        return []
    minutes = (now_ms() - min(gap.next_ms for gap in gaps)) / 60_000
    left = sum(gap.left for gap in gaps)
    return [f"{left} late frames are waiting for recognition; the oldest is {minutes:.0f} min old"]


def _open_gaps(consumer: KafkaConsumer, topic: str) -> list[OpenGap]:
    partitions = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic) or ()]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends = consumer.end_offsets(partitions, _KAFKA_TIMEOUT_MS)
    latest: dict[bytes, bytes | None] = {}
    deadline = time.monotonic() + _KAFKA_TIMEOUT_MS / 1000
    while any(consumer.position(each) < ends[each] for each in partitions):
        for records in consumer.poll(_POLL_MS).values():
            latest |= {record.key: record.value for record in records}
        if time.monotonic() > deadline:
            break
    return [decode(OpenGap, value) for value in latest.values() if value]


def _check_api(url: str) -> None:
    address = f"{url.rstrip('/')}/healthz"
    try:
        answer = urllib3.request("GET", address, timeout=_API_SECONDS, retries=False)
    except urllib3.exceptions.HTTPError as error:
        raise TransientError("the API is not responding") from error
    if answer.status != 200:
        raise TransientError(f"the API returned {answer.status} at /healthz")


class PartitionSettings(KafkaSettings, DatabaseSettings):
    """The settings of Kafka, and of the database with the configuration to publish."""


class PartitionsInUseError(PlatestreamError):
    """The topics cannot be recreated. The message contains the reason."""


def partition_state(settings: PartitionSettings) -> TopicState:
    """Return the state of Kafka's topics.

    Raises:
        MisconfiguredError: Kafka rejects the login.
        TransientError: Kafka is not responding.
    """
    with _kafka_errors():
        return topic_state(settings)


def apply_partitions(settings: PartitionSettings) -> None:
    """Recreate the topics if they do not have the configured number of partitions.

    Afterwards, queue all configuration for publication.

    Raises:
        PartitionsInUseError: a stage is running, or records have not been processed yet.
        ServiceRunningError: another process of the service is running.
        MisconfiguredError: Kafka rejects the login.
        TransientError: Kafka or PostgreSQL is not responding.
    """
    state = partition_state(settings)
    if state.running:
        raise PartitionsInUseError(f"{', '.join(state.running)} must be stopped first; {_STEPS}")
    if state.waiting:
        left = ", ".join(f"{count} in {name}" for name, count in state.waiting.items())
        raise PartitionsInUseError(f"some records have not been processed yet ({left}); {_STEPS}")
    with opened_engine(settings) as engine:
        require_service_stopped(engine)
        if state.numbers != {settings.kafka_partitions}:
            with _kafka_errors():
                recreate_topics(settings)
        in_transaction(engine, republish_all)


@contextmanager
def _kafka_errors() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise TransientError(f"Kafka: {error!r}") from error
