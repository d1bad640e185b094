"""The embedded servers respond, retain acknowledged data after a kill, and stop gracefully."""

import threading
from pathlib import Path

import psutil
import psycopg
import pytest
from kafka import KafkaConsumer, KafkaProducer

from common.kafka.clients import consumer_options, producer_options, topic_name
from common.records.topics import FRAMES
from common.settings import KafkaSettings
from deploy.local.servers.postgres import PostgresServer
from tests.services.postgres import postgres_process

pytestmark = pytest.mark.integration


def test_kafka_carries_a_record_of_the_largest_size(kafka_topics: KafkaSettings) -> None:
    topic = topic_name(kafka_topics, FRAMES)
    value = b"\xff" * (kafka_topics.kafka_max_message_bytes - 1000)

    producer = KafkaProducer(**producer_options(kafka_topics, "test"))
    producer.send(topic, value).get(timeout=30)
    producer.close()
    consumer = KafkaConsumer(topic, **consumer_options(kafka_topics, "test"))
    record = next(consumer)
    consumer.close()

    assert record.value == value


def test_postgres_refuses_a_wrong_password(postgres_url: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres_url.replace("for-tests-only", "guessed"))


def test_a_killed_postgres_has_every_committed_row(tmp_path: Path) -> None:
    with postgres_process(tmp_path) as process:
        assert isinstance(process.server, PostgresServer)
        url = process.server.url()
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE stored AS SELECT 1 AS n")

        process.restart()

        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT n FROM stored").fetchone() == (1,)


def test_postgres_starts_after_a_kill_once_its_leftovers_are_removed(tmp_path: Path) -> None:
    with postgres_process(tmp_path) as server:
        # A suspended child notices later that its server was killed.
        late = psutil.Process(server.process.pid).children()[0]
        late.suspend()
        server.process.kill()
        resumed = threading.Timer(0.5, late.resume)
        resumed.start()
        server.start()
        resumed.join()
