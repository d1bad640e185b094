"""Fixtures: Kafka and a bucket for each test, and workers of the recognition stage."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.records.topics import (
    CAMERA_COUNTS,
    FRAMES,
    LOST_IMAGES,
    OUTCOMES,
    READING_DEAD_LETTERS,
    READINGS,
    RECOGNITIONS,
    SIGHTINGS,
    Topic,
)
from common.settings import KafkaSettings, S3Settings
from tests.integration.streams.recognition.cameras import Cameras, Outcome
from tests.integration.streams.stages import environment_of, running, stage
from tests.services.process import ChildProcess
from tests.services.s3 import fresh_bucket

StartStage = Callable[..., ChildProcess]

# Frames wait for workers that are killed and restarted, and the machine may be busy.
_SETTINGS = {
    "recognition_workers": "1",
    "streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6",
    "streams.recognition.app.DEADLINE_MS": "1800000",
}


@pytest.fixture(scope="module")
def needed_topics() -> tuple[Topic, ...]:
    return (
        FRAMES,
        READINGS,
        SIGHTINGS,
        RECOGNITIONS,
        LOST_IMAGES,
        OUTCOMES,
        CAMERA_COUNTS,
        READING_DEAD_LETTERS,
    )


def _stage(
    kafka: KafkaSettings, s3: S3Settings, folder: Path, worker: str, **settings: str
) -> ChildProcess:
    places = {
        name: str(getattr(s3, name)) for name in ("s3_endpoint", "s3_bucket", "s3_access_key")
    }
    secret = s3.s3_secret_key.get_secret_value()
    options = {**_SETTINGS, **places, "s3_secret_key": secret, **settings}
    environment = environment_of(kafka, folder / worker, **options)
    return stage("streams.recognition", worker, folder / f"{worker}.log", environment)


@pytest.fixture
def start_stage(
    kafka_topics: KafkaSettings, s3_settings: S3Settings, tmp_path: Path
) -> Iterator[StartStage]:
    """A function that starts workers of the stage. They stop at the end of the test."""
    started: list[ChildProcess] = []

    def start(worker: str = "one", **settings: str) -> ChildProcess:
        process = _stage(kafka_topics, s3_settings, tmp_path, worker, **settings)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


@dataclass(frozen=True)
class RunningStage:
    """A worker that the tests of a module share. Each test has separate cameras."""

    kafka: KafkaSettings
    s3: S3Settings
    logs: Path


@pytest.fixture(scope="module")
def running_stage(
    module_kafka_topics: KafkaSettings,
    s3_server: S3Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RunningStage]:
    """A worker of the recognition stage that starts and loads its models once per module."""
    folder, s3 = tmp_path_factory.mktemp("stage"), fresh_bucket(s3_server)
    options = {
        "recognition_workers": "2",
        "streams.runtime.stage_runner.DEAD_LETTERS_PER_MINUTE": "5",
    }
    with running(_stage(module_kafka_topics, s3, folder, "shared", **options)):
        yield RunningStage(module_kafka_topics, s3, folder)


@pytest.fixture
def own_cameras(running_stage: RunningStage) -> Iterator[Cameras]:
    """Cameras that send frames to the module's worker."""
    cameras = Cameras(running_stage.kafka)
    yield cameras
    cameras.close()


@pytest.fixture
def own_outcome(running_stage: RunningStage) -> Iterator[Outcome]:
    """The results of the module's worker during a test."""
    outcome = Outcome(running_stage.kafka, running_stage.logs, from_now_on=True)
    yield outcome
    outcome.close()


@pytest.fixture
def cameras(kafka_topics: KafkaSettings) -> Iterator[Cameras]:
    cameras = Cameras(kafka_topics)
    yield cameras
    cameras.close()


@pytest.fixture
def outcome(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[Outcome]:
    outcome = Outcome(kafka_topics, tmp_path)
    yield outcome
    outcome.close()
