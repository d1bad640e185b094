"""Fixtures: the MQTT stage with a real Kafka and a real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from common.records.topics import (
    ALERTS,
    CAMERA_STATUS,
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    MQTT_DEAD_LETTERS,
    RECOGNITIONS,
    Topic,
)
from common.settings import KafkaSettings
from tests.integration.streams.mqtt.pipeline import Pipeline
from tests.services.process import ServerProcess


@pytest.fixture(scope="module")
def needed_topics() -> tuple[Topic, ...]:
    return (RECOGNITIONS, ALERTS, CAMERA_STATUS, CONFIG_CAMERAS, CONFIG_ALERTS, MQTT_DEAD_LETTERS)


@pytest.fixture
def pipeline(
    kafka_topics: KafkaSettings, mosquitto: ServerProcess, tmp_path: Path
) -> Iterator[Pipeline]:
    """A new Kafka and a new broker with the MQTT stage in between. The stage is not started."""
    opened = Pipeline(kafka_topics, mosquitto, tmp_path)
    yield opened
    opened.close()
