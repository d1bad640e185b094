"""A worker frozen for longer than its session resumes after another worker took its partitions."""

import pytest

from common.records.topics import READINGS, RECOGNITIONS
from common.settings import KafkaSettings
from tests.integration.streams.conftest import (
    StartCopying,
    copying_partitions,
    copying_topics,
)
from tests.integration.streams.stages import Feeder, Reader, lag
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.fault]

partition_count, needed_topics = copying_partitions, copying_topics


_MESSAGES = 3_000


@pytest.mark.long
def test_a_worker_that_was_frozen_sends_nothing_of_what_others_have_by_now(
    start_copying: StartCopying, kafka_topics: KafkaSettings
) -> None:
    feeder, reader = Feeder(kafka_topics, RECOGNITIONS), Reader(kafka_topics, READINGS)
    first = start_copying("first", "events", **{"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6"})
    numbers = [b"%d" % number for number in range(_MESSAGES)]
    feeder.send(*numbers)
    wait_until("first is at it, with more in hand", lambda: len(reader.poll()) > 20)
    first.pause()
    start_copying("second", "events", **{"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6"})
    wait_until("second did the rest", lambda: lag(kafka_topics, "copying", RECOGNITIONS) == 0, 120)
    first.resume()
    wait_until("first works again", lambda: _copies_of_new(feeder, reader, b"first"), 120)
    lines = [line.split() for line in reader.poll()]
    done, late = set[bytes](), list[bytes]()
    for worker, number, _ in lines:
        # The order of the topic holds, because a number always has the same key.
        if worker == b"second":
            done.add(number)
        elif number in done and number != b"new":
            late.append(number)
    # Only the number that the worker was sending when it was frozen may be late.
    assert len(late) <= 1, late
    assert {number for _, number, _ in lines} >= set(numbers)
    reader.close()
    feeder.close()


def _copies_of_new(feeder: Feeder, reader: Reader, worker: bytes) -> bool:
    feeder.send(*(b"new" for _ in range(20)))
    return any(line.split()[:2] == [worker, b"new"] for line in reader.poll())
