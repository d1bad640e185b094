"""The encoder threads outlive the pictures that they cannot code."""

import threading
from typing import Any, cast

from structlog.testing import capture_logs

from ingest.encoders import EncoderPool
from ingest.lane import FrameLane
from tests.unit.ingest.test_lane import CONFIG

_WAIT_SECONDS = 10


class FailingLane:
    """A lane whose pictures all fail; it wants the first told only."""

    config = CONFIG

    def __init__(self, most: int) -> None:
        self.failures = 0
        self.done = threading.Event()
        self._most = most

    def work(self) -> None:
        raise MemoryError

    def work_failed(self) -> bool:
        self.failures += 1
        if self.failures == self._most:
            self.done.set()
        return self.failures == 1


def test_a_failing_lane_is_told_of_as_it_asks_and_ends_no_thread() -> None:
    lane = FailingLane(10)
    pool = EncoderPool(1)
    with capture_logs() as logs:
        for _ in range(10):
            pool.submit(cast(FrameLane, lane))
        assert lane.done.wait(_WAIT_SECONDS)
        assert pool.stop(_WAIT_SECONDS)

    assert _told(logs) == [("picture_failed", str(CONFIG.camera_id))]


def _told(logs: list[Any]) -> list[tuple[str, str]]:
    return [(line["event"], line["camera_id"]) for line in logs]
