"""A fresh Kafka and bucket for each test, and workers of the stage on them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.settings import KafkaSettings, S3Settings
from tests.integration.streams.recognition.cameras import Cameras, Outcome
from tests.integration.streams.stages import environment_of, stage
from tests.services.process import ChildProcess

StartStage = Callable[..., ChildProcess]

# Frames wait for workers that are killed and started again, on a machine that may be busy.
_SETTINGS = {
    "recognition_workers": "1",
    "kafka_session_timeout_seconds": "6",
    "reading_deadline_seconds": "1800",
}


@pytest.fixture
def start_stage(
    kafka_topics: KafkaSettings, s3_settings: S3Settings, tmp_path: Path
) -> Iterator[StartStage]:
    """Start workers of the recognition stage; they are ended with the test."""
    started: list[ChildProcess] = []

    def start(worker: str = "one", **settings: str) -> ChildProcess:
        s3 = {
            name: str(getattr(s3_settings, name))
            for name in ("s3_endpoint", "s3_bucket", "s3_access_key")
        }
        secret = s3_settings.s3_secret_key.get_secret_value()
        options = {**_SETTINGS, **s3, "s3_secret_key": secret, **settings}
        environment = environment_of(kafka_topics, tmp_path / worker, **options)
        process = stage("streams.recognition", worker, tmp_path / f"{worker}.log", environment)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def cameras(kafka_topics: KafkaSettings) -> Iterator[Cameras]:
    """What sends frames."""
    cameras = Cameras(kafka_topics)
    yield cameras
    cameras.close()


@pytest.fixture
def outcome(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[Outcome]:
    """What the stage publishes."""
    outcome = Outcome(kafka_topics, tmp_path)
    yield outcome
    outcome.close()
