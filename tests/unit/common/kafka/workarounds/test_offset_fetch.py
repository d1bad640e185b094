"""Responses of a group's broker to a worker that requests committed offsets."""

from typing import Any

import pytest
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import GroupAuthorizationFailedError
from aiokafka.protocol.commit import OffsetFetchResponse_v1, OffsetFetchResponse_v3
from aiokafka.structs import TopicPartition

import streams.runtime.consumer  # noqa: F401  # corrects it

_TP = TopicPartition("frames", 0)
_LOADING, _NOT_COORDINATOR, _NOT_AUTHORISED = 14, 16, 30
_COMMITTED = OffsetFetchResponse_v3(0, [("frames", [(0, 5_000, "", 0)])], 0)


class _Client:
    """Returns the next of the given responses for each request."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = answers

    async def send(self, node_id: int, request: object, *, group: object) -> Any:
        return self._answers.pop(0)


class _Coordinator(GroupCoordinator):  # type: ignore[misc]
    """Has a broker, and finds the next broker immediately."""

    def __init__(self, answers: list[Any]) -> None:
        self._client = _Client(answers)
        self._retry_backoff_ms = 1
        self.group_id = "stage"
        self.coordinator_id: int | None = 1
        self.found = 0

    async def ensure_coordinator_known(self) -> None:
        if self.coordinator_id is None:
            self.coordinator_id = 2
            self.found += 1

    def coordinator_dead(self) -> None:
        self.coordinator_id = None


@pytest.mark.parametrize(("code", "found"), [(_LOADING, 0), (_NOT_COORDINATOR, 1)])
async def test_a_group_that_moves_is_asked_again(code: int, found: int) -> None:
    coordinator = _Coordinator([OffsetFetchResponse_v3(0, [], code), _COMMITTED])
    offsets = await coordinator.fetch_committed_offsets([_TP])
    assert offsets[_TP].offset == 5_000
    assert coordinator.found == found


async def test_a_group_that_may_not_be_read_is_an_error() -> None:
    coordinator = _Coordinator([OffsetFetchResponse_v3(0, [], _NOT_AUTHORISED)])
    with pytest.raises(GroupAuthorizationFailedError):
        await coordinator.fetch_committed_offsets([_TP])


async def test_nothing_committed_is_no_error() -> None:
    coordinator = _Coordinator([OffsetFetchResponse_v3(0, [("frames", [(0, -1, "", 0)])], 0)])
    assert await coordinator.fetch_committed_offsets([_TP]) == {}


async def test_an_old_broker_names_errors_by_partition() -> None:
    coordinator = _Coordinator(
        [
            OffsetFetchResponse_v1([("frames", [(0, -1, "", _NOT_COORDINATOR)])]),
            OffsetFetchResponse_v1([("frames", [(0, 7, "", 0)])]),
        ]
    )
    assert (await coordinator.fetch_committed_offsets([_TP]))[_TP].offset == 7
