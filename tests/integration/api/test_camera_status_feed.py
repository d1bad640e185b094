"""The topic camera-status as the API follows it."""

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

from api.cameras.status_board import StatusBoard
from contracts.cameras import CameraState, CameraStatus
from contracts.errors import TransientError
from contracts.kafka import create_topics, producer_options, topic_name
from contracts.records import encode
from contracts.settings import KafkaSettings
from contracts.topic_feed import TopicFeed
from contracts.topics import CAMERA_STATUS
from deploy.local.servers.kafka import KafkaServer
from tests.integration.api.waiting import until
from tests.services.kafka import fresh_kafka_settings, kafka_process

pytestmark = pytest.mark.integration

Feed = TopicFeed[CameraStatus]


class Ingest:
    """Says how cameras are doing, as an ingest worker does."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._topic = topic_name(settings, CAMERA_STATUS)
        self._producer = KafkaProducer(**producer_options(settings, "test"))

    def say(self, camera_id: UUID, revision: int) -> None:
        """Publish a status."""
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
        """Publish a tombstone."""
        self._send(str(camera_id).encode(), None)

    def babble(self) -> None:
        """Publish what nobody can read."""
        self._send(b"no uuid", b"{}")
        self._send(str(uuid.uuid4()).encode(), b'{"version": 99}')

    def close(self) -> None:
        """End."""
        self._producer.close()

    def _send(self, key: bytes, value: bytes | None) -> None:
        self._producer.send(self._topic, key=key, value=value).get(timeout=20)


@asynccontextmanager
async def _following(
    settings: KafkaSettings,
) -> AsyncIterator[tuple[StatusBoard, TopicFeed[CameraStatus]]]:
    board = StatusBoard()
    feed = TopicFeed(settings, CAMERA_STATUS, CameraStatus, board.post, client="test")
    feed.start()
    try:
        yield board, feed
    finally:
        await asyncio.to_thread(feed.stop)


async def _is_well(feed: Feed) -> bool:
    try:
        await feed.ping()
    except TransientError:
        return False
    return True


async def _is_forgotten(board: StatusBoard, camera_id: UUID) -> bool:
    return board.latest(camera_id) is None


async def test_reads_from_the_start_and_follows(kafka_topics: KafkaSettings) -> None:
    ingest, before, after = Ingest(kafka_topics), uuid.uuid4(), uuid.uuid4()
    ingest.say(before, 1)
    ingest.say(before, 2)
    ingest.babble()
    async with _following(kafka_topics) as (board, feed):
        await until(lambda: _is_well(feed), seconds=30)
        assert await board.wait_until_taken(before, 2, 5)
        waiting = asyncio.create_task(board.wait_until_taken(after, 1, 10))
        ingest.say(after, 1)
        assert await waiting
        ingest.forget(before)
        await until(lambda: _is_forgotten(board, before), seconds=30)
    ingest.close()


# kafka-python 3.0.12 leaves the sockets of refused connections to the garbage collector; log
# records, which pytest keeps, would hold on to them.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
async def test_survives_a_broker_that_comes_late_and_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, logger="kafka")
    broker = kafka_process(tmp_path)
    assert isinstance(broker.server, KafkaServer)
    settings = fresh_kafka_settings(broker.server.bootstrap_servers)
    async with _following(settings) as (board, feed):
        with pytest.raises(TransientError):
            await feed.ping()
        with broker:
            await asyncio.to_thread(create_topics, settings)
            ingest, camera_id = Ingest(settings), uuid.uuid4()
            await asyncio.to_thread(ingest.say, camera_id, 1)
            assert await board.wait_until_taken(camera_id, 1, 20)
            await asyncio.to_thread(broker.restart)
            await asyncio.to_thread(ingest.say, camera_id, 2)
            assert await board.wait_until_taken(camera_id, 2, 20)
            await until(lambda: _is_well(feed), seconds=30)
            ingest.close()
    gc.collect()
