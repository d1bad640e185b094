"""A thread that waits in the place of those who may not."""

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger(__name__)

Record = TypeVar("Record")


class Handover(Generic[Record]):
    """Hands records on in the order in which they came, however long that takes. Thread-safe.

    How many wait is for whoever puts them here to bound.
    """

    def __init__(self, name: str, hand_on: Callable[[Record], None]) -> None:
        """Start the thread, which calls ``hand_on`` for one record after the other."""
        self._hand_on = hand_on
        self._queue: queue.SimpleQueue[Record | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Have a record handed on. Returns at once."""
        self._queue.put(record)

    def end(self) -> None:
        """Have it end after what waits was handed on. Returns at once."""
        self._queue.put(None)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the end, and return whether it came within the time."""
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (record := self._queue.get()) is not None:
            try:
                self._hand_on(record)
            # The edge of the thread: one odd record must not hold up all that follow.
            except Exception:
                log.exception("record_not_handed_on")
