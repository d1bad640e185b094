"""A worker that lost its membership of the group."""

import threading
from typing import Any, cast

import pytest
from kafka import TopicPartition
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from ingest.assignment import follower as following
from ingest.assignment.fleet import Fleet
from ingest.assignment.follower import AssignmentFollower
from ingest.clocks import Instant
from ingest.metrics import IngestMetrics
from ingest.settings import IngestSettings

TOPIC = "config-cameras"


class Consumer:
    """Behaves like kafka-python's consumer, up to the point where it would call a broker."""

    def __init__(self, options: dict[str, Any], subscribed: threading.Event) -> None:
        (assignor,) = options["partition_assignment_strategy"]
        assert isinstance(assignor, AbstractPartitionAssignor)
        self.assignor: Any = assignor
        self._coordinator: Any = type("Coordinator", (), {"_do_join_and_sync_async": None})()
        self.listener: Any = None
        self._subscribed = subscribed

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1}

    def subscribe(self, topics: list[str], listener: Any) -> None:
        self.listener = listener
        self._subscribed.set()


class Cameras:
    """Records the partitions that are released."""

    def __init__(self) -> None:
        self.released: list[int] = []

    def release(self, partition: int) -> None:
        self.released.append(partition)


def test_its_cameras_stop_and_it_claims_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Consumer] = []
    subscribed = threading.Event()

    def make(settings: object, client: str, **options: Any) -> Consumer:
        made.append(Consumer(options, subscribed))
        return made[0]

    monkeypatch.setattr(following, "open_consumer", make)
    settings = IngestSettings.model_validate({"s3_secret_key": "x", "secret_key": "x"})
    cameras = Cameras()
    follower = AssignmentFollower(
        settings, cast(Fleet, cameras), IngestMetrics(), lambda: Instant(0, 0.0)
    )
    follower.follow(stop=subscribed)
    consumer = made[0]
    consumer.assignor.on_assignment(ConsumerProtocolAssignment(0, [(TOPIC, [0, 1])], b""), 3)

    consumer.listener.on_partitions_lost({TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)})

    assert sorted(cameras.released) == [0, 1]
    assert consumer.assignor.metadata({TOPIC}).owned_partitions == []
