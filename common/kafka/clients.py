"""Creates Kafka clients with common options: sizes, durability, security and names.

This module creates every kafka-python client of the service. No I/O on import.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from kafka import ConsumerRebalanceListener as ConsumerRebalanceListener
from kafka import KafkaAdminClient, KafkaProducer
from kafka import KafkaConsumer as KafkaConsumer
from kafka import TopicPartition as TopicPartition
from kafka.admin import NewTopic
from kafka.consumer.fetcher import ConsumerRecord as ConsumerRecord
from kafka.errors import InvalidReplicationFactorError, TopicAlreadyExistsError
from kafka.errors import KafkaError as KafkaError
from kafka.errors import KafkaTimeoutError as KafkaTimeoutError
from kafka.errors import MessageSizeTooLargeError as MessageSizeTooLargeError

from common.errors import MisconfiguredError, TransientError
from common.kafka.checked_releases import require_checked_release
from common.kafka.security import require_reachable, security_options
from common.kafka.workarounds.decoder_lock import lock_decoders
from common.kafka.workarounds.reconnect_wait import ReconnectWaitProducer
from common.records.topics import TOPICS, Topic
from common.settings import KafkaSettings

log = structlog.get_logger()
lock_decoders()

_REQUEST_TIMEOUT_MS = 30_000
_DELIVERY_TIMEOUT_MS = 2**31 - 1
"""Records never expire. In kafka-python 3.0.12, a record that expires blocks an idempotent producer
permanently: if a broker is unavailable for longer than this timeout, no records are ever sent
again. This was measured with a broker that was killed for 30 s and frozen for 45 s. Without expiry,
all records are sent once the broker recovers."""
# With the default, a client could wait for 30 s after the broker has recovered.
_RECONNECT_BACK_OFF_MAX_MS = 1_000
_RETENTION_BYTES = "retention.bytes"
SESSION_TIMEOUT_SECONDS = 10.0
"""Time without a heartbeat after which a worker's partitions are reassigned."""
METADATA_MAX_AGE_MS = 5_000
"""The maximum age of a client's metadata. A broker that has just recovered may not list a topic
yet. A rebalance then assigns that topic's partitions to no member until the next refresh, which
comes after 5 minutes by default."""

MIN_IN_SYNC: Final = "min.insync.replicas"
_USUAL_REPLICAS: Final = 3


@dataclass(frozen=True)
class Replication:
    """A record is stored on ``replicas`` brokers, of which ``in_sync`` must acknowledge a write."""

    replicas: int
    in_sync: int

    @property
    def topic_options(self) -> dict[str, str]:
        """The topic's configuration entries for replication, by Kafka's names."""
        return {MIN_IN_SYNC: str(self.in_sync)}

    def not_made(self, topic: str) -> str:
        """Return the error message for a topic that Kafka did not create for lack of brokers."""
        return (
            f"Kafka did not create {topic} with {self.replicas} replicas because there are not "
            "enough brokers. Start more brokers or set PLATESTREAM_KAFKA_REPLICATION_FACTOR"
        )


def topic_name(settings: KafkaSettings, topic: Topic) -> str:
    """Return the topic's full name on the cluster."""
    return settings.kafka_topic_prefix + topic.name


def group_name(settings: KafkaSettings, stage: str) -> str:
    """Return the consumer group (Faust app ID) of a stage."""
    return f"{settings.kafka_topic_prefix}platestream-{stage}"


def changelog_name(settings: KafkaSettings, stage: str, table: str) -> str:
    """Return the name of a table's changelog topic, as created by Faust."""
    return f"{group_name(settings, stage)}-{table}-changelog"


def client_options(settings: KafkaSettings, client: str) -> dict[str, Any]:
    """Return the options of every kafka-python client.

    Raises:
        MisconfiguredError: the installed release of kafka-python has not been verified.
    """
    require_checked_release("kafka-python")
    return {
        **security_options(settings),
        "bootstrap_servers": settings.kafka_bootstrap_servers.split(","),
        "client_id": f"platestream-{client}",
        "request_timeout_ms": _REQUEST_TIMEOUT_MS,
        "reconnect_backoff_max_ms": _RECONNECT_BACK_OFF_MAX_MS,
        "metadata_max_age_ms": 6 * METADATA_MAX_AGE_MS,
    }


def producer_options(settings: KafkaSettings, client: str) -> dict[str, Any]:
    """Return the options of a ``kafka.KafkaProducer`` that never loses an acknowledged record."""
    return {
        **client_options(settings, client),
        "acks": "all",
        "enable_idempotence": True,
        "delivery_timeout_ms": _DELIVERY_TIMEOUT_MS,
        "max_request_size": settings.kafka_max_message_bytes,
    }


def consumer_options(settings: KafkaSettings, client: str) -> dict[str, Any]:
    """Return the options of a ``kafka.KafkaConsumer`` that accepts any record a producer sends."""
    return {
        **client_options(settings, client),
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "max_partition_fetch_bytes": settings.kafka_max_message_bytes,
        "fetch_max_bytes": 4 * settings.kafka_max_message_bytes,
    }


