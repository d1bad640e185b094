"""Work that takes a core for long: how much of it at once, and who is refused."""

import asyncio
import threading
import time

import pytest

from api.adapters.background import BoundedThreadPool
from api.errors import ApiError, ErrorCode


async def test_no_more_run_at_once_than_allowed() -> None:
    threads = BoundedThreadPool("test", concurrency=2, slots=8, too_many="Too many.")
    lock, running, peak = threading.Lock(), 0, 0

    def work() -> str:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return threading.current_thread().name

    names = await asyncio.gather(*(threads.run(work) for _ in range(8)))
    await threads.close()

    assert peak <= 2
    assert all(name.startswith("test") for name in names)


async def test_a_caller_that_finds_no_slot_is_refused() -> None:
    threads = BoundedThreadPool("test", concurrency=1, slots=1, too_many="Too many.")
    with threads.slot():
        with pytest.raises(ApiError, match="Too many") as refused, threads.slot():
            pass
        assert refused.value.code is ErrorCode.RATE_LIMITED
        assert refused.value.retry_after_seconds == 1
    with threads.slot():
        assert await threads.run(sorted, [2, 1]) == [1, 2]
    await threads.close()
