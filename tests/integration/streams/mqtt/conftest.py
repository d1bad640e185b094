"""The MQTT stage on a real Kafka and a real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from common.settings import KafkaSettings
from tests.integration.streams.mqtt.pipeline import Pipeline
from tests.services.process import ServerProcess


@pytest.fixture
def pipeline(
    kafka_topics: KafkaSettings, mosquitto: ServerProcess, tmp_path: Path
) -> Iterator[Pipeline]:
    """A fresh Kafka, a fresh broker, and the stage between them, not started yet."""
    opened = Pipeline(kafka_topics, mosquitto, tmp_path)
    yield opened
    opened.close()
