"""The webhooks stage on a real Kafka, and receivers for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from common.settings import KafkaSettings
from tests.integration.streams.webhooks.pipeline import Pipeline
from tests.services.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of webhooks."""
    with Receiver() as server:
        yield server


@pytest.fixture
def pipeline(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[Pipeline]:
    """A fresh Kafka and the stage on it, not started yet."""
    opened = Pipeline(kafka_topics, tmp_path)
    yield opened
    opened.close()
