"""Kafka with TLS and logins: accepted and rejected clients. Credentials are not logged."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from kafka import TopicPartition

from api.health.stack_check import check_kafka
from api.outbox.publisher import KafkaPublisher
from common.errors import MisconfiguredError, TransientError
from common.kafka.clients import create_topics, open_consumer, open_producer, topic_name
from common.kafka.compacted import CompactedTopicReader
from common.kafka.security import require_reachable
from common.records.cameras import CameraStatus
from common.records.codec import DeadLetter, decode
from common.records.topics import CAMERA_STATUS, FRAMES, READINGS, RECOGNITIONS, SINK_DEAD_LETTERS
from common.settings import KafkaSettings
from tests.integration.streams.recognitions import migrated, stored_ids
from tests.integration.streams.stages import (
    Feeder,
    Reader,
    copying_stage,
    environment_of,
    lag,
    running,
    stage,
)
from tests.records import messages, recognitions
from tests.services.authority import Authority
from tests.services.clickhouse import ClickHouseAddress
from tests.services.kafka_secure import SecureKafka
from tests.services.process import ChildProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

_FRAME = b"j" * 2_000_000


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """A broker that listens with and without TLS, and with and without logins."""
    with SecureKafka(tmp_path_factory.mktemp("secure")) as process:
        yield process


@pytest.fixture
def stranger(tmp_path: Path) -> Authority:
    """A certificate authority that the broker does not trust."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    return Authority.make(folder)


