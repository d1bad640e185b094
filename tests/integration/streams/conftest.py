"""Fixtures: Kafka with its topics, and stages that use it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.records.topics import READINGS, RECOGNITIONS, SINK_DEAD_LETTERS, Topic
from common.settings import KafkaSettings
from tests.integration.streams.stages import Reader, copying_stage
from tests.services.process import ChildProcess

StartCopying = Callable[..., ChildProcess]


@pytest.fixture(scope="module")
def four_partitions() -> int:
    """A number of partitions that several workers can share."""
    return 4


@pytest.fixture
def outage(tmp_path: Path) -> Path:
    """Path of a file. While it exists, every message of the copying stage fails."""
    return tmp_path / "outage"


@pytest.fixture
def start_copying(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[StartCopying]:
    """A function that starts workers of the copying stage. They stop at the end of the test."""
    started: list[ChildProcess] = []

    def start(worker: str, agent: str, **settings: str) -> ChildProcess:
        process = copying_stage(kafka_topics, tmp_path, agent, worker=worker, **settings)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture(scope="module")
def copying_partitions() -> int:
    """Return a number of partitions that several workers can share."""
    return 4


@pytest.fixture(scope="module")
def copying_topics() -> tuple[Topic, ...]:
    return (RECOGNITIONS, READINGS, SINK_DEAD_LETTERS)


@pytest.fixture
def copies(kafka_topics: KafkaSettings) -> Iterator[Reader]:
    """Reads the output of the copying stage."""
    reader = Reader(kafka_topics, READINGS)
    yield reader
    reader.close()
