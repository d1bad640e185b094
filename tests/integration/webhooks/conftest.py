"""The webhooks stage on a real Kafka, and receivers for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.settings import KafkaSettings
from tests.integration.webhooks.way import Way
from tests.services.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of webhooks."""
    with Receiver() as server:
        yield server


@pytest.fixture
def way(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[Way]:
    """A fresh Kafka and the stage on it, not started yet."""
    opened = Way(kafka_topics, tmp_path)
    yield opened
    opened.close()
