"""Kafka for tests: one broker per test run, and a separate topic prefix for each test."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.kafka.clients import create_topics, open_admin
from common.records.topics import TOPICS, Topic
from common.settings import KafkaSettings, load_settings
from deploy.local.ports import free_ports
from deploy.local.servers.kafka import KafkaServer
from tests.services.addresses import GivenServers
from tests.services.process import ServerProcess


def kafka_process(directory: Path) -> ServerProcess:
    """Return a broker that has not been started, for a test that kills or freezes the broker."""
    port, controller_port = free_ports(2)
    server = KafkaServer(directory=directory / "kafka", port=port, controller_port=controller_port)
    return ServerProcess(server, directory / "logs")


def fresh_kafka_settings(bootstrap_servers: str, partitions: int = 4) -> KafkaSettings:
    """Return settings with unique topics and groups."""
    return KafkaSettings.model_validate(
        {
            "kafka_bootstrap_servers": bootstrap_servers,
            "kafka_topic_prefix": f"test-{uuid.uuid4().hex[:12]}-",
            "kafka_partitions": partitions,
        }
    )


@pytest.fixture(scope="session")
def kafka_bootstrap_servers(services_directory: Path) -> Iterator[str]:
    """Address of the test run's broker."""
    given = load_settings(GivenServers).kafka_bootstrap_servers
    if given is not None:
        yield given
        return
    with kafka_process(services_directory) as process:
        assert isinstance(process.server, KafkaServer)
        yield process.server.bootstrap_servers


@pytest.fixture(scope="module")
def partition_count() -> int:
    """Number of partitions of each topic: one, unless the workers of a module share partitions."""
    return 1


@pytest.fixture(scope="module")
def needed_topics() -> tuple[Topic, ...]:
    """Topics that exist at the start of a test: all topics, unless a module lists its own."""
    return TOPICS


@pytest.fixture
def kafka_settings(kafka_bootstrap_servers: str, partition_count: int) -> KafkaSettings:
    """Settings with an unused topic prefix; no topics exist yet."""
    return fresh_kafka_settings(kafka_bootstrap_servers, partition_count)


@pytest.fixture
def kafka_topics(
    kafka_settings: KafkaSettings, needed_topics: tuple[Topic, ...]
) -> Iterator[KafkaSettings]:
    """Settings with an unused topic prefix and empty topics. The topics are deleted afterwards."""
    create_topics(kafka_settings, needed_topics)
    yield kafka_settings
    delete_topics(kafka_settings)


@pytest.fixture(scope="module")
def module_kafka_topics(
    kafka_bootstrap_servers: str, partition_count: int, needed_topics: tuple[Topic, ...]
) -> Iterator[KafkaSettings]:
    """Settings with topics for all tests of a module, which must use different keys."""
    settings = fresh_kafka_settings(kafka_bootstrap_servers, partition_count)
    create_topics(settings, needed_topics)
    yield settings
    delete_topics(settings)


def delete_topics(settings: KafkaSettings) -> None:
    """Delete all topics with a prefix, including those that a stage has created for its tables."""
    admin = open_admin(settings, "tests")
    try:
        prefix = settings.kafka_topic_prefix
        admin.delete_topics([name for name in admin.list_topics() if name.startswith(prefix)])
    finally:
        admin.close()
