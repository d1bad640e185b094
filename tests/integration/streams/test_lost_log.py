"""A stage whose offsets are outside the log, because the log lost its end or records expired."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from common.kafka.clients import (
    client_options,
    consumer_options,
    create_topics,
    group_name,
    producer_options,
    topic_name,
)
from common.records.topics import READINGS, RECOGNITIONS
from common.settings import KafkaSettings
from deploy.local.servers.kafka import KafkaServer
from tests.integration.streams.conftest import StartCopying
from tests.integration.streams.stages import Reader, copying_stage, lag, running
from tests.services.kafka import fresh_kafka_settings, kafka_process
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.fault]

_HOUR_MS = 3_600_000
_PARTITION = 1
_OLD = {b"old-%d" % number for number in range(20)}
_LOST = {b"lost-%d" % number for number in range(20)}
_NEW = {b"new-%d" % number for number in range(5)}


@pytest.fixture(scope="module")
def partition_count() -> int:
    """Return two partitions, because the loss must not be in the first one."""
    return 2


@dataclass(frozen=True)
class _Source:
    """A partition of the copying stage's source, written and read directly."""

    settings: KafkaSettings

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(topic_name(self.settings, RECOGNITIONS), _PARTITION)

    @property
    def group(self) -> str:
        return group_name(self.settings, "copying")

    def send(self, values: set[bytes], age_ms: int = 0) -> None:
        """Send values as if they were written ``age_ms`` ago."""
        producer = KafkaProducer(**producer_options(self.settings, "feeder"))
        at_ms = time.time_ns() // 1_000_000 - age_ms
        for value in values:
            topic, partition = self.place.topic, self.place.partition
            producer.send(topic, key=b"k", value=value, partition=partition, timestamp_ms=at_ms)
        producer.flush(30)
        producer.close(10)

    def end(self) -> int:
        """Return the offset of the next record."""
        consumer = KafkaConsumer(**consumer_options(self.settings, "looker"))
        end: int = consumer.end_offsets([self.place])[self.place]
        consumer.close()
        return end

    def committed(self) -> int:
        """Return the committed offset of the stage, or -1 if there is none."""
        admin = KafkaAdminClient(**client_options(self.settings, "looker"))
        known = admin.list_group_offsets(self.group)[self.group].get(self.place)
        admin.close()
        return -1 if known is None else int(known.offset)

    def commit(self, offset: int) -> None:
        """Set the committed offset of the stage, which must not be running."""
        admin = KafkaAdminClient(**client_options(self.settings, "looker"))
        admin.alter_group_offsets(self.group, {self.place: OffsetAndMetadata(offset, "", -1)})
        admin.close()

    def expire(self, before: int) -> None:
        """Delete the records before an offset, as retention does."""
        admin = KafkaAdminClient(**client_options(self.settings, "looker"))
        admin.delete_records({self.place: before})
        admin.close()


@pytest.fixture
def source(kafka_topics: KafkaSettings) -> _Source:
    """The source of the copying stage."""
    return _Source(kafka_topics)


def _texts(values: list[bytes]) -> list[bytes]:
    return sorted(value.split()[1] for value in values)


def _copy_old(source: _Source, copies: Reader, start_copying: StartCopying) -> None:
    source.send(_OLD, age_ms=_HOUR_MS)
    worker = start_copying("first", "events")
    wait_until("old ones are copied", lambda: _texts(copies.poll()) == sorted(_OLD))
    wait_until("old ones are committed", lambda: source.committed() == len(_OLD))
    worker.stop()


def test_a_log_that_lost_its_end_is_read_on_from_there(
    source: _Source, copies: Reader, start_copying: StartCopying
) -> None:
    _copy_old(source, copies, start_copying)
    source.commit(source.end() + 100)
    # The record is written after the loss, before the stage restarts.
    source.send({b"early"})
    worker = start_copying("second", "events")
    wait_until("reading goes on", lambda: b"early" in _texts(copies.poll()))
    source.send(_NEW)
    wait_until("new ones are copied", lambda: len(copies.poll()) >= len(_OLD | _NEW) + 1)
    wait_until("all is committed", lambda: source.committed() == source.end())
    assert _texts(copies.poll()) == sorted(_OLD | _NEW | {b"early"})
    assert "partition_truncated" in worker.log.read_text()


def test_what_comes_after_a_lost_end_is_read_by_the_start_after_next(
    source: _Source, copies: Reader, start_copying: StartCopying, outage: Path
) -> None:
    _copy_old(source, copies, start_copying)
    source.commit(source.end() + 100)
    outage.touch()
    second = start_copying(
        "second", "events", **{"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6"}
    )
    wait_until("it rewound", lambda: source.committed() == len(_OLD))
    source.send({b"old-enough"}, age_ms=_HOUR_MS)
    wait_until("it waits", lambda: "transient_failure" in second.tail())
    second.kill()
    outage.unlink()
    start_copying("third", "events", **{"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6"})
    wait_until("it is copied", lambda: b"old-enough" in _texts(copies.poll()))


def test_what_retention_took_unread_is_no_standstill(
    source: _Source, copies: Reader, start_copying: StartCopying
) -> None:
    _copy_old(source, copies, start_copying)
    source.send(_LOST)
    source.expire(source.end())
    worker = start_copying("second", "events", **{"streams.runtime.worker.STALL_SECONDS": "10"})
    wait_until("it says so", lambda: "unread_records_expired" in worker.log.read_text())
    time.sleep(15)
    assert worker.is_running(), worker.tail()
    source.send(_NEW)
    wait_until("new ones are copied", lambda: _texts(copies.poll()) == sorted(_OLD | _NEW))
    wait_until("all is committed", lambda: source.committed() == source.end())


@pytest.mark.long
def test_a_log_that_loses_its_end_under_a_running_stage_is_read_on_by_the_next(
    tmp_path: Path,
) -> None:
    with kafka_process(tmp_path) as kafka:
        assert isinstance(kafka.server, KafkaServer)
        settings = fresh_kafka_settings(kafka.server.bootstrap_servers)
        create_topics(settings)
        source = _Source(settings)
        log = kafka.server.directory / "data" / f"{source.place.topic}-{_PARTITION}"
        copying = copying_stage(settings, tmp_path, "events")
        source.send(_OLD, age_ms=_HOUR_MS)
        with running(copying):
            wait_until(
                "old ones are committed", lambda: lag(settings, "copying", RECOGNITIONS) == 0
            )
            shutil.copytree(log, tmp_path / "kept")
            source.send(_LOST)
            wait_until("all is committed", lambda: source.committed() == len(_OLD | _LOST))
            kafka.kill()
            shutil.rmtree(log)
            shutil.copytree(tmp_path / "kept", log)
            kafka.start()
            assert source.end() == len(_OLD)
            source.send({b"first-new"})
            wait_until("the stage ends", lambda: not copying.is_running())
            assert copying.exit_status == 75
        with running(copying):
            source.send(_NEW)
            wait_until("all is committed", lambda: source.committed() == len(_OLD | _NEW) + 1)
        reader = Reader(settings, READINGS)
        wanted = sorted(_OLD | _LOST | _NEW | {b"first-new"})
        wait_until("all is copied", lambda: _texts(reader.poll()) == wanted)
        reader.close()
