"""A producer waits while its broker is unavailable, and then sends its buffer."""

import gc
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.kafka.clients import create_topics, open_producer, topic_name
from common.records.topics import FRAMES
from deploy.local.servers.kafka import KafkaServer
from tests.services.kafka import fresh_kafka_settings, kafka_process
from tests.services.process import ServerProcess

_AWAY_SECONDS = 2.0
_ROUNDS_PER_SECOND = 100
"""Limit: one round every 20 ms, and more to connect. Measured: 15; without the wait, 900."""

pytestmark = pytest.mark.integration


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ServerProcess]:
    with kafka_process(tmp_path) as process:
        yield process


@pytest.mark.long
# kafka-python leaves the sockets of refused connections to the garbage collector, which runs here.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_a_producer_waits_for_an_unavailable_broker(
    broker: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(broker.server, KafkaServer)
    settings = fresh_kafka_settings(broker.server.bootstrap_servers)
    create_topics(settings)
    topic, rounds = topic_name(settings, FRAMES), 0
    with open_producer(settings, "test") as producer:
        send_once = producer._sender.run_once

        def counted() -> None:
            nonlocal rounds
            rounds += 1
            send_once()

        producer.send(topic, b"before").get(30)
        broker.kill()
        held = producer.send(topic, b"meanwhile")
        monkeypatch.setattr(producer._sender, "run_once", counted)
        time.sleep(_AWAY_SECONDS)
        seen = rounds
        broker.start()
        assert held.get(60).topic == topic
    del producer
    gc.collect()
    assert 0 < seen < _ROUNDS_PER_SECOND * _AWAY_SECONDS
