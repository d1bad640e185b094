"""A join of the group that takes longer than a poll is completed by the next poll."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.coordinator.base import Generation
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import KafkaTimeoutError, RebalanceInProgressError
from kafka.structs import MemberState

from common.kafka.workarounds.rejoin import RejoinPatch


class Loop:
    """Event loop that finishes a task before the next poll although its wait timed out."""

    def __init__(self) -> None:
        self.is_in_time = False

    def call_soon(self, step: Callable[[], Awaitable[bytes]]) -> Any:
        return SimpleNamespace(step=step, is_done=False)

    async def wait_for(self, task: Any, timeout_ms: float) -> bytes:
        brought: bytes = await task.step()
        task.is_done = True
        if not self.is_in_time:
            raise KafkaTimeoutError
        return brought


class Coordinator(ConsumerCoordinator):  # type: ignore[misc] # kafka-python is untyped
    """kafka-python's coordinator, without the requests."""

    def __init__(self) -> None:
        self.config = {"api_version": (3, 9)}
        self._manager = Loop()
        self._lock = threading.RLock()
        self._join_task = None
        self._generation = Generation.NO_GENERATION
        self._heartbeat_loop_future = None
        self.rejoin_needed, self.rejoining = True, False
        self.has_new_partitions = False
        self.state = MemberState.UNJOINED
        self.seconds = 0.0
        self.joins = 0
        self.fails = False
        self.assignments: list[bytes] = []

    def need_rejoin(self) -> bool:
        return bool(self.rejoin_needed) or self.has_new_partitions

    async def ensure_coordinator_ready_async(self, timeout_ms: float | None = None) -> bool:
        return True

    async def _on_join_prepare_async(self, *_: Any, **__: Any) -> None:
        pass

    async def _do_join_and_sync_async(self) -> bytes:
        self.state = MemberState.REBALANCING
        if self.fails:
            self.fails = False
            raise RebalanceInProgressError
        # The leader of the group assigns the partitions that are known now.
        self.has_new_partitions = False
        self.joins += 1
        self._generation = Generation(self.joins, "member", "cooperative-sticky")
        return b"%d" % self.joins

    async def _on_join_complete_async(self, *arguments: Any) -> None:
        self.assignments.append(arguments[-1])

    def _enable_heartbeat(self) -> None:
        pass

    def _disable_heartbeat(self) -> None:
        pass

    def poll_group(self, *, is_in_time: bool) -> bool:
        self._manager.is_in_time = is_in_time
        return bool(asyncio.run(self.join_group_async(timeout_ms=0)))


@pytest.fixture
def coordinator() -> Coordinator:
    coordinator = Coordinator()
    RejoinPatch(coordinator, valid_seconds=5, clock=lambda: coordinator.seconds)
    return coordinator


def test_a_join_that_ended_between_two_polls_is_acted_on_once(coordinator: Coordinator) -> None:
    assert not coordinator.poll_group(is_in_time=False)
    assert not coordinator.poll_group(is_in_time=False)
    assert coordinator.poll_group(is_in_time=True)

    assert coordinator.joins == 1
    assert coordinator.assignments == [b"1"]


def test_a_join_is_seen_through_where_its_reason_is_gone(coordinator: Coordinator) -> None:
    coordinator.poll_group(is_in_time=True)
    coordinator.has_new_partitions = True
    coordinator.poll_group(is_in_time=False)
    coordinator.poll_group(is_in_time=True)

    assert coordinator.assignments == [b"1", b"2"]
    assert coordinator.stable()
    assert not coordinator.need_rejoin()


@pytest.mark.parametrize("fails", [False, True])
def test_a_join_brings_nothing_of_the_one_before(coordinator: Coordinator, *, fails: bool) -> None:
    coordinator.poll_group(is_in_time=True)
    coordinator.rejoin_needed, coordinator.fails = True, fails
    coordinator.poll_group(is_in_time=True)

    assert coordinator.assignments == [b"1", b"2"]


def test_what_was_joined_before_the_membership_was_lost_is_forgotten(
    coordinator: Coordinator,
) -> None:
    coordinator.poll_group(is_in_time=False)
    coordinator.reset_generation()
    coordinator.poll_group(is_in_time=True)

    assert coordinator.assignments == [b"2"]


def test_what_a_join_brought_does_not_outlast_the_membership(coordinator: Coordinator) -> None:
    # The group removed the worker because of missing heartbeats. The worker does not know yet.
    coordinator.poll_group(is_in_time=False)
    coordinator.seconds = 5.0
    coordinator.poll_group(is_in_time=True)

    assert coordinator.assignments == [b"2"]
