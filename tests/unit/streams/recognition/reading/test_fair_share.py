"""Frames that are skipped under overload, with a simulated worker and queue."""

from collections import Counter, deque
from collections.abc import Mapping
from uuid import UUID

import pytest

from streams.recognition.reading.fair_share import FairShare, shares

A, B, C = (UUID(int=number) for number in range(1, 4))
FAIR = tuple(UUID(int=100 + number) for number in range(10))


class Worker:
    """Reads ``capacity_hz`` frames per second. A skipped frame takes no time."""

    def __init__(self, capacity_hz: float, *, clock_error_seconds: float = 0.0) -> None:
        self.now = 0.0
        self.is_busy = False
        self.share = FairShare(lambda: self.now, readers=1, is_busy=lambda: self.is_busy)
        self._clock_error_seconds = clock_error_seconds
        self._read_seconds = 1 / capacity_hz
        self.read: Counter[UUID] = Counter()
        self.came: Counter[UUID] = Counter()
        self.worst_age_seconds: dict[UUID, float] = {}

    def run(
        self, owners: Mapping[UUID, float], *, begin: float, end: float, settled: float
    ) -> None:
        """Read the frames of each account's camera, in the order of sending."""
        frames = sorted(
            (begin + number / rate, owner)
            for owner, rate in owners.items()
            for number in range(round((end - begin) * rate))
        )
        for captured, owner in deque(frames):
            self.is_busy = self.now > captured
            self.now = max(self.now, captured)
            age_ms = round(1000 * (self.now - captured + self._clock_error_seconds))
            admitted = self.share.admits(owner, owner, round(1000 * captured), age_ms=age_ms)
            if captured >= settled:
                self.came[owner] += 1
                self.read[owner] += admitted
            if admitted:
                took = self._read_seconds
                self.now += took
                self.share.was_read(1000 * took)
                if captured >= settled:
                    worst = self.worst_age_seconds.get(owner, 0.0)
                    self.worst_age_seconds[owner] = max(worst, self.now - captured)

    def part_read(self, owner: UUID) -> float:
        return self.read[owner] / self.came[owner]


@pytest.mark.parametrize(
    ("wanted", "capacity", "expected"),
    [
        ({A: 10.0, B: 10.0}, 30.0, {}),
        ({A: 10.0, B: 40.0}, 30.0, {B: 0.5}),
        ({A: 20.0, B: 40.0, C: 2.0}, 22.0, {A: 0.5, B: 0.25}),
        ({A: 10.0, B: 10.0}, 10.0, {A: 0.5, B: 0.5}),
        ({A: 10.0, B: 0.0}, 0.0, {A: 0.0}),
    ],
)
def test_shares_are_as_even_as_can_be(
    wanted: dict[UUID, float], capacity: float, expected: dict[UUID, float]
) -> None:
    assert shares(wanted, capacity) == pytest.approx(expected)


def test_greedy_owner_loses_frames_and_ten_fair_ones_none() -> None:
    worker = Worker(capacity_hz=40.0)
    worker.run({A: 240.0, **dict.fromkeys(FAIR, 2.0)}, begin=0, end=60, settled=10)
    assert all(worker.part_read(owner) == 1.0 for owner in FAIR)
    assert 0.02 < worker.part_read(A) < 0.1
    assert max(worker.worst_age_seconds.values()) < 2.0


def test_without_the_greedy_owner_all_is_read_again() -> None:
    worker = Worker(capacity_hz=40.0)
    worker.run({A: 240.0, B: 5.0}, begin=0, end=20, settled=1000)
    worker.run({A: 5.0, B: 5.0}, begin=20, end=60, settled=32)
    assert worker.part_read(A) == worker.part_read(B) == 1.0


def test_all_is_read_late_after_an_outage() -> None:
    worker = Worker(capacity_hz=40.0)
    worker.now = 20.0
    worker.run({A: 20.0, B: 5.0}, begin=0, end=60, settled=0)
    assert worker.part_read(A) == worker.part_read(B) == 1.0
    assert worker.worst_age_seconds[B] > 10


def test_clocks_that_differ_leave_nothing_out() -> None:
    worker = Worker(capacity_hz=40.0, clock_error_seconds=30.0)
    worker.run({A: 25.0, B: 5.0}, begin=0, end=60, settled=0)
    assert worker.part_read(A) == worker.part_read(B) == 1.0


def test_one_owner_alone_has_everything_read() -> None:
    worker = Worker(capacity_hz=10.0)
    worker.run({A: 25.0}, begin=0, end=30, settled=0)
    assert worker.part_read(A) == 1.0


def test_what_is_left_out_is_spread_evenly() -> None:
    worker = Worker(capacity_hz=20.0)
    worker.run({A: 60.0, B: 2.0}, begin=0, end=20, settled=1000)
    admitted = []
    for number in range(60):
        at = 20 + number / 60
        worker.now = max(worker.now, at)
        admitted.append(worker.share.admits(A, A, round(1000 * at), age_ms=0))
    places = [number for number, one in enumerate(admitted) if one]
    gaps = [later - earlier for earlier, later in zip(places, places[1:], strict=False)]
    assert len(places) >= 10 and max(gaps) - min(gaps) <= 1
