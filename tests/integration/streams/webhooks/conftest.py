"""Fixtures: the webhooks stage with a real Kafka, and receivers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from common.records.topics import (
    ALERTS,
    ATTEMPTS,
    CAMERA_STATUS,
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    CONFIG_OWNERS,
    CONFIG_WEBHOOKS,
    DELIVERIES,
    RECOGNITIONS,
    WEBHOOK_STATUS,
    WEBHOOKS_DEAD_LETTERS,
    Topic,
)
from common.settings import KafkaSettings
from tests.integration.streams.webhooks.pipeline import Pipeline
from tests.services.receiver import Receiver


@pytest.fixture(scope="module")
def needed_topics() -> tuple[Topic, ...]:
    return (
        RECOGNITIONS,
        ALERTS,
        CAMERA_STATUS,
        DELIVERIES,
        ATTEMPTS,
        CONFIG_WEBHOOKS,
        CONFIG_CAMERAS,
        CONFIG_ALERTS,
        CONFIG_OWNERS,
        WEBHOOK_STATUS,
        WEBHOOKS_DEAD_LETTERS,
    )


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server


@pytest.fixture
def pipeline(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[Pipeline]:
    """A new Kafka, and the webhooks stage, which has not been started."""
    opened = Pipeline(kafka_topics, tmp_path)
    yield opened
    opened.close()
