"""The threads that all cameras share to turn pictures into JPEG."""

import queue
import threading

import structlog

from ingest.lane import FrameLane

log = structlog.get_logger(__name__)


class EncoderPool:
    """Calls the lanes that have a picture, in the order in which they got one.

    A lane waits here at most once, so the queue is bounded by the number of cameras.
    """

    def __init__(self, threads: int) -> None:
        """Start the threads."""
        self._queue: queue.SimpleQueue[FrameLane | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"encoder-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, lane: FrameLane) -> None:
        """Have a lane's picture looked at. Returns at once."""
        self._queue.put(lane)

    def stop(self, timeout_seconds: float) -> bool:
        """End the threads; returns whether all did within the time."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout_seconds / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (lane := self._queue.get()) is not None:
            try:
                lane.work()
            except Exception:
                # One camera's odd picture must not take the thread from all others.
                if lane.work_failed():
                    log.exception("picture_failed", camera_id=str(lane.config.camera_id))
