"""A connection to a camera has its time and its bytes until the next picture, and no more."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from ingest.faults import CaptureError, CaptureFault
from ingest.watch import BYTES_BETWEEN_FRAMES, FRAME_SECONDS, KEY_FRAME_SECONDS, Watch


@dataclass
class Clock:
    seconds: float = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> Watch:
    watch = Watch(clock)
    watch.begin(10)
    return watch


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def _fault(step: Callable[[], object]) -> CaptureFault:
    with pytest.raises(CaptureError) as caught:
        step()
    return caught.value.fault


def test_each_step_takes_no_longer_than_what_is_left(watch: Watch, clock: Clock) -> None:
    assert watch.seconds(5) == 5
    clock.seconds += 7
    assert watch.seconds(5) == pytest.approx(3)


def test_a_connection_that_does_not_open_could_not_be_reached(watch: Watch, clock: Clock) -> None:
    clock.seconds += 10
    assert _fault(watch.check) is CaptureFault.UNREACHABLE


def test_an_open_connection_has_time_until_each_picture(watch: Watch, clock: Clock) -> None:
    for _ in range(3):
        watch.await_frame()
        clock.seconds += FRAME_SECONDS - 1
        watch.check()
    clock.seconds += 1
    assert _fault(watch.check) is CaptureFault.SILENT


def test_a_key_picture_has_less_time(watch: Watch, clock: Clock) -> None:
    watch.await_frame(key_frame=True)
    clock.seconds += KEY_FRAME_SECONDS - 1
    watch.check()
    clock.seconds += 1
    assert _fault(watch.check) is CaptureFault.SILENT


def test_what_comes_between_two_pictures_is_bounded(watch: Watch) -> None:
    for _ in range(3):
        watch.count(BYTES_BETWEEN_FRAMES)
        watch.await_frame()
    watch.count(BYTES_BETWEEN_FRAMES)
    assert _fault(lambda: watch.count(1)) is CaptureFault.TOO_MUCH


def test_what_ended_a_connection_is_not_forgotten_before_the_next(
    watch: Watch, clock: Clock
) -> None:
    clock.seconds += 10
    assert _fault(watch.check) is CaptureFault.UNREACHABLE
    watch.await_frame()
    assert _fault(watch.check) is watch.over is CaptureFault.UNREACHABLE

    watch.begin(10)
    watch.check()
    assert watch.over is None


def test_a_stopped_watch_lets_nothing_begin(watch: Watch) -> None:
    watch.stop()
    watch.begin(10)
    assert _fault(watch.check) is CaptureFault.ENDED


def test_a_stop_breaks_off_what_waits_for_a_byte(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    here, _ = ends
    watch, waits = Watch(), threading.Event()
    heard: list[bytes] = []

    def wait() -> None:
        with watch.waiting_on(here, 30):
            waits.set()
            heard.append(here.recv(1))

    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(5)
    watch.stop()
    thread.join(5)
    assert heard == [b""]


def test_a_stop_leaves_what_nobody_waits_for(
    watch: Watch, ends: tuple[socket.socket, socket.socket]
) -> None:
    here, there = ends
    with watch.waiting_on(here, 1):
        assert 0 < (here.gettimeout() or 0) <= 1
    watch.stop()
    here.sendall(b"x")
    assert there.recv(1) == b"x"


def test_a_wait_to_the_end_of_the_time_is_told_as_that(
    watch: Watch, clock: Clock, ends: tuple[socket.socket, socket.socket]
) -> None:
    def wait() -> None:
        with watch.waiting_on(ends[0], 5):
            clock.seconds += 10
            raise TimeoutError

    assert _fault(wait) is CaptureFault.UNREACHABLE
