"""Kafka for tests: one broker a test run, a prefix of its own for each test's topics."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.kafka.clients import create_topics, open_admin
from common.settings import KafkaSettings, load_settings
from deploy.local.ports import free_ports
from deploy.local.servers.kafka import KafkaServer
from tests.services.addresses import GivenServers
from tests.services.process import ServerProcess

_PARTITIONS = 4


def kafka_process(directory: Path) -> ServerProcess:
    """Return a broker that is not started yet, for a test that kills or freezes it."""
    port, controller_port = free_ports(2)
    server = KafkaServer(directory=directory / "kafka", port=port, controller_port=controller_port)
    return ServerProcess(server, directory / "logs")


def fresh_kafka_settings(bootstrap_servers: str) -> KafkaSettings:
    """Return settings whose topics and groups no other test has."""
    return KafkaSettings.model_validate(
        {
            "kafka_bootstrap_servers": bootstrap_servers,
            "kafka_topic_prefix": f"test-{uuid.uuid4().hex[:12]}-",
            "kafka_partitions": _PARTITIONS,
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


@pytest.fixture
def kafka_settings(kafka_bootstrap_servers: str) -> KafkaSettings:
    """Settings of a fresh, empty Kafka: no topic is there."""
    return fresh_kafka_settings(kafka_bootstrap_servers)


@pytest.fixture
def kafka_topics(kafka_settings: KafkaSettings) -> Iterator[KafkaSettings]:
    """Settings of a fresh Kafka with every topic, empty. The topics are deleted afterwards."""
    create_topics(kafka_settings)
    yield kafka_settings
    delete_topics(kafka_settings)


def delete_topics(settings: KafkaSettings) -> None:
    """Delete every topic of a prefix, also those that a stage has created for its tables."""
    admin = open_admin(settings, "tests")
    try:
        prefix = settings.kafka_topic_prefix
        admin.delete_topics([name for name in admin.list_topics() if name.startswith(prefix)])
    finally:
        admin.close()
