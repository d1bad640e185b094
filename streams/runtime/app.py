"""The Faust app of a stage: names, sizes and safety alike for all."""

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
"""A message of one of our topics: ``value`` as it lies there, ``message`` with its position."""

MEMORY_STORE = "memory://"

_REQUEST_TIMEOUT_SECONDS = 40.0
_DAY_SECONDS = 86_400.0
# Work since the last commit is repeated after a crash.
_COMMIT_SECONDS = 1.0
# aiokafka's 16 KiB hold ten deliveries, and the eleventh would wait for Kafka.
_BATCH_BYTES = 256 * 1024


class StageMetrics:
    """The metrics of one stage. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Without ``registry`` the metrics have one of their own."""
        self.registry = registry or CollectorRegistry()
        self.released = counter("platestream_stream_messages_processed_total", self.registry)
        self.dead_letters = counter("platestream_stream_dead_letters_total", self.registry)
        self.failures = counter("platestream_stream_transient_failures_total", self.registry)
        self._lag = gauge("platestream_stream_lag_messages", self.registry)
        self._gone = counter("platestream_stream_messages_expired_total", self.registry)

    def messages_lost(self, tp: TP, count: int) -> None:
        """Count messages that retention took before they were read."""
        self._gone.labels(tp.topic, str(tp.partition)).inc(count)

    def show_lag(self, positions: Mapping[TP, Position]) -> None:
        """Set the lag of each partition that this process owns; the others vanish."""
        self._lag.clear()
        for tp, position in positions.items():
            self._lag.labels(tp.topic, str(tp.partition)).set(position.lag)


class StageTopic(faust.Topic):
    """A topic that Faust never creates, except its own changelogs."""

    app: "StageApp"

    async def declare(self) -> None:
        """Create the topic if it is a changelog; ours are made with their properties before."""
        if self.internal:
            await self._declare_changelog()

    async def _declare_changelog(self) -> None:
        name = self.get_topic_name()
        try:
            wanted = await asyncio.to_thread(table_replication, self.app.settings, name)
        except MisconfiguredError as error:
            # Faust would end with another status, or try again.
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
        """Send a message, unless this worker may no longer be the one that does so.

        Raises:
            TransientError: it has not heard of its group for the length of a session.
        """
        self.app.require_membership()
        return await super().send(**message)


class StageApp(faust.App):
    """A Faust app that commits only what the stage released."""

    settings: StreamSettings
    metrics: StageMetrics
    stage: str
    is_waiting = False
    """Set while a dependency is unavailable; a standstill is then not a fault of the stage."""
    gaps: GapRule | None = None
    """The rule by which old records are read later, if the stage has one."""
    details: Details = staticmethod(dict)
    """What the stage says of itself on ``/readyz``, beside whether it is alive."""

    def require_membership(self) -> None:
        """Let nothing be sent by a worker that its group may have taken for dead.

        Raises:
            TransientError: it has not heard of its group for the length of a session.
        """
        if self.member_seconds <= 0:
            raise TransientError("no word of the group: its partitions may be others' now")

    @property
    def member_seconds(self) -> float:
        """For how long what it sends is its own to send, even if it hears of its group no more."""
        if isinstance(self._consumer, StageConsumer):
            return self._consumer.member_seconds
        return float(self.conf.broker_session_timeout)

    def release(self, event: Event) -> None:
        """Release an event that is done for good: its offset may be committed."""
        self.metrics.released.inc()
        if isinstance(self._consumer, StageConsumer):
            self._consumer.release(event.message)

    def is_next(self, event: Event) -> bool:
        """Return whether everything that came before the event in its partition is released.

        False also once the partition was revoked, even if it was assigned again since.
        """
        return isinstance(self._consumer, StageConsumer) and self._consumer.is_next(event.message)

    async def positions(self) -> dict[TP, Position]:
        """Return how far the partitions of this process are done, and how far they reach."""
        if not isinstance(self._consumer, StageConsumer):
            return {}
        return await self._consumer.positions()

    async def offset_since(self, tp: TP, unix_ms: int) -> int | None:
        """Return the offset of a partition's first record since then, None where there is none.

        Raises:
            TransientError: Kafka does not answer.
        """
        assert isinstance(self._consumer, StageConsumer)
        with _kafka_errors():
            return await self._consumer.offset_since(tp, unix_ms)

    async def end_offset(self, tp: TP) -> int:
        """Return the offset that a partition's next record will have.

        Raises:
            TransientError: Kafka does not answer.
        """
        with _kafka_errors():
            return int((await self.consumer.highwaters(tp))[tp])

    async def committed_offset(self, tp: TP) -> int | None:
        """Return what Kafka has as committed of a partition, None for nothing.

        Raises:
            TransientError: Kafka does not answer.
        """
        assert isinstance(self._consumer, StageConsumer)
        with _kafka_errors():
            return await self._consumer.committed_at_kafka(tp)

    async def batch_producer(self) -> AIOKafkaProducer:
        """Return the producer of whole batches.

        Raises:
            TransientError: this worker may no longer be the one that sends.
            Exception: of Faust's, where Kafka is unavailable or the stage has ended.
        """
        self.require_membership()
        producer = await self.maybe_start_producer()
        assert isinstance(producer, driver.Producer)
        batches: AIOKafkaProducer = producer._ensure_producer()
        return batches

    def own_partitions(self, topic: faust.TopicT) -> frozenset[int]:
        """Return the partitions of a topic that are this worker's now."""
        name = topic.get_topic_name()
        return frozenset(tp.partition for tp in self.consumer.assignment() if tp.topic == name)

    def on_recovery(
        self, table: Any, topic: faust.TopicT, restore: Callable[[frozenset[int]], None]
    ) -> None:
        """Call ``restore`` with this worker's partitions of a topic once a table has been read.

        That is at a start and after each rebalance, before anything else is read.
        """

        async def call() -> None:
            restore(self.own_partitions(topic))

        table.on_recover(call)

    @property
    def is_leaving(self) -> bool:
        """True during a stop or a rebalance, when nothing new should be started."""
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

    ``stream_buffer_maxsize`` bounds the messages that wait in memory for one agent (frames are
    0.3 MB each), ``max_poll_records`` what one poll hands over.

    Raises:
        MisconfiguredError: Faust, or what it is built on, is of a release that was not checked.
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
        # A stage that waits for a dependency does not poll; it must stay in its group all the same.
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

    None means plaintext without a login.

    Raises:
        MisconfiguredError: a certificate file can no longer be used.
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
    """Return when a message was published (Unix ms, UTC): the same whenever it is read."""
    return round(event.message.timestamp * 1000)


def raw_topic(app: StageApp, topic: Topic, **options: Any) -> faust.TopicT:
    """Return one of our topics with keys and values as bytes, empty values allowed."""
    return app.topic(
        topic_name(app.settings, topic),
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
        allow_empty=True,
        **options,
    )
