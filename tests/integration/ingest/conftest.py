"""Fixtures: Kafka and a bucket for each test, and clips to play."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from common.settings import KafkaSettings, S3Settings
from tests.integration.ingest.clips import write_clip
from tests.integration.ingest.worker import CameraConfigs, IngestWorker, Outbox, Shared, World
from tests.services.s3 import fresh_bucket


@pytest.fixture(scope="module")
def partition_count() -> int:
    """Return a number of partitions that several workers can share."""
    return 4


@pytest.fixture
def world(kafka_topics: KafkaSettings, s3_settings: S3Settings, tmp_path: Path) -> World:
    return World(kafka_topics, s3_settings, tmp_path)


@pytest.fixture
def configs(world: World) -> Iterator[CameraConfigs]:
    configs = CameraConfigs(world.kafka)
    yield configs
    configs.close()


@pytest.fixture
def outbox(world: World) -> Iterator[Outbox]:
    outbox = Outbox(world)
    yield outbox
    outbox.close()


@pytest.fixture(scope="module")
def shared(
    module_kafka_topics: KafkaSettings,
    s3_server: S3Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Shared]:
    """A running worker with its servers, for all tests of a module."""
    directory = tmp_path_factory.mktemp("worker")
    world = World(module_kafka_topics, fresh_bucket(s3_server), directory)
    with (
        closing(CameraConfigs(world.kafka)) as configs,
        closing(Outbox(world)) as outbox,
        IngestWorker(world) as worker,
    ):
        yield Shared(world, configs, outbox, worker)


@pytest.fixture(scope="session")
def moving_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of two seconds with motion."""
    return write_clip(tmp_path_factory.mktemp("clips") / "moving.mp4", seconds=2, moving=True)


@pytest.fixture(scope="session")
def still_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of two seconds without motion."""
    return write_clip(tmp_path_factory.mktemp("clips") / "still.mp4", seconds=2, moving=False)
