"""The camera-status topic as the API consumes it."""

import asyncio
import gc
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from kafka import KafkaProducer

from api.cameras.status_cache import CameraStatusCache
from common.errors import TransientError
from common.kafka.clients import create_topics, producer_options, topic_name
from common.kafka.compacted import CompactedTopicReader
from common.records.cameras import CameraState, CameraStatus
from common.records.codec import encode
from common.records.topics import CAMERA_STATUS
from common.settings import KafkaSettings
from deploy.local.servers.kafka import KafkaServer
from tests.integration.api.waiting import until
from tests.services.kafka import fresh_kafka_settings, kafka_process

pytestmark = pytest.mark.integration

Feed = CompactedTopicReader[CameraStatus]


class Ingest:
    """Reports the status of cameras, as an ingest worker does."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._topic = topic_name(settings, CAMERA_STATUS)
        self._producer = KafkaProducer(**producer_options(settings, "test"))

    def say(self, camera_id: UUID, revision: int) -> None:
        status = CameraStatus(
            camera_id=camera_id,
            owner_id=uuid.uuid4(),
            state=CameraState.ONLINE,
            revision=revision,
            worker="test",
            at_ms=1,
        )
        self._send(str(camera_id).encode(), encode(status))

    def forget(self, camera_id: UUID) -> None:
        self._send(str(camera_id).encode(), None)

    def babble(self) -> None:
        """Publish a message that cannot be decoded."""
        self._send(b"no uuid", b"{}")
        self._send(str(uuid.uuid4()).encode(), b'{"version": 99}')

    def close(self) -> None:
        self._producer.close()

    def _send(self, key: bytes, value: bytes | None) -> None:
        self._producer.send(self._topic, key=key, value=value).get(timeout=20)


@asynccontextmanager
async def _following(
    settings: KafkaSettings,
) -> AsyncIterator[tuple[CameraStatusCache, CompactedTopicReader[CameraStatus]]]:
    statuses = CameraStatusCache()
    reader = CompactedTopicReader(
        settings, CAMERA_STATUS, CameraStatus, statuses.post, client="test"
    )
    reader.start()
    try:
        yield statuses, reader
    finally:
        await asyncio.to_thread(reader.stop)


async def _is_well(reader: Feed) -> bool:
    try:
        await reader.ping()
    except TransientError:
        return False
    return True


async def _is_forgotten(statuses: CameraStatusCache, camera_id: UUID) -> bool:
    return statuses.latest(camera_id) is None


async def test_reads_from_the_start_and_follows(kafka_topics: KafkaSettings) -> None:
    ingest, before, after = Ingest(kafka_topics), uuid.uuid4(), uuid.uuid4()
    ingest.say(before, 1)
    ingest.say(before, 2)
    ingest.babble()
    async with _following(kafka_topics) as (statuses, reader):
        await until(lambda: _is_well(reader), seconds=30)
        assert await statuses.wait_until_running(before, 2, 5)
        waiting = asyncio.create_task(statuses.wait_until_running(after, 1, 10))
        ingest.say(after, 1)
        assert await waiting
        ingest.forget(before)
        await until(lambda: _is_forgotten(statuses, before), seconds=30)
    ingest.close()


@pytest.mark.long
# kafka-python 3.0.12 leaves the sockets of refused connections to the garbage collector. Log
# records, which pytest stores, would keep the sockets alive.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
async def test_survives_a_broker_that_comes_late_and_recovers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, logger="kafka")
    broker = kafka_process(tmp_path)
    assert isinstance(broker.server, KafkaServer)
    settings = fresh_kafka_settings(broker.server.bootstrap_servers)
    async with _following(settings) as (statuses, reader):
        with pytest.raises(TransientError):
            await reader.ping()
        with broker:
            await asyncio.to_thread(create_topics, settings)
            ingest, camera_id = Ingest(settings), uuid.uuid4()
            await asyncio.to_thread(ingest.say, camera_id, 1)
            assert await statuses.wait_until_running(camera_id, 1, 20)
            await asyncio.to_thread(broker.restart)
            await asyncio.to_thread(ingest.say, camera_id, 2)
            assert await statuses.wait_until_running(camera_id, 2, 20)
            await until(lambda: _is_well(reader), seconds=30)
            ingest.close()
    gc.collect()
