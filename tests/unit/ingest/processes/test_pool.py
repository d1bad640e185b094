"""Assignment of cameras to processes, and the consequences if a process ends."""

import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from common.settings import LogFormat
from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.messages import (
    Alive,
    CaptureLimits,
    Command,
    Configure,
    Disconnected,
    FrameSettings,
    ReaderSettings,
    Report,
    Running,
    Start,
    Stop,
    Stopped,
    Update,
)
from ingest.errors import CaptureErrorCode
from ingest.processes.pool import Capture, CapturePool
from ingest.processes.process import CaptureProcess, ProcessEnd

ADDRESSES = StreamUrlRules(allow_loopback=True)
SETTINGS = Configure(
    reader=ReaderSettings(
        addresses=ADDRESSES,
        limits=CaptureLimits(open_timeout_seconds=1, read_timeout_seconds=1),
        reconnect_min_seconds=1,
        reconnect_max_seconds=1,
    ),
    frames=FrameSettings(
        motion_hold_seconds=None, jpeg_quality=80, max_width_px=0, snapshot_interval_seconds=5
    ),
    memory_bytes=1 << 30,
    max_captures=3,
    log_level="info",
    log_format=LogFormat.JSON,
)
URL = parse_stream_url("rtsp://127.0.0.1/live", ADDRESSES)
KILLED = ProcessEnd(-9, None)


class FakeProcess:
    """A process whose captures run in threads named after the capture's number."""

    def __init__(
        self,
        on_report: Callable[["FakeProcess", Report], None],
        on_end: Callable[["FakeProcess", ProcessEnd], None],
    ) -> None:
        self.pid = 4711
        self.commands: list[Command] = []
        self.is_closed = self.is_killed = False
        self._on_report = on_report
        self._on_end = on_end

    @property
    def captures(self) -> list[int]:
        begun = [command.number for command in self.commands if isinstance(command, Start)]
        ceased = [command.number for command in self.commands if isinstance(command, Stop)]
        return [number for number in begun if number not in ceased]

    def command(self, command: Command) -> None:
        self.commands.append(command)
        if isinstance(command, Start):
            self.say(Running(number=command.number, thread_id=command.number))

    def say(self, report: Report) -> None:
        self._on_report(self, report)

    def end(self, end: ProcessEnd) -> None:
        self._on_end(self, end)

    def close(self) -> None:
        self.is_closed = True

    def kill(self) -> None:
        self.is_killed = True

    def join(self, timeout_seconds: float) -> bool:
        return True


class Listener:
    def __init__(self) -> None:
        self.lost: list[CaptureErrorCode] = []

    def __call__(self, capture: Capture, report: Report) -> None:
        if isinstance(report, Disconnected):
            self.lost.append(report.code)


class World:
    """A pool with its processes and its clock, as a test sets them."""

    def __init__(self, *, is_full: bool = False) -> None:
        self.seconds = 1_000.0
        self.processes: list[FakeProcess] = []
        self.is_full = is_full
        self.crashes = 0
        self.listeners: dict[int, Listener] = {}
        self.pool = CapturePool(
            SETTINGS, start=self._start, seconds=lambda: self.seconds, on_crash=self._crashed
        )

    def _start(
        self, settings: Configure, on_report: Callable[..., None], on_end: Callable[..., None]
    ) -> CaptureProcess:
        if self.is_full:
            raise OSError("no room")
        self.processes.append(FakeProcess(on_report, on_end))
        return cast("CaptureProcess", self.processes[-1])

    def _crashed(self) -> None:
        self.crashes += 1

    def settle(self) -> None:
        """Wait until the keeper thread has processed its requests."""
        done: list[bool] = []
        self.pool.put(lambda: done.append(True))
        deadline = time.monotonic() + 10
        while not done:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def capture(self) -> Capture:
        listener = Listener()
        capture = self.pool.capture("camera", URL, 5, listener)
        self.listeners[capture.number] = listener
        capture.start()
        self.settle()
        return capture

    def end(self, process: FakeProcess, end: ProcessEnd) -> None:
        process.end(end)
        self.settle()
        self.settle()

    def pass_seconds(self, seconds: float) -> None:
        """Advance the clock in steps, and let the keeper thread run after each step."""
        for _ in range(round(seconds)):
            self.seconds += 1
            self.pool.put(self.pool._tick)
            self.settle()

    def where(self, capture: Capture) -> FakeProcess:
        return next(p for p in reversed(self.processes) if capture.number in p.captures)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.pool.close(5)


def test_captures_share_processes_up_to_the_setting(world: World) -> None:
    captures = [world.capture() for _ in range(4)]

    assert [len(process.captures) for process in world.processes] == [3, 1]
    captures[0].stop()
    world.settle()
    world.capture()
    assert [len(process.captures) for process in world.processes] == [3, 1]


