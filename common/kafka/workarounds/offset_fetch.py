"""Heeds the error of an answer as a whole where committed offsets are asked for (aiokafka 0.14.0).

From version 2 on the answer to an OffsetFetch names errors of the group once, beside a list of
topics that is then empty. aiokafka 0.14.0 asks in version 3, looks at the list alone, and finds
that nothing was ever committed. So a worker that asks while its group moves to another broker, or
is being loaded there, reads its topics from the beginning again. Seen with three brokers: those
that did not have the group answered so.

**Source:** Kafka protocol guide, OffsetFetch; aiokafka 0.14.0,
``GroupCoordinator._do_fetch_commit_offsets``.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import NoError, NotCoordinatorForGroupError, for_code
from aiokafka.protocol.commit import OffsetFetchRequest


def raise_offset_fetch_errors() -> None:
    """Have an OffsetFetch that was answered by an error fail; a second call changes nothing."""
    original: Callable[..., Awaitable[Any]] = GroupCoordinator._send_req
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    async def send(coordinator: GroupCoordinator, request: Any) -> Any:
        answer = await original(coordinator, request)
        if isinstance(request, OffsetFetchRequest):
            _raise_error(coordinator, answer)
        return answer

    GroupCoordinator._send_req = send


def _raise_error(coordinator: GroupCoordinator, answer: Any) -> None:
    # Version 1 has none.
    error = for_code(getattr(answer, "error_code", NoError.errno))
    if error is NotCoordinatorForGroupError:
        coordinator.coordinator_dead()
    if error is not NoError:
        raise error
