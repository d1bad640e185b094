"""Workers of a stage with a table that start and stop under load, with outages."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.records.topics import READINGS, RECOGNITIONS
from common.settings import KafkaSettings
from tests.integration.streams.conftest import (
    StartCopying,
    copying_partitions,
    copying_topics,
)
from tests.integration.streams.stages import Feeder, Reader, SteadyFeed, lag
from tests.services.process import ChildProcess
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.fault]

partition_count, needed_topics = copying_partitions, copying_topics


_KEYS = 20


@dataclass(frozen=True)
class _Copy:
    """A line of the copying stage's output: a value, and the key's previous value in the table."""

    number: int
    previous: int | None

    @property
    def is_of_known_state(self) -> bool:
        """Whether the table had all earlier values. After a crash it may have later ones too."""
        expected = self.number - _KEYS
        return expected < 0 or (self.previous is not None and self.previous >= expected)


def _copy(line: bytes) -> _Copy:
    _, number, previous = line.split()
    return _Copy(int(number), None if previous == b"none" else int(previous))


def _first_of_each(copies: list[_Copy]) -> Iterator[_Copy]:
    seen: set[int] = set()
    for copy in copies:
        if copy.number not in seen:
            seen.add(copy.number)
            yield copy


def _is_in_order(copies: list[_Copy]) -> bool:
    last = dict.fromkeys(range(_KEYS), -1)
    for copy in _first_of_each(copies):
        if copy.number < last[copy.number % _KEYS]:
            return False
        last[copy.number % _KEYS] = copy.number
    return True


@pytest.mark.long
def test_workers_come_and_go_and_all_comes_out_in_order_with_its_state(
    start_copying: StartCopying, outage: Path, kafka_topics: KafkaSettings
) -> None:
    feeder, reader = Feeder(kafka_topics, RECOGNITIONS), Reader(kafka_topics, READINGS)
    feed = SteadyFeed(feeder)
    feed.start()

    def start(worker: str) -> ChildProcess:
        process = start_copying(
            worker, "events", **{"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6"}
        )
        wait_until(f"{worker} copies", lambda: _has_copied(reader, worker))
        return process

    first, second = start("first"), start("second")
    os.kill(first.pid, signal.SIGTERM)
    third = start("third")
    outage.touch()
    second.kill()
    wait_until("third waits", lambda: "transient_failure" in third.tail())
    outage.unlink()
    start("fourth")
    os.kill(third.pid, signal.SIGTERM)
    sent = {int(value) for value in feed.stop()}
    wait_until("all is copied", lambda: {_copy(v).number for v in reader.poll()} >= sent)
    wait_until("all is committed", lambda: lag(kafka_topics, "copying", RECOGNITIONS) == 0)
    copies = [_copy(value) for value in reader.values]
    assert {copy.number for copy in copies} == sent
    assert _is_in_order(copies)
    assert all(copy.is_of_known_state for copy in copies)
    reader.close()
    feeder.close()


def _has_copied(reader: Reader, worker: str) -> bool:
    return any(value.startswith(worker.encode()) for value in reader.poll())