def test_commands_reach_the_process_of_their_capture(world: World) -> None:
    first, second = world.capture(), world.capture()
    second.adjust(2.5)
    first.stop()
    world.settle()

    (process,) = world.processes
    assert process.commands[2:] == [
        Update(number=second.number, sample_fps=2.5),
        Stop(number=first.number),
    ]
    assert not first.join(0)
    process.say(Stopped(number=first.number))
    assert first.join(5)


def test_reports_reach_their_listener_only(world: World) -> None:
    first, second = world.capture(), world.capture()
    world.processes[0].say(Disconnected(number=second.number, fault="SILENT"))
    world.processes[0].say(Disconnected(number=second.number, fault="made up"))
    world.processes[0].say(Disconnected(number=999, fault="SILENT"))

    assert world.listeners[first.number].lost == []
    assert world.listeners[second.number].lost == [
        CaptureErrorCode.SILENT,
        CaptureErrorCode.INTERNAL,
    ]


def test_who_crashed_a_process_is_quarantined_and_the_others_go_on_together(world: World) -> None:
    good, bad, other = world.capture(), world.capture(), world.capture()
    world.end(world.processes[0], ProcessEnd(-6, bad.number))

    assert world.where(good) is world.where(other) is world.processes[1]
    assert bad.number not in world.processes[1].captures
    assert world.listeners[bad.number].lost == [CaptureErrorCode.CRASH]
    assert world.listeners[good.number].lost == [CaptureErrorCode.INTERNAL]
    assert world.crashes == 1


def test_pauses_of_a_quarantine_grow_and_it_is_tried_alone(world: World) -> None:
    world.capture()
    bad = world.capture()
    world.end(world.processes[0], ProcessEnd(-6, bad.number))
    pauses = []
    for _ in range(5):
        count, begun = len(world.processes), world.seconds
        while len(world.processes) == count:
            world.pass_seconds(1)
        pauses.append(world.seconds - begun)
        assert world.where(bad).captures == [bad.number]
        world.end(world.processes[-1], ProcessEnd(-6, bad.number))

    assert pauses == sorted(pauses)
    assert pauses[0] >= 7
    assert pauses[-1] >= 100
    # No other process was restarted again.
    assert world.processes[1].captures == [1]


def test_after_an_unexplained_crash_each_runs_alone_until_proven_harmless(world: World) -> None:
    first, second = world.capture(), world.capture()
    world.end(world.processes[0], KILLED)
    assert world.where(first) is not world.where(second)

    third = world.capture()
    assert world.where(third) not in (world.where(first), world.where(second))

    for _ in range(13):
        for process in world.processes[1:]:
            process.say(Alive())
        world.pass_seconds(10)
    for _ in range(6):
        world.capture()
    assert [len(process.captures) for process in world.processes[1:]] == [3, 3, 3]


def test_one_that_was_harmless_for_long_begins_with_the_first_pause_again(world: World) -> None:
    bad = world.capture()
    world.end(world.processes[0], KILLED)
    world.pass_seconds(15)
    world.end(world.processes[1], KILLED)
    world.pass_seconds(30)
    for _ in range(13):
        world.processes[2].say(Alive())
        world.pass_seconds(10)
    world.end(world.processes[2], KILLED)
    world.pass_seconds(13)

    assert world.where(bad) is world.processes[3]


def test_a_capture_that_is_stopped_while_quarantined_is_not_tried_again(world: World) -> None:
    bad = world.capture()
    world.end(world.processes[0], KILLED)
    bad.stop()
    world.settle()
    world.pass_seconds(30)

    assert bad.join(5)
    assert len(world.processes) == 1


def test_a_process_that_says_nothing_is_killed(world: World) -> None:
    capture = world.capture()
    world.pass_seconds(20)
    world.processes[0].say(Disconnected(number=capture.number, fault="SILENT"))
    world.pass_seconds(20)
    assert not world.processes[0].is_killed
    world.pass_seconds(12)

    assert world.processes[0].is_killed


def test_a_process_without_captures_is_closed_after_a_while(world: World) -> None:
    world.capture().stop()
    world.settle()
    world.pass_seconds(10)
    second = world.capture()
    assert world.where(second) is world.processes[0]
    # The process stays open while it reports that it is alive.
    for _ in range(3):
        world.processes[0].say(Alive())
        world.pass_seconds(10)
    assert not world.processes[0].is_closed

    second.stop()
    world.settle()
    world.pass_seconds(22)
    assert world.processes[0].is_closed
    assert second.join(0)


def test_without_room_for_a_process_it_is_tried_again() -> None:
    world = World(is_full=True)
    capture = world.capture()
    assert world.processes == []

    world.is_full = False
    world.pass_seconds(3)

    assert world.where(capture) is world.processes[0]
    world.pool.close(5)
