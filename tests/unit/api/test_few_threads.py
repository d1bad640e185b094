"""Work that takes a core for long: how much of it at once, and who is turned away."""

import asyncio
import threading
import time

import pytest

from api.errors import ApiError, ErrorCode
from api.threads import FewThreads


async def test_no_more_are_at_it_than_allowed() -> None:
    threads = FewThreads("test", at_once=2, places=8, too_many="Too many.")
    lock, at_it, most = threading.Lock(), 0, 0

    def work() -> str:
        nonlocal at_it, most
        with lock:
            at_it += 1
            most = max(most, at_it)
        time.sleep(0.01)
        with lock:
            at_it -= 1
        return threading.current_thread().name

    names = await asyncio.gather(*(threads.run(work) for _ in range(8)))
    await threads.close()

    assert most <= 2
    assert all(name.startswith("test") for name in names)


async def test_who_finds_no_place_is_told() -> None:
    threads = FewThreads("test", at_once=1, places=1, too_many="Too many.")
    with threads.place():
        with pytest.raises(ApiError, match="Too many") as refused, threads.place():
            pass
        assert refused.value.code is ErrorCode.RATE_LIMITED
        assert refused.value.retry_after_seconds == 1
    with threads.place():
        assert await threads.run(sorted, [2, 1]) == [1, 2]
    await threads.close()
