"""A connection has a limited time and a limited number of bytes until the next frame."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from ingest.capture.deadline import (
    BYTES_BETWEEN_FRAMES,
    FRAME_SECONDS,
    KEY_FRAME_SECONDS,
    ConnectionDeadline,
)
from ingest.errors import CaptureError, CaptureErrorCode
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def deadline(clock: Clock) -> ConnectionDeadline:
    deadline = ConnectionDeadline(clock)
    deadline.start(10)
    return deadline


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def _fault(step: Callable[[], object]) -> CaptureErrorCode:
    with pytest.raises(CaptureError) as caught:
        step()
    return caught.value.code


def test_each_step_takes_no_longer_than_what_is_left(
    deadline: ConnectionDeadline, clock: Clock
) -> None:
    assert deadline.remaining_seconds(5) == 5
    clock.seconds += 7
    assert deadline.remaining_seconds(5) == pytest.approx(3)


def test_a_connection_that_does_not_open_could_not_be_reached(
    deadline: ConnectionDeadline, clock: Clock
) -> None:
    clock.seconds += 10
    assert _fault(deadline.check) is CaptureErrorCode.UNREACHABLE


def test_an_open_connection_has_time_until_each_frame(
    deadline: ConnectionDeadline, clock: Clock
) -> None:
    for _ in range(3):
        deadline.await_frame()
        clock.seconds += FRAME_SECONDS - 1
        deadline.check()
    clock.seconds += 1
    assert _fault(deadline.check) is CaptureErrorCode.SILENT


def test_a_key_frame_has_less_time(deadline: ConnectionDeadline, clock: Clock) -> None:
    deadline.await_frame(key_frame=True)
    clock.seconds += KEY_FRAME_SECONDS - 1
    deadline.check()
    clock.seconds += 1
    assert _fault(deadline.check) is CaptureErrorCode.SILENT


def test_what_comes_between_two_frames_is_bounded(deadline: ConnectionDeadline) -> None:
    for _ in range(3):
        deadline.count_bytes(BYTES_BETWEEN_FRAMES)
        deadline.await_frame()
    deadline.count_bytes(BYTES_BETWEEN_FRAMES)
    assert _fault(lambda: deadline.count_bytes(1)) is CaptureErrorCode.TOO_MUCH


def test_what_ended_a_connection_is_not_forgotten_before_the_next(
    deadline: ConnectionDeadline, clock: Clock
) -> None:
    clock.seconds += 10
    assert _fault(deadline.check) is CaptureErrorCode.UNREACHABLE
    deadline.await_frame()
    assert _fault(deadline.check) is deadline.expired_with is CaptureErrorCode.UNREACHABLE

    deadline.start(10)
    deadline.check()
    assert deadline.expired_with is None


def test_a_stopped_watch_lets_nothing_begin(deadline: ConnectionDeadline) -> None:
    deadline.stop()
    deadline.start(10)
    assert _fault(deadline.check) is CaptureErrorCode.ENDED


def test_a_stop_breaks_off_what_waits_for_a_byte(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    here, _ = ends
    deadline, waits = ConnectionDeadline(), threading.Event()
    heard: list[bytes] = []

    def wait() -> None:
        with deadline.guarded_wait(here, 30):
            waits.set()
            heard.append(here.recv(1))

    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(5)
    deadline.stop()
    thread.join(5)
    assert heard == [b""]


def test_a_stop_abandons_unneeded_calls(
    deadline: ConnectionDeadline, ends: tuple[socket.socket, socket.socket]
) -> None:
    here, there = ends
    with deadline.guarded_wait(here, 1):
        assert 0 < (here.gettimeout() or 0) <= 1
    deadline.stop()
    here.sendall(b"x")
    assert there.recv(1) == b"x"


def test_a_wait_to_the_end_of_the_time_is_reported_as_expired(
    deadline: ConnectionDeadline, clock: Clock, ends: tuple[socket.socket, socket.socket]
) -> None:
    def wait() -> None:
        with deadline.guarded_wait(ends[0], 5):
            clock.seconds += 10
            raise TimeoutError

    assert _fault(wait) is CaptureErrorCode.UNREACHABLE
