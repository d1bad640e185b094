"""``python -m ingest.processes.program FD CRASH_FD PARENT_PID``: captures cameras for a worker.

:mod:`ingest.processes.process` starts this program, which ends when the worker ends. It reads
untrusted data, so it has no secrets except stream URLs, and its resources are limited.
"""

import ctypes
import faulthandler
import os
import resource
import signal
import socket
import sys
import threading
from collections import Counter, deque
from functools import partial
from typing import Final, NoReturn

import structlog

from common.logs import configure_logging
from common.settings import ProcessSettings
from ingest.capture.frame_sampler import FrameSampler
from ingest.capture.hardware import VideoDevice, find_device
from ingest.capture.messages import (
    Alive,
    Configure,
    Connected,
    Disconnected,
    Dropped,
    Report,
    Running,
    Sampled,
    Start,
    Stop,
    Stopped,
    Update,
    framed,
    read_command,
)
from ingest.capture.reading import CameraConnection, CapturedFrame, FrameReader
from ingest.clocks import MonotonicWallClock
from ingest.processes.limits import limit_process

log = structlog.get_logger(__name__)

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_FILES_FOR_ALL: Final = 64
_FILES_PER_CAPTURE: Final = 32
_FILES_PER_DEVICE: Final = 32
"""Number of files that a driver opens for each decoded stream."""
_ALIVE_SECONDS: Final = 1.0
_MAX_WAITING_FRAMES: Final = 16
"""Maximum number of a camera's frames that wait for the worker: a second or two of video."""


class ReportSender:
    """Sends reports in order, from a separate thread. Thread-safe. Callers never wait.

    If too many frames of a camera are waiting, the oldest frame is dropped.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Start the sending thread."""
        self._connection = connection
        self._waiting: deque[Report] = deque()
        self._frames: Counter[int] = Counter()
        self._left: Counter[int] = Counter()
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="reports", daemon=True).start()

    def put(self, report: Report) -> None:
        """Queue a report."""
        with self._changed:
            if isinstance(report, Sampled):
                self._drop_oldest(report.number)
                self._frames[report.number] += 1
            self._waiting.append(report)
            self._changed.notify()

    def _drop_oldest(self, number: int) -> None:
        if self._frames[number] < _MAX_WAITING_FRAMES:
            return
        oldest = next(r for r in self._waiting if isinstance(r, Sampled) and r.number == number)
        self._waiting.remove(oldest)
        self._frames[number] -= 1
        self._left[number] += 1

    def _run(self) -> None:
        while True:
            report = self._next_report()
            try:
                self._connection.sendall(framed(report))
            except OSError:
                _end()

    def _next_report(self) -> Report:
        with self._changed:
            while not self._waiting:
                if not self._changed.wait(_ALIVE_SECONDS):
                    return Alive()
            if self._left:
                return Dropped(
                    number=(number := next(iter(self._left))), count=self._left.pop(number)
                )
            report = self._waiting.popleft()
            if isinstance(report, Sampled):
                self._frames[report.number] -= 1
            elif isinstance(report, Stopped):
                self._frames.pop(report.number, None)
            return report


class CaptureProgram:
    """The captures of one process, by number. Call all methods in the main thread."""

    def __init__(
        self, settings: Configure, reports: ReportSender, device: VideoDevice | None
    ) -> None:
        self._settings = settings
        self._device = device
        self._reports = reports
        self._now = MonotonicWallClock()
        self._readers: dict[int, FrameReader] = {}
        self._samplers: dict[int, FrameSampler] = {}

    def begin(self, command: Start) -> None:
        """Start a capture."""
        number = command.number
        sampler = FrameSampler(number, self._settings.frames, command.sample_fps, self._reports.put)
        reader = FrameReader(
            command.name, command.url, self._settings.reader, self._now, self._device
        )
        self._samplers[number], self._readers[number] = sampler, reader
        reader.start(partial(self._follow, number, sampler))

    def adjust(self, command: Update) -> None:
        """Set a capture's sample rate."""
        sampler = self._samplers.get(command.number)
        if sampler is not None:
            sampler.sample_fps = command.sample_fps

    def stop_capture(self, command: Stop) -> None:
        """Stop a capture without waiting for its end."""
        reader = self._readers.pop(command.number, None)
        self._samplers.pop(command.number, None)
        if reader is not None:
            reader.stop()

    def _follow(self, number: int, sampler: FrameSampler, reader: FrameReader) -> None:
        """Process a reader's connections, in the reader's thread, until the reader is stopped."""
        self._reports.put(Running(number=number, thread_id=threading.get_ident()))
        for connection in reader.connections():
            with connection:
                self._read(number, sampler, connection)
            if not connection.is_stopped:
                self._reports.put(Disconnected(number=number, fault=connection.error_code.name))
        self._reports.put(Stopped(number=number))

    def _read(self, number: int, sampler: FrameSampler, connection: CameraConnection) -> None:
        # This is a separate function, so that no decoded frame stays in memory between connections.
        for event in connection:
            if isinstance(event, CapturedFrame):
                sampler.process(event)
                connection.reduce_decoding(sampler.is_still and self._settings.frames.may_reduce)
            else:
                sampler.connected()
                self._reports.put(Connected(number=number))


def main() -> None:
    """Run until the worker closes the connection or dies."""
    descriptor, crash_descriptor, parent_pid = map(int, sys.argv[1:])
    _die_with_parent(parent_pid)
    faulthandler.enable(crash_descriptor, all_threads=True)
    connection = socket.socket(fileno=descriptor)
    commands = connection.makefile("rb")

    def read_exactly(size: int) -> bytes:
        data = commands.read(size)
        if len(data) < size:
            _end()
        return data

    settings = read_command(read_exactly)
    assert isinstance(settings, Configure), "the first command must be Configure"
    configure_logging(ProcessSettings(log_level=settings.log_level, log_format=settings.log_format))
    # Do this before setting limits: drivers reserve address space many times the machine's memory.
    device = find_device(settings.reader.hardware)
    per_capture = _FILES_PER_CAPTURE + (_FILES_PER_DEVICE if device is not None else 0)
    files = _FILES_FOR_ALL + per_capture * settings.max_captures
    limit_process(settings.memory_bytes, {resource.RLIMIT_NOFILE: files})
    program = CaptureProgram(settings, ReportSender(connection), device)
    while True:
        match read_command(read_exactly):
            case Start() as command:
                program.begin(command)
            case Update() as command:
                program.adjust(command)
            case Stop() as command:
                program.stop_capture(command)
            case Configure():
                raise AssertionError("the process has already been configured")


def _end() -> NoReturn:
    # Do not wait for threads, because a reader may be waiting in FFmpeg for a hung camera.
    os._exit(0)


def _die_with_parent(parent_pid: int) -> None:
    """Make the kernel kill this process when its parent dies, even by ``kill -9``.

    **Source:** prctl(2), PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS.
    """
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # The worker handles SIGINT, and then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent_pid:
        _end()


if __name__ == "__main__":
    main()