@pytest.mark.parametrize(
    ("listener", "more"),
    [
        ("SSL", {}),
        ("MUTUAL", {}),
        ("SASL_SSL", {"sasl_mechanism": "PLAIN"}),
        ("SASL_SSL", {"sasl_mechanism": "SCRAM-SHA-256"}),
        ("SASL_SSL", {"sasl_mechanism": "SCRAM-SHA-512"}),
        ("SASL_PLAINTEXT", {"sasl_mechanism": "SCRAM-SHA-512"}),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else value,
)
def test_topics_are_made_written_and_read(
    kafka: SecureKafka, listener: str, more: dict[str, str]
) -> None:
    settings = kafka.settings(listener, **more)
    create_topics(settings)
    topic = topic_name(settings, FRAMES)
    producer = open_producer(settings, "test")
    sent = [producer.send(topic, value=_FRAME, partition=0) for _ in range(3)]
    assert [future.get(30).offset for future in sent] == [0, 1, 2]
    producer.close()
    consumer = open_consumer(settings, "test")
    consumer.assign([TopicPartition(topic, 0)])
    read: list[bytes] = []
    wait_until("all is read", lambda: len(_read_on(consumer, read)) == 3, 30)
    consumer.close()
    assert read == [_FRAME] * 3
    check_kafka(settings)


def _read_on(consumer: Any, read: list[bytes]) -> list[bytes]:
    for records in consumer.poll(timeout_ms=200).values():
        read.extend(record.value for record in records)
    return read


@pytest.mark.parametrize("listener", ["SASL_SSL", "SASL_PLAINTEXT"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("wrong", ["sasl_username", "sasl_password"])
def test_a_wrong_login_is_reported_and_not_shown(
    kafka: SecureKafka, listener: str, mechanism: str, wrong: str
) -> None:
    settings = kafka.settings(listener, sasl_mechanism=mechanism, **{wrong: "hunter2"})
    with pytest.raises(MisconfiguredError, match="rejected PLATESTREAM_KAFKA_SASL_") as fault:
        require_reachable(settings)
    assert "hunter2" not in str(fault.value) + repr(settings).replace("username='hunter2'", "")


def test_a_broker_that_is_not_trusted_is_not_talked_to(
    kafka: SecureKafka, stranger: Authority
) -> None:
    for ca_file in (str(stranger.ca_file), None):
        with pytest.raises(MisconfiguredError, match="is not trusted: unable to get local issuer"):
            require_reachable(kafka.settings("SASL_SSL", ca_file=ca_file))
    with pytest.raises(MisconfiguredError, match="is not trusted: Hostname mismatch"):
        require_reachable(kafka.settings("SASL_SSL", host="localhost"))


def test_a_client_that_is_not_trusted_is_reported(kafka: SecureKafka, stranger: Authority) -> None:
    for file in (str(stranger.server_file), None):
        with pytest.raises((MisconfiguredError, TransientError), match="client|CLIENT"):
            require_reachable(kafka.settings("MUTUAL", client_certificate_file=file))


@pytest.mark.parametrize(
    ("protocol", "is_there", "error", "sentence"),
    [
        ("SSL", "SASL_SSL", MisconfiguredError, "requires authentication; set .*=SASL_SSL"),
        ("SASL_SSL", "SSL", MisconfiguredError, "does not support authentication"),
        ("SASL_PLAINTEXT", "SSL", MisconfiguredError, "requires a different .*_SECURITY_PROTOCOL"),
        ("SASL_PLAINTEXT", "PLAINTEXT", MisconfiguredError, "does not support authentication"),
        ("SSL", "PLAINTEXT", TransientError, "security protocol other than SSL"),
    ],
)
def test_another_protocol_than_the_listeners_is_reported(
    kafka: SecureKafka, protocol: str, is_there: str, error: type[Exception], sentence: str
) -> None:
    there = kafka.settings(is_there).kafka_bootstrap_servers
    with pytest.raises(error, match=sentence):
        require_reachable(kafka.settings(protocol, bootstrap_servers=there))


def test_one_broker_of_several_is_enough(kafka: SecureKafka) -> None:
    there = kafka.settings("SASL_SSL")
    servers = f"127.0.0.1:1,{there.kafka_bootstrap_servers}"
    require_reachable(kafka.settings("SASL_SSL", bootstrap_servers=servers))
    with pytest.raises(MisconfiguredError, match="rejected"):
        require_reachable(
            kafka.settings("SASL_SSL", bootstrap_servers=servers, sasl_password="wrong")
        )


def test_the_relay_and_the_stack_check_report_a_denied_login(kafka: SecureKafka) -> None:
    settings = kafka.settings("SASL_SSL", sasl_password="wrong")
    with pytest.raises(MisconfiguredError, match="rejected"):
        KafkaPublisher(settings)
    with pytest.raises(MisconfiguredError, match="rejected"):
        check_kafka(settings)


async def test_the_apis_feeds_report_a_denied_login_once(kafka: SecureKafka) -> None:
    settings = kafka.settings("SASL_SSL", sasl_password="hunter2")
    with structlog.testing.capture_logs() as logs:
        feed = CompactedTopicReader(
            settings, CAMERA_STATUS, CameraStatus, lambda _: None, client="test"
        )
        feed.start()
        # The feed retries once per second.
        await asyncio.sleep(4)
        feed.stop()
    with pytest.raises(TransientError, match="is interrupted"):
        await feed.ping()
    (entry,) = logs
    assert entry["event"] == "topic_feed_interrupted"
    assert "rejected PLATESTREAM_KAFKA_SASL_USERNAME" in entry["error"]
    assert "hunter2" not in str(logs)


@pytest.mark.parametrize(
    ("module", "event", "more"),
    [
        ("common.kafka", "topic_creation_failed", {}),
        ("streams.alerts", "misconfigured", {"secret_key": "x"}),
        ("ingest", "misconfigured", {"s3_secret_key": "x", "secret_key": "A" * 43 + "="}),
    ],
)
def test_a_process_with_a_wrong_password_ends_and_says_why(
    kafka: SecureKafka, tmp_path: Path, module: str, event: str, more: dict[str, str]
) -> None:
    settings = kafka.settings("SASL_SSL", sasl_password="hunter2")
    process = stage(module, "out", tmp_path / "out.log", environment_of(settings, tmp_path, **more))
    with running(process):
        wait_until("it ends", lambda: not process.is_running(), 40)
        assert process.exit_status == 78, process.tail()
    entry = json.loads(process.tail().splitlines()[-1])
    assert entry["event"] == event
    assert "rejected PLATESTREAM_KAFKA_SASL_USERNAME" in process.tail()
    assert "hunter2" not in process.tail()


@pytest.mark.fault
@pytest.mark.parametrize("listener", [pytest.param("MUTUAL", marks=pytest.mark.long), "SASL_SSL"])
def test_a_stage_with_a_table_works_and_outlives_the_broker(
    kafka: SecureKafka, tmp_path: Path, listener: str
) -> None:
    settings = kafka.settings(listener)
    create_topics(settings)
    values = [b"%d" % number for number in range(200)]
    with running(copying_stage(settings, tmp_path, "events")) as copying:
        _feed(settings, values[:100], b"refused")
        _wait_for_copies(settings, values[:100], copying)
        # No client of the test is open during the outage.
        kafka.restart()
        _feed(settings, values[100:])
        _wait_for_copies(settings, values, copying)
        wait_until("all is committed", lambda: lag(settings, "copying", RECOGNITIONS) == 0)
    refused = Reader(settings, SINK_DEAD_LETTERS)
    wait_until("the dead letter", refused.poll)
    refused.close()
    assert decode(DeadLetter, refused.values[0]).value == b"refused"


def _feed(settings: KafkaSettings, *groups: list[bytes] | bytes) -> None:
    feeder = Feeder(settings, RECOGNITIONS)
    for group in groups:
        feeder.send(*([group] if isinstance(group, bytes) else group))
    feeder.close()


def _wait_for_copies(settings: KafkaSettings, values: list[bytes], copying: ChildProcess) -> None:
    copies = Reader(settings, READINGS)

    def all_there() -> bool:
        assert copying.is_running(), copying.tail()
        return {value.split()[1] for value in copies.poll()} >= set(values)

    wait_until("all copies", all_there)
    copies.close()


def test_the_sink_stores_what_comes_over_tls_with_a_login(
    kafka: SecureKafka, clickhouse_address: ClickHouseAddress, tmp_path: Path
) -> None:
    settings, given = kafka.settings("SASL_SSL"), clickhouse_address.settings()
    create_topics(settings)
    environment = environment_of(
        settings,
        tmp_path / "sink",
        clickhouse_url=given.clickhouse_url,
        clickhouse_user=given.clickhouse_user,
        clickhouse_password=given.clickhouse_password.get_secret_value(),
        clickhouse_database=given.clickhouse_database,
    )
    records = recognitions(range(50))
    with (
        migrated(clickhouse_address) as client,
        running(stage("streams.sink", "sink", tmp_path / "sink.log", environment)) as sink,
    ):
        feeder = Feeder(settings, RECOGNITIONS)
        feeder.send_pairs(messages(records))
        feeder.close()
        wait_until("all rows", lambda: len(stored_ids(client)) == len(records))
        wait_until("all is committed", lambda: lag(settings, "sink", RECOGNITIONS) == 0)
        assert {record.id for record in records} == {*stored_ids(client)}
        sink.stop()
