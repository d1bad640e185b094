"""The recognition stage after minutes of downtime, while two cameras keep sending.

``OUTAGE_SECONDS=300 make fault`` takes as long as reading the backlog (see docs/operations.md).
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from uuid import UUID, uuid4

import pytest

from common.timestamps import now_ms
from tests.integration.streams.conftest import four_partitions
from tests.integration.streams.recognition.cameras import FRAME_MS, Cameras, Outcome
from tests.integration.streams.recognition.conftest import StartStage
from tests.integration.streams.recognition.scenes import PLATES, Parked, car_scene, jpeg

OUTAGE_SECONDS = int(os.environ.get("OUTAGE_SECONDS") or 0)

pytestmark = [
    pytest.mark.fault,
    pytest.mark.skipif(not OUTAGE_SECONDS, reason="takes minutes: OUTAGE_SECONDS=300"),
    pytest.mark.timeout(600 + 10 * OUTAGE_SECONDS),
]

partition_count = four_partitions

_PASS_EVERY_MS, _PASS_FRAMES = 10_000, 11
_FRESH_MS = 10_000


@cache
def picture(plate: str | None, number: int) -> bytes:
    cars = [] if plate is None else [Parked(plate, x_px=340 + 60 * number)]
    return jpeg(car_scene(cars, seed=number))


def send_frame(cameras: Cameras, camera: UUID, begin_ms: int, number: int) -> None:
    """Send a camera's frame. There are five per second, with a vehicle every ten seconds."""
    turn, since_ms = divmod(number * FRAME_MS, _PASS_EVERY_MS)
    of_pass = since_ms // FRAME_MS
    plate = PLATES[turn % len(PLATES)] if of_pass < _PASS_FRAMES else None
    image = picture(plate, of_pass % _PASS_FRAMES)
    cameras.send(camera, begin_ms + number * FRAME_MS, image, is_in_time=True)


@contextmanager
def going_on(cameras: Cameras, of: list[UUID], begin_ms: int, first: int) -> Iterator[None]:
    """Send frames on time while the block runs, starting with number ``first``."""
    is_over = threading.Event()

    def send() -> None:
        number = first
        while not is_over.is_set():
            for camera in of:
                send_frame(cameras, camera, begin_ms, number)
            number += 1
            is_over.wait(max(0, begin_ms + number * FRAME_MS - now_ms()) / 1000)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        is_over.set()
        sending.join()


def test_after_minutes_each_pass_comes_out_once(
    start_stage: StartStage, cameras: Cameras, outcome: Outcome
) -> None:
    both = [uuid4(), uuid4()]
    begin_ms = now_ms() - OUTAGE_SECONDS * 1000
    first = OUTAGE_SECONDS * 1000 // FRAME_MS
    for number in range(first):
        for camera in both:
            send_frame(cameras, camera, begin_ms, number)
    with going_on(cameras, both, begin_ms, first):
        start_stage(recognition_workers="2", **{"streams.recognition.app.DEADLINE_MS": "20000"})
        outcome.until("late readings", lambda: any(r.late for r in outcome.readings), 120)
        started = time.monotonic()

        def is_caught_up() -> bool:
            gaps = {r.frame.partition for r in outcome.readings if r.late}
            return gaps == set(outcome.closed_gaps)

        outcome.until("the end of the gap", is_caught_up, 5 * OUTAGE_SECONDS + 120)
        took_seconds = time.monotonic() - started
        until_ms = now_ms()
        outcome.until(
            "later passes",
            lambda: (
                {
                    r.camera_id
                    for r in outcome.recognitions
                    if r.captured_ms > until_ms + _PASS_EVERY_MS
                }
                == set(both)
            ),
        )

    turns = (until_ms - begin_ms) // _PASS_EVERY_MS
    expected = [PLATES[turn % len(PLATES)] for turn in range(turns)]
    for camera in both:
        passes = {r.id: r for r in outcome.recognitions if r.camera_id == camera}
        found = [r.plate for r in sorted(passes.values(), key=lambda r: r.first_seen_ms)]
        assert found[:turns] == expected
        assert min(r.readings_count for r in passes.values()) >= 2
    fresh = [
        read_ms - r.captured_ms
        for read_ms, r in zip(outcome.read_at_ms, outcome.readings, strict=True)
        if not r.late
    ]
    assert max(fresh) <= _FRESH_MS
    looked_at = sum(not r.stale for r in outcome.readings)
    # pytest -s shows this output.
    sys.stdout.write(
        f"{turns} passes of each of two cameras; "
        f"fresh frames {max(fresh) / 1000:.1f} s late at most, "
        f"caught up after {took_seconds:.0f} s, "
        f"{looked_at} of {len(outcome.readings)} frames looked at\n"
    )
