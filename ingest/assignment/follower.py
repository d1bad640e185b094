"""Reads the configuration of this worker's cameras from their assigned Kafka partitions."""

import queue
import threading
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import structlog

from common.errors import InvalidInputError
from common.kafka.clients import (
    SESSION_TIMEOUT_SECONDS,
    ConsumerRebalanceListener,
    KafkaError,
    TopicPartition,
    group_name,
    open_consumer,
    topic_name,
)
from common.kafka.workarounds.assignor import LatestClaimAssignor
from common.kafka.workarounds.idle_poll import IdlePollConsumer
from common.kafka.workarounds.rejoin import RejoinPatch
from common.records.cameras import CameraConfig
from common.records.codec import decode
from common.records.topics import CONFIG_CAMERAS
from ingest.assignment.fleet import ConfigChange, ConfigState, Fleet
from ingest.clocks import Clock
from ingest.metrics import IngestMetrics
from ingest.settings import IngestSettings

log = structlog.get_logger(__name__)

_POLL_MS: Final = 200
# Maximum delay of a stop, and of a rebalance that starts during a poll.
_IDLE_POLL_MS: Final = 1_000
_OFFSET_MS: Final = 2_000
_RETRY_SECONDS: Final = 1.0


class AssignmentFollower(ConsumerRebalanceListener):  # type: ignore[misc] # kafka-python is untyped
    """Member of the ingest group. A worker captures the cameras in its configuration partitions.

    A partition is read from the beginning each time it is assigned. Offsets are never committed.
    Partitions that stay with a worker during a rebalance are not affected (cooperative
    rebalancing), so their cameras continue.
    """

    def __init__(
        self, settings: IngestSettings, fleet: Fleet, metrics: IngestMetrics, now: Clock
    ) -> None:
        """Connect to Kafka. :meth:`follow` joins the group.

        Raises:
            MisconfiguredError: Kafka denies access.
            TransientError: no broker responds.
            kafka.errors.KafkaError: a broker accepted the connection, but did not respond in time.
        """
        self._fleet = fleet
        self._metrics = metrics
        self._now = now
        self._state = ConfigState()
        self._topic = topic_name(settings, CONFIG_CAMERAS)
        self._unread: set[int] = set()
        self._assigned: queue.SimpleQueue[tuple[int, bool]] = queue.SimpleQueue()
        self._assignor = LatestClaimAssignor()
        session_ms = round(SESSION_TIMEOUT_SECONDS * 1000)
        self._consumer = open_consumer(
            settings,
            "ingest",
            kind=IdlePollConsumer,
            group_id=group_name(settings, "ingest"),
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=session_ms // 5,
            partition_assignment_strategy=[self._assignor],
            fetch_max_wait_ms=_IDLE_POLL_MS,
            allow_auto_create_topics=False,
        )
        RejoinPatch(self._consumer._coordinator, SESSION_TIMEOUT_SECONDS / 2)
        self.polled_seconds = now().seconds
        """Monotonic time of the loop's last iteration, for the health check."""

    @property
    def is_ready(self) -> bool:
        """Whether this worker is a member of the group and has read its partitions."""
        is_member = self._consumer._coordinator.generation_if_stable() is not None
        is_read = self._assigned.empty() and not (self._unread or self._state.catching_up)
        return is_member and is_read

    def follow(self, stop: threading.Event) -> None:
        """Start, update and stop cameras until ``stop`` is set."""
        self._repeat(stop, self._join)
        while not stop.is_set():
            self._repeat(stop, self._poll)

    def close(self, timeout_seconds: float) -> None:
        """Leave the group, so that other workers take over immediately."""
        try:
            self._consumer.close(autocommit=False, timeout_ms=round(timeout_seconds * 1000))
        except KafkaError as error:
            log.warning("consumer_group_leave_failed", error=type(error).__name__)

    def _repeat(self, stop: threading.Event, step: Callable[[], bool]) -> None:
        """Repeat ``step`` until it succeeds or ``stop`` is set."""
        is_done = False
        while not is_done and not stop.is_set():
            try:
                is_done = step()
            except KafkaError as error:
                log.warning("config_read_failed", error=type(error).__name__)
                self._apply_assignments()
            self.polled_seconds = self._now().seconds
            if not is_done:
                stop.wait(_RETRY_SECONDS)

    def _join(self) -> bool:
        # Wait until the topic is known. kafka-python 3.0.12 assigns the partitions that it knows
        # when it joins. If partitions become known during the join, it treats these partitions as
        # already assigned, and gets none until it refreshes its metadata minutes later.
        if not self._consumer.partitions_for_topic(self._topic):
            log.warning("topic_missing", topic=self._topic)
            return False
        self._consumer.subscribe([self._topic], listener=self)
        return True

    def _poll(self) -> bool:
        for number in sorted(self._unread):
            self._begin(number)
        batches: dict[TopicPartition, list[Any]] = self._consumer.poll(
            timeout_ms=_IDLE_POLL_MS if self.is_ready else _POLL_MS
        )
        # First handle rebalances during the poll. Records of a partition that was just assigned, or
        # revoked and reassigned, are ignored: the partition is read again from the beginning.
        self._apply_assignments()
        for assigned, records in batches.items():
            if self._state.has(assigned.partition):
                for record in records:
                    self._read(assigned.partition, record)
        for number in self._state.catching_up:
            partition = TopicPartition(self._topic, number)
            position = self._consumer.position(partition, timeout_ms=_OFFSET_MS)
            if position is not None:
                self._apply(self._state.reached(number, position))
        return True

    def _apply_assignments(self) -> None:
        while not self._assigned.empty():
            number, is_ours = self._assigned.get()
            self._state.revoked(number)
            self._unread.discard(number)
            if is_ours:
                self._unread.add(number)

    def _begin(self, number: int) -> None:
        """Start reading a partition from the beginning. After a failure, the loop tries again."""
        partition = TopicPartition(self._topic, number)
        ends = self._consumer.end_offsets([partition], timeout_ms=_OFFSET_MS)
        self._consumer.seek_to_beginning(partition)
        self._state.assigned(number, ends[partition])
        self._unread.discard(number)

    def _read(self, partition: int, record: Any) -> None:
        try:
            change = _change(partition, record.key, record.value)
        except InvalidInputError as error:
            self._metrics.config_errors.inc()
            log.error(
                "config_record_unreadable",
                partition=partition,
                offset=record.offset,
                code=error.code,
            )
            return
        self._apply(self._state.read(change))

    def _apply(self, changes: tuple[ConfigChange, ...]) -> None:
        for change in changes:
            self._fleet.apply(change)

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Accept partitions in a rebalance. Called by kafka-python. Never blocks."""
        for partition in assigned:
            self._fleet.own(partition.partition)
            self._assigned.put((partition.partition, True))
        log.info("partitions_assigned", partitions=sorted(p.partition for p in assigned))

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Stop the cameras of partitions. Called by kafka-python. Never blocks."""
        # Another worker may start these cameras once this method returns, before our next loop.
        for partition in revoked:
            self._fleet.release(partition.partition)
            self._assigned.put((partition.partition, False))
        log.info("partitions_revoked", partitions=sorted(p.partition for p in revoked))

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        """Stop the cameras after this worker lost its membership. Called by kafka-python."""
        self._assignor.forget()
        self.on_partitions_revoked(lost)


def _change(partition: int, key: bytes | None, value: bytes | None) -> ConfigChange:
    try:
        camera_id = UUID((key or b"").decode("ascii"))
    except ValueError as error:
        raise InvalidInputError("the key is not a camera ID", code="unreadable_record") from error
    if not value:
        return ConfigChange(partition, camera_id, None)
    config = decode(CameraConfig, value)
    if config.camera_id != camera_id:
        raise InvalidInputError(
            "the key and the record have different camera IDs", code="unreadable_record"
        )
    return ConfigChange(partition, camera_id, config)
