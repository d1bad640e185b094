"""Every input of a stage produces its output, whatever happens to the workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from common.kafka.clients import client_options, create_topics, topic_name
from common.records.codec import DeadLetter, decode
from common.records.topics import READINGS, RECOGNITIONS, SINK_DEAD_LETTERS
from common.settings import KafkaSettings
from tests.integration.streams.conftest import (
    StartCopying,
    copying_partitions,
    copying_topics,
)
from tests.integration.streams.stages import Feeder, Reader, SteadyFeed, lag
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

partition_count, needed_topics = copying_partitions, copying_topics

AGENTS = pytest.mark.parametrize("agent", ["events", "batches"])
_SESSION = {"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6"}


@pytest.fixture
def feeder(kafka_topics: KafkaSettings) -> Iterator[Feeder]:
    """Feeds the copying stage."""
    feeder = Feeder(kafka_topics, RECOGNITIONS)
    yield feeder
    feeder.close()


def _texts(values: list[bytes]) -> set[bytes]:
    return {value.split()[1] for value in values}


def _workers(values: list[bytes]) -> set[bytes]:
    return {value.split()[0] for value in values}


@AGENTS
def test_a_second_worker_and_a_killed_first_lose_nothing(
    agent: str,
    start_copying: StartCopying,
    feeder: Feeder,
    copies: Reader,
    kafka_topics: KafkaSettings,
) -> None:
    feed = SteadyFeed(feeder)
    first = start_copying("first", agent, **_SESSION)
    feed.start()
    wait_until("first worker copies", lambda: b"first" in _workers(copies.poll()))
    start_copying("second", agent, **_SESSION)
    wait_until("second worker copies", lambda: b"second" in _workers(copies.poll()))
    first.kill()
    seen = len(copies.poll())
    wait_until("second worker goes on alone", lambda: len(copies.poll()) > seen + 100)
    sent = feed.stop()
    wait_until("all is copied", lambda: sent <= _texts(copies.poll()))
    wait_until("all is committed", lambda: lag(kafka_topics, "copying", RECOGNITIONS) == 0)
    assert _texts(copies.values) == sent


@AGENTS
def test_what_can_never_be_handled_becomes_a_dead_letter(
    agent: str,
    start_copying: StartCopying,
    feeder: Feeder,
    copies: Reader,
    kafka_topics: KafkaSettings,
) -> None:
    start_copying("worker", agent)
    feeder.send(b"1", b"refused", b"2", b"broken", b"3", key=b"one key")
    letters = Reader(kafka_topics, SINK_DEAD_LETTERS)
    wait_until("two dead letters", lambda: len(letters.poll()) == 2)
    wait_until("the rest is copied", lambda: _texts(copies.poll()) == {b"1", b"2", b"3"})
    refused, broken = (decode(DeadLetter, value) for value in letters.values)
    letters.close()
    assert (refused.code, refused.reason) == ("refused", "refused on purpose")
    assert (refused.offset, refused.key, refused.value) == (1, b"one key", b"refused")
    assert refused.topic.endswith("recognitions")
    assert (broken.code, broken.offset, broken.value) == ("unexpected_error", 3, b"broken")
    wait_until("all is committed", lambda: lag(kafka_topics, "copying", RECOGNITIONS) == 0)


@pytest.mark.long
@AGENTS
def test_retries_that_run_out_end_the_process_and_lose_nothing(
    agent: str, start_copying: StartCopying, feeder: Feeder, copies: Reader, outage: Path
) -> None:
    outage.touch()
    feeder.send(b"1", b"2", b"3")
    worker = start_copying(
        "first", agent, **_SESSION, **{"streams.runtime.stage_runner.RETRY_SECONDS": "1"}
    )
    wait_until("the process ends", lambda: not worker.is_running())
    assert worker.exit_status == 75
    outage.unlink()
    start_copying("second", agent, **_SESSION)
    wait_until("all is copied", lambda: _texts(copies.poll()) == {b"1", b"2", b"3"})


@pytest.mark.long
@AGENTS
def test_a_stop_in_the_middle_of_an_outage_is_quick_and_loses_nothing(
    agent: str, start_copying: StartCopying, feeder: Feeder, copies: Reader, outage: Path
) -> None:
    outage.touch()
    feeder.send(*(b"%d" % number for number in range(200)))
    worker = start_copying("first", agent)
    wait_until("it waits", lambda: "transient_failure" in worker.tail())
    worker.stop()
    assert worker.exit_status == 0
    outage.unlink()
    start_copying("second", agent)
    wait_until("all is copied", lambda: len(_texts(copies.poll())) == 200)


@pytest.mark.long
def test_a_rebalance_in_the_middle_of_an_outage_goes_through(
    start_copying: StartCopying, feeder: Feeder, copies: Reader, outage: Path
) -> None:
    outage.touch()
    feeder.send(*(b"%d" % number for number in range(200)))
    first = start_copying("first", "batches", **_SESSION)
    wait_until("first waits", lambda: "transient_failure" in first.tail())
    second = start_copying("second", "batches", **_SESSION)
    wait_until("second waits", lambda: "transient_failure" in second.tail())
    outage.unlink()
    wait_until("all is copied", lambda: len(_texts(copies.poll())) == 200)
    assert _workers(copies.values) == {b"first", b"second"}


@pytest.mark.long
def test_a_stage_that_hangs_is_ended(
    start_copying: StartCopying, feeder: Feeder, copies: Reader
) -> None:
    feeder.send(b"1", b"hanging", key=b"one key")
    worker = start_copying("first", "events", **{"streams.runtime.worker.STALL_SECONDS": "10"})
    wait_until("the process ends", lambda: not worker.is_running())
    assert worker.exit_status == 75
    assert "stage_stalled" in worker.tail()


def test_a_topic_that_the_broker_knew_only_later_is_read_soon(
    start_copying: StartCopying, kafka_topics: KafkaSettings
) -> None:
    admin = KafkaAdminClient(**client_options(kafka_topics, "admin"))
    admin.delete_topics([topic_name(kafka_topics, RECOGNITIONS)], timeout_ms=10_000)
    admin.close()
    # A broker that has just recovered may respond without the topic, as this one does.
    worker = start_copying("first", "batches")
    wait_until("the group has no partition", lambda: "Ignoring missing topic" in worker.tail())
    create_topics(kafka_topics)
    feeder, copies = Feeder(kafka_topics, RECOGNITIONS), Reader(kafka_topics, READINGS)
    feeder.send(b"1", b"2")
    wait_until("all is copied", lambda: _texts(copies.poll()) == {b"1", b"2"})
    feeder.close()
    copies.close()
