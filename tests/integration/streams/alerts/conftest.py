"""Fixtures: Kafka for each test, alerts, and workers of the alerts stage."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.records.topics import (
    ALERT_CANDIDATES,
    ALERT_DEAD_LETTERS,
    ALERTS,
    CONFIG_ALERTS,
    RECOGNITIONS,
    SIGHTINGS,
    Topic,
)
from common.settings import KafkaSettings
from tests.integration.streams.alerts.world import World
from tests.integration.streams.stages import environment_of, stage
from tests.services.process import ChildProcess

StartAlerts = Callable[..., ChildProcess]


@pytest.fixture(scope="module")
def needed_topics() -> tuple[Topic, ...]:
    return (RECOGNITIONS, SIGHTINGS, ALERT_CANDIDATES, CONFIG_ALERTS, ALERTS, ALERT_DEAD_LETTERS)


@pytest.fixture
def start_alerts(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[StartAlerts]:
    """A function that starts workers of the alerts stage. They stop at the end of the test."""
    started: list[ChildProcess] = []

    def start(**settings: str) -> ChildProcess:
        number = len(started)
        options = {"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6", **settings}
        environment = environment_of(kafka_topics, tmp_path / f"alerts-{number}", **options)
        process = stage("streams.alerts", "alerts", tmp_path / f"alerts-{number}.log", environment)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def world(kafka_topics: KafkaSettings) -> Iterator[World]:
    world = World(kafka_topics)
    yield world
    world.close()
