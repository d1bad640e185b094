"""The local stack's Kafka requires its password, and retains existing data."""

import socket
import struct
from collections.abc import Iterator
from dataclasses import replace

import pytest

from common.errors import MisconfiguredError
from common.kafka.clients import create_topics, open_consumer, open_producer, topic_name
from common.kafka.security import require_reachable
from common.records.topics import RECOGNITIONS
from common.settings import KafkaSettings
from deploy.local.servers.kafka import KafkaServer
from deploy.local.servers.kafka_login import KafkaLogin
from tests.services.kafka import kafka_process
from tests.services.process import ServerProcess

pytestmark = pytest.mark.integration

LOGIN = KafkaLogin("platestream", 'for "tests", only=')
# A DescribeConfigs request, version 1, without resources. Brokers and controllers answer it.
_QUESTION = struct.pack(">ihhihib", 15, 32, 1, 7, -1, 0, 0)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A broker whose data folder, with one record, was created without logins."""
    folder = tmp_path_factory.mktemp("kafka")
    with kafka_process(folder) as before:
        server = _server(before)
        settings = _in_clear(server)
        create_topics(settings)
        _send(settings, b"before")
        assert _is_answered(server.port)
        assert _is_answered(server.controller_port)
    with ServerProcess(replace(server, login=LOGIN), folder / "logs") as process:
        yield process


@pytest.mark.long
def test_what_was_there_is_read_with_the_login(process: ServerProcess) -> None:
    settings = LOGIN.settings(_server(process).bootstrap_servers)
    create_topics(settings)
    _send(settings, b"after")

    assert _received(settings, 2) == [b"before", b"after"]


def test_clients_without_the_login_are_rejected(process: ServerProcess) -> None:
    server = _server(process)

    assert not _is_answered(server.port)
    assert not _is_answered(server.controller_port)
    with pytest.raises(MisconfiguredError, match="rejected PLATESTREAM_KAFKA_SASL_"):
        require_reachable(replace(LOGIN, password="guessed").settings(server.bootstrap_servers))
    assert (server.directory / "server.properties").stat().st_mode & 0o777 == 0o600


def test_another_password_is_that_of_the_next_start(process: ServerProcess) -> None:
    server = _server(process)
    other = KafkaLogin(LOGIN.user, "another")
    process.stop()
    with ServerProcess(replace(server, login=other), server.directory.parent / "logs"):
        require_reachable(other.settings(server.bootstrap_servers))
        with pytest.raises(MisconfiguredError):
            require_reachable(LOGIN.settings(server.bootstrap_servers))
    process.start()
    require_reachable(LOGIN.settings(server.bootstrap_servers))


def _server(process: ServerProcess) -> KafkaServer:
    assert isinstance(process.server, KafkaServer)
    return process.server


def _in_clear(server: KafkaServer) -> KafkaSettings:
    return KafkaSettings.model_validate({"kafka_bootstrap_servers": server.bootstrap_servers})


def _send(settings: KafkaSettings, value: bytes) -> None:
    producer = open_producer(settings, "test")
    producer.send(topic_name(settings, RECOGNITIONS), value, partition=0).get(timeout=30)
    producer.close()


def _received(settings: KafkaSettings, count: int) -> list[bytes]:
    consumer = open_consumer(settings, "test")
    consumer.subscribe([topic_name(settings, RECOGNITIONS)])
    values = [next(consumer).value for _ in range(count)]
    consumer.close()
    return values


def _is_answered(port: int) -> bool:
    """Return whether a request gets a response and the connection stays open."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(_QUESTION)
        try:
            return bool(connection.recv(1))
        except ConnectionResetError:
            return False
