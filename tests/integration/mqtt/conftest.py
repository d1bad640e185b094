"""The MQTT stage on a real Kafka and a real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.settings import KafkaSettings
from tests.integration.mqtt.way import Way
from tests.services.process import ServerProcess


@pytest.fixture
def way(kafka_topics: KafkaSettings, mosquitto: ServerProcess, tmp_path: Path) -> Iterator[Way]:
    """A fresh Kafka, a fresh broker, and the stage between them, not started yet."""
    opened = Way(kafka_topics, mosquitto, tmp_path)
    yield opened
    opened.close()
