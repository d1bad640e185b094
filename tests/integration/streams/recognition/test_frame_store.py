"""Frames that are fetched again from Kafka, also while Kafka is unavailable."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from common.errors import TransientError
from common.records.frames import FrameReference
from common.records.topics import FRAMES
from common.settings import KafkaSettings
from deploy.local.ports import free_ports
from streams.recognition.frame_store import FrameCache, FrameLog, FrameStore
from streams.recognition.metrics import RecognitionMetrics
from tests.integration.streams.stages import Feeder

pytestmark = pytest.mark.integration

_FIRST = FrameReference(partition=0, offset=0)


@pytest.fixture
def silent_server() -> Iterator[int]:
    """The port of a server that accepts connections and never responds, like a frozen server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _store(settings: KafkaSettings) -> FrameStore:
    return FrameStore(FrameCache(0), FrameLog(settings), RecognitionMetrics())


def _store_at(port: int) -> FrameStore:
    address = f"127.0.0.1:{port}"
    return _store(KafkaSettings.model_validate({"kafka_bootstrap_servers": address}))


async def test_a_frame_is_fetched_from_its_place(kafka_topics: KafkaSettings) -> None:
    feeder = Feeder(kafka_topics, FRAMES)
    feeder.send(b"a frame", key=b"camera")
    feeder.close()
    store = _store(kafka_topics)
    partitions = range(kafka_topics.kafka_partitions)
    places = [FrameReference(partition=number, offset=0) for number in partitions]
    assert sorted(filter(None, [await store.jpeg(place) for place in places])) == [b"a frame"]


async def test_without_kafka_a_fetch_fails_at_once_and_leaves_no_thread() -> None:
    (port,) = free_ports(1)
    before, began = threading.enumerate(), time.monotonic()
    for _ in range(3):
        with pytest.raises(TransientError):
            await _store_at(port).jpeg(_FIRST)
    assert time.monotonic() - began < 5
    # The threads of asyncio's own executor remain.
    new = [thread.name for thread in threading.enumerate() if thread not in before]
    assert [name for name in new if not name.startswith("asyncio")] == []


async def test_a_frozen_kafka_holds_a_fetch_for_seconds(silent_server: int) -> None:
    began = time.monotonic()
    with pytest.raises(TransientError):
        await _store_at(silent_server).jpeg(_FIRST)
    assert time.monotonic() - began < 15