def open_producer(settings: KafkaSettings, client: str, **options: Any) -> KafkaProducer:
    """Return a connected producer; ``options`` override :func:`producer_options`.

    Raises:
        MisconfiguredError: Kafka denied access, or kafka-python has an unverified release.
        TransientError: no broker is responding.
        kafka.errors.KafkaError: a broker accepted the connection, but then did not respond in time.
    """
    require_reachable(settings)
    return ReconnectWaitProducer(**producer_options(settings, client) | options)


def open_consumer(
    settings: KafkaSettings,
    client: str,
    *,
    kind: type[KafkaConsumer] = KafkaConsumer,
    **options: Any,
) -> KafkaConsumer:
    """Return a connected consumer; ``options`` override :func:`consumer_options`.

    Raises the same errors as :func:`open_producer`.
    """
    require_reachable(settings)
    return kind(**consumer_options(settings, client) | options)


def open_admin(settings: KafkaSettings, client: str, **options: Any) -> KafkaAdminClient:
    """Return a connected admin client; ``options`` override :func:`client_options`.

    Raises the same errors as :func:`open_producer`.
    """
    require_reachable(settings)
    return KafkaAdminClient(**client_options(settings, client) | options)


def topic_options(settings: KafkaSettings, topic: Topic) -> dict[str, str]:
    """Return the topic's configuration entries under their Kafka names."""
    options = {
        "cleanup.policy": topic.cleanup.value,
        "max.message.bytes": str(settings.kafka_max_message_bytes),
        "segment.bytes": str(topic.segment_bytes),
        "segment.ms": str(topic.segment_ms),
        "compression.type": topic.compression,
    }
    if topic.cleanup.value == "delete":
        options["retention.ms"] = str(topic.retention_ms)
        options[_RETENTION_BYTES] = str(topic.retention_bytes)
    else:
        options["min.cleanable.dirty.ratio"] = "0.1"
    return options


def create_topics(settings: KafkaSettings, topics: Sequence[Topic] = TOPICS) -> tuple[str, ...]:
    """Create missing topics and return their full names. Safe to run concurrently.

    Kafka acknowledges a new topic before the brokers list it. On return, all topics are usable.

    Raises:
        MisconfiguredError: Kafka denied access, or has too few brokers.
        TransientError: no broker is responding, or too few brokers are available for a topic.
        kafka.errors.KafkaTimeoutError: a new topic did not become usable in time.
    """
    admin = open_admin(settings, "admin")
    try:
        existing = set(admin.list_topics())
        missing = [t for t in topics if topic_name(settings, t) not in existing]
        if missing:
            wanted = replication_at(admin, settings)
            for topic in missing:
                _create_topic(admin, settings, topic, wanted)
        created = tuple(topic_name(settings, t) for t in missing)
        admin.wait_for_topics(created, timeout_ms=_REQUEST_TIMEOUT_MS)
        return created
    finally:
        admin.close()


def replication(settings: KafkaSettings, brokers: int) -> Replication:
    """Return the replication from the settings, by default one replica per broker, up to three.

    With three replicas, the topic remains writable while one replica is unavailable.
    """
    replicas = settings.kafka_replication_factor or min(_USUAL_REPLICAS, max(1, brokers))
    return Replication(replicas, 2 if replicas >= _USUAL_REPLICAS else 1)


def replication_at(admin: KafkaAdminClient, settings: KafkaSettings) -> Replication:
    """Return the replication for the brokers that Kafka lists.

    Raises:
        MisconfiguredError: Kafka has fewer brokers than replicas.
    """
    brokers = count_brokers(admin)
    found = replication(settings, brokers)
    if found.replicas > brokers:
        raise MisconfiguredError(
            f"PLATESTREAM_KAFKA_REPLICATION_FACTOR is {found.replicas}, "
            f"but Kafka has only {brokers} brokers"
        )
    return found


def count_brokers(admin: KafkaAdminClient) -> int:
    """Return the number of brokers that Kafka lists. Brokers that never joined do not count. Since
    release 4, unavailable brokers count, and so do removed brokers that were not unregistered.

    **Source:** KIP-1073, fenced brokers of DescribeCluster, which kafka-python requests.
    """
    return len(admin.describe_cluster()["brokers"])


def table_replication(settings: KafkaSettings, name: str) -> Replication | None:
    """Return the replication for the topic of a stage's table, or None if the topic exists.

    ``name`` is the full name. The function queries Kafka, so do not call it on an event loop.

    Raises:
        MisconfiguredError: Kafka denied access.
        TransientError: Kafka is not responding.
    """
    try:
        admin = open_admin(settings, "replication")
        try:
            if name in admin.list_topics():
                return None
            brokers = settings.kafka_replication_factor or count_brokers(admin)
        finally:
            admin.close()
    except KafkaError as error:
        raise TransientError("Kafka did not return its list of topics and brokers") from error
    return replication(settings, brokers)


def _create_topic(
    admin: KafkaAdminClient, settings: KafkaSettings, topic: Topic, wanted: Replication
) -> None:
    new = NewTopic(
        topic_name(settings, topic),
        num_partitions=settings.kafka_partitions,
        replication_factor=wanted.replicas,
        topic_configs=topic_options(settings, topic) | wanted.topic_options,
    )
    try:
        admin.create_topics([new], timeout_ms=_REQUEST_TIMEOUT_MS)
    except TopicAlreadyExistsError:
        log.info("topic_already_exists", topic=new.name)
    except InvalidReplicationFactorError as error:
        raise TransientError(wanted.not_made(new.name)) from error
