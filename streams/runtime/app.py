"""Builds the Faust app of a stage, with the names, sizes and safety rules that all stages share."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import faust
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidReplicationFactorError, KafkaError
from faust.transport.drivers import aiokafka as driver
from faust.transport.utils import DefaultSchedulingStrategy
from faust.types import TP
from faust.types.auth import CredentialsT
from faust.types.transports import TransportT
from prometheus_client import CollectorRegistry
from yarl import URL

from common.errors import EXIT_MISCONFIGURED, MisconfiguredError, TransientError
from common.kafka.checked_releases import require_checked_release
from common.kafka.clients import (
    METADATA_MAX_AGE_MS,
    SESSION_TIMEOUT_SECONDS,
    group_name,
    table_replication,
    topic_name,
)
from common.kafka.security import security_options
from common.metrics import Details, counter, gauge
from common.records.topics import Topic
from common.settings import KafkaSettings
from streams.runtime.backlog import GapRule
from streams.runtime.consumer import StageConsumer, StageTransport
from streams.runtime.process_exit import end_process
from streams.runtime.progress import Position
from streams.runtime.settings import StreamSettings

log = structlog.get_logger()

Event: TypeAlias = faust.EventT[bytes | None]
"""A message of one of our topics: ``value`` is raw bytes, ``message`` contains the offset."""

MEMORY_STORE = "memory://"

_REQUEST_TIMEOUT_SECONDS = 40.0
_DAY_SECONDS = 86_400.0
# A crash repeats the work since the last commit, so commits are frequent.
_COMMIT_SECONDS = 1.0
# aiokafka's default of 16 KiB holds only ten deliveries; further deliveries would wait.
_BATCH_BYTES = 256 * 1024


class StageMetrics:
    """The metrics of one stage. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Register the metrics in ``registry``, or in a new registry."""
        self.registry = registry or CollectorRegistry()
        self.released = counter("platestream_stream_messages_processed_total", self.registry)
        self.dead_letters = counter("platestream_stream_dead_letters_total", self.registry)
        self.failures = counter("platestream_stream_transient_failures_total", self.registry)
        self._lag = gauge("platestream_stream_lag_messages", self.registry)
        self._gone = counter("platestream_stream_messages_expired_total", self.registry)

    def messages_lost(self, tp: TP, count: int) -> None:
        """Count messages that expired before they were read."""
        self._gone.labels(tp.topic, str(tp.partition)).inc(count)

    def show_lag(self, positions: Mapping[TP, Position]) -> None:
        """Set the lag of each partition that this process owns, and remove all other partitions."""
        self._lag.clear()
        for tp, position in positions.items():
            self._lag.labels(tp.topic, str(tp.partition)).set(position.lag)


class StageTopic(faust.Topic):
    """A Kafka topic. Faust creates only the topics of changelogs."""

    app: "StageApp"

    async def declare(self) -> None:
        """Create the topic if it is a changelog. All other topics already exist."""
        if self.internal:
            await self._declare_changelog()

    async def _declare_changelog(self) -> None:
        name = self.get_topic_name()
        try:
            wanted = await asyncio.to_thread(table_replication, self.app.settings, name)
        except MisconfiguredError as error:
            # Otherwise, Faust would exit with another status or retry forever.
            log.error("misconfigured", reason=str(error))
            end_process(EXIT_MISCONFIGURED)
        if wanted is None:
            await super().declare()
            return
        self.replicas = wanted.replicas
        self.config = {**(self.config or {}), **wanted.topic_options}
        try:
            await super().declare()
        except InvalidReplicationFactorError as error:
            raise TransientError(wanted.not_made(name)) from error

    async def send(self, **message: Any) -> Any:
        """Send a message and return its future. The worker must still be a member of its group.

        Raises:
            TransientError: the worker has not heard from its group for the length of a session.
        """
        self.app.require_membership()
        return await super().send(**message)


class StageApp(faust.App):
    """A Faust app that commits only events that the stage has released."""

    settings: StreamSettings
    metrics: StageMetrics
    stage: str
    is_waiting = False
    """Set while a dependency is unavailable, so that the stage is not considered stalled."""
    gaps: GapRule | None = None
    """The rule for deferring old records, if the stage defers records."""
    details: Details = staticmethod(dict)
    """Details of the stage that ``/readyz`` adds to its status."""

    def require_membership(self) -> None:
        """Raise an error if the group may have excluded this worker, which then must not send.

        Raises:
            TransientError: the worker has not heard from its group for the length of a session.
        """
        if self.member_seconds <= 0:
            raise TransientError("lost contact with Kafka's group; partitions may be reassigned")

    @property
    def member_seconds(self) -> float:
        """Seconds for which this worker may send if it hears nothing more from its group."""
        if isinstance(self._consumer, StageConsumer):
            return self._consumer.member_seconds
        return float(self.conf.broker_session_timeout)

    def release(self, event: Event) -> None:
        """Release an event that is completely processed, so that its offset may be committed."""
        self.metrics.released.inc()
        if isinstance(self._consumer, StageConsumer):
            self._consumer.release(event.message)

    def is_next(self, event: Event) -> bool:
        """Return whether all earlier events of the event's partition are released.

        The result is False if the partition has been revoked, even if it was assigned again.
        """
        return isinstance(self._consumer, StageConsumer) and self._consumer.is_next(event.message)

    async def positions(self) -> dict[TP, Position]:
        """Return the committed position and the end of each partition that this process owns."""
        if not isinstance(self._consumer, StageConsumer):
            return {}
        return await self._consumer.positions()

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        """Return a partition's first offset since ``unix_ms``, or None if there is no such record.

        Raises:
            TransientError: Kafka is not responding.
        """
        assert isinstance(self._consumer, StageConsumer)
        with _kafka_errors():
            return await self._consumer.offset_since(tp, unix_ms)

    async def end_offset(self, tp: TP) -> int:
        """Return the offset of a partition's next new record.

        Raises:
            TransientError: Kafka is not responding.
        """
        with _kafka_errors():
            return int((await self.consumer.highwaters(tp))[tp])

    async def committed_offset(self, tp: TP) -> int | None:
        """Return a partition's committed offset as stored by Kafka, or None if there is none.

        Raises:
            TransientError: Kafka is not responding.
        """
        assert isinstance(self._consumer, StageConsumer)
        with _kafka_errors():
            return await self._consumer.committed_at_kafka(tp)

    async def batch_producer(self) -> AIOKafkaProducer:
        """Return the producer that sends whole batches.

        Raises:
            TransientError: this worker may no longer be a member of its group.
            Exception: Kafka is unavailable or the stage has ended (Faust's own errors).
        """
        self.require_membership()
        producer = await self.maybe_start_producer()
        assert isinstance(producer, driver.Producer)
        batches: AIOKafkaProducer = producer._ensure_producer()
        return batches

    def own_partitions(self, topic: faust.TopicT) -> frozenset[int]:
        """Return the partitions of a topic that are assigned to this worker."""
        name = topic.get_topic_name()
        return frozenset(tp.partition for tp in self.consumer.assignment() if tp.topic == name)

    def on_recovery(
        self, table: Any, topic: faust.TopicT, restore: Callable[[frozenset[int]], None]
    ) -> None:
        """Call ``restore`` with this worker's partitions of a topic whenever a table has been read.

        Tables are read at startup and after each rebalance, before anything else.
        """

        async def call() -> None:
            restore(self.own_partitions(topic))

        table.on_recover(call)

    @property
    def is_leaving(self) -> bool:
        """Whether the stage is stopping or rebalancing, so that no new work should be started."""
        return bool(self.should_stop or self.rebalancing)

    def _create_directories(self) -> None:
        self.conf.datadir.mkdir(parents=True, exist_ok=True)
        super()._create_directories()

    def _new_transport(self) -> TransportT:
        return StageTransport(self.conf.broker_consumer, self)


@contextmanager
def _kafka_errors() -> Iterator[None]:
    try:
        yield
    except (KafkaError, TimeoutError) as error:
        raise TransientError(f"Kafka is not responding: {error!r}") from error


def build_app(
    settings: StreamSettings,
    stage: str,
    *,
    store: str = MEMORY_STORE,
    stream_buffer_maxsize: int = 4096,
    max_poll_records: int | None = None,
    linger_ms: int = 5,
) -> StageApp:
    """Return the app of a stage, not yet started.

    ``stream_buffer_maxsize`` limits the messages buffered in memory for one agent (a frame is 0.3
    MB), and ``max_poll_records`` limits the records returned by one poll.

    Raises:
        MisconfiguredError: the installed Faust, or a library it uses, has not been verified.
    """
    require_checked_release("faust-streaming", "mode-streaming", "aiokafka")
    app = StageApp(
        group_name(settings, stage),
        broker=_broker_urls(settings),
        broker_credentials=broker_credentials(settings),
        env_prefix="PLATESTREAM_FAUST",
        autodiscover=False,
        datadir=Path(settings.stream_data_directory) / stage,
        store=store,
        table_standby_replicas=0,
        **_broker_options(settings, stage, max_poll_records),
        **_producer_options(settings, linger_ms),
        stream_buffer_maxsize=stream_buffer_maxsize,
        stream_wait_empty=True,
        topic_allow_declare=True,
        topic_disable_leader=True,
        topic_partitions=settings.kafka_partitions,
        web_enabled=False,
        worker_redirect_stdouts=False,
        ConsumerScheduler=DefaultSchedulingStrategy,
        Topic=StageTopic,
    )
    app.settings = settings
    app.metrics = StageMetrics()
    app.stage = stage
    return app


def _broker_options(
    settings: StreamSettings, stage: str, max_poll_records: int | None
) -> dict[str, Any]:
    session_seconds = SESSION_TIMEOUT_SECONDS
    return {
        "broker_client_id": f"platestream-{stage}",
        "broker_session_timeout": session_seconds,
        "broker_heartbeat_interval": session_seconds / 5,
        "broker_request_timeout": max(_REQUEST_TIMEOUT_SECONDS, session_seconds + 5),
        "broker_commit_interval": _COMMIT_SECONDS,
        "broker_max_poll_records": max_poll_records,
        # While a stage waits for a dependency, it does not poll, but must remain in its group.
        "broker_max_poll_interval": _DAY_SECONDS,
        "consumer_max_fetch_size": settings.kafka_max_message_bytes,
        "consumer_auto_offset_reset": "earliest",
        "consumer_metadata_max_age_ms": METADATA_MAX_AGE_MS,
    }


def _producer_options(settings: StreamSettings, linger_ms: int) -> dict[str, Any]:
    return {
        "producer_acks": -1,
        "producer_linger_ms": linger_ms,
        "producer_max_batch_size": _BATCH_BYTES,
        "producer_max_request_size": settings.kafka_max_message_bytes,
        "producer_request_timeout": _REQUEST_TIMEOUT_SECONDS,
    }


def _broker_urls(settings: StreamSettings) -> list[URL]:
    servers = settings.kafka_bootstrap_servers.split(",")
    return [URL(f"kafka://{server.strip()}") for server in servers]


def broker_credentials(settings: KafkaSettings) -> CredentialsT | None:
    """Return the credentials of Faust's consumer, producer and admin client.

    The result is None for plaintext without a login.

    Raises:
        MisconfiguredError: a certificate file has become unusable.
    """
    options: dict[str, Any] = security_options(settings)
    context = options.get("ssl_context")
    if settings.kafka_security_protocol.has_login:
        return faust.SASLCredentials(
            mechanism=options["sasl_mechanism"],
            username=options["sasl_plain_username"],
            password=options["sasl_plain_password"],
            ssl_context=context,
        )
    return None if context is None else faust.SSLCredentials(context)


def published_ms(event: Event) -> int:
    """Return when a message was published (Unix ms, UTC), as stored by Kafka."""
    return round(event.message.timestamp * 1000)


def raw_topic(app: StageApp, topic: Topic, **options: Any) -> faust.TopicT:
    """Return one of our topics, with raw bytes as keys and values. Values may be empty."""
    return app.topic(
        topic_name(app.settings, topic),
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
        allow_empty=True,
        **options,
    )
