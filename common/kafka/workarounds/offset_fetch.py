"""Checks the top-level error of a response to a request for committed offsets (aiokafka 0.14.0).

Since version 2, the response to OffsetFetch contains group errors in a top-level field, and its
list of topics is then empty. aiokafka 0.14.0 requests version 3, reads only the list, and concludes
that nothing was ever committed. So a worker that sends the request while its group's coordinator
moves or loads reads its topics from the beginning again. This was observed with three brokers:
brokers that did not coordinate the group returned such responses.

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
    """Make an OffsetFetch fail if the response contains an error. Idempotent."""
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
    # Version 1 has no such field.
    error = for_code(getattr(answer, "error_code", NoError.errno))
    if error is NotCoordinatorForGroupError:
        coordinator.coordinator_dead()
    if error is not NoError:
        raise error
