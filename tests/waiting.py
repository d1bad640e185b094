"""Waits for other threads or processes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    what: str, condition: Callable[[], T], seconds: float = 60, poll_seconds: float = 0.05
) -> T:
    """Return the first true value of ``condition``, and fail after a timeout."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what} (now {value!r})"
        time.sleep(poll_seconds)
    return value
