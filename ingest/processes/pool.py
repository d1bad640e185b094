"""Distributes captures over capture processes, and handles crashed processes."""

import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import structlog

from common.retry import Backoff, RetryPolicy
from common.urls.streams import StreamUrl
from ingest.capture.messages import (
    Configure,
    Disconnected,
    Report,
    Running,
    Start,
    Stop,
    Stopped,
    Update,
)
from ingest.errors import CaptureErrorCode
from ingest.processes.process import CaptureProcess, ProcessEnd

log = structlog.get_logger(__name__)

_TURN_SECONDS: Final = 1.0
_MAX_SILENT_CHECKS: Final = 30
"""Number of checks without a report after which a process has hung. Checks are counted and not
seconds, so that a suspended machine is not mistaken for a hung process."""

_IDLE_SECONDS: Final = 20.0
_START_RETRY_SECONDS: Final = 1.0
"""Delay before the next attempt if a process cannot be started."""


_QUARANTINE: Final = RetryPolicy(
    first_pause_seconds=10.0, longest_pause_seconds=900.0, spread=(0.75, 1.25)
)
_CLEARED_SECONDS: Final = 120.0
"""Time without a crash after which a suspected capture is cleared."""


ReportHandler = Callable[["Capture", Report], None]
"""Handles a capture's reports, in the thread of the capture's process."""


@dataclass(eq=False)
class Capture:
    """A capture of a stream URL until it is stopped. Created by :meth:`CapturePool.capture`."""

    number: int
    name: str
    url: StreamUrl
    sample_fps: float
    on_report: ReportHandler
    pool: "CapturePool"
    ended: threading.Event = field(default_factory=threading.Event)
    # Used only by the pool's thread.
    is_stopped: bool = False
    is_suspect: bool = False
    thread_id: int = 0
    begun_seconds: float = 0.0
    due_seconds: float = 0.0
    backoff: Backoff = field(default_factory=lambda: Backoff(_QUARANTINE, _CLEARED_SECONDS))

    def start(self) -> None:
        """Start the capture without waiting. ``on_report`` receives the capture's reports."""
        self.pool.put(lambda: self.pool.assign(self))

    def adjust(self, sample_fps: float) -> None:
        """Change the sample rate without waiting for it to take effect."""
        self.pool.put(lambda: self.pool.adjust(self, sample_fps))

    def stop(self) -> None:
        """Stop the capture without waiting for its end."""
        self.pool.put(lambda: self.pool.stop_capture(self))

    def join(self, timeout_seconds: float) -> bool:
        """Wait for a stopped capture to end. Return whether it ended in time."""
        return self.ended.wait(timeout_seconds)

    def begin(self, now_seconds: float) -> Start:
        """Record the start. Return the command for the process."""
        self.begun_seconds, self.thread_id = now_seconds, 0
        return Start(number=self.number, name=self.name, url=self.url, sample_fps=self.sample_fps)

    def quarantine(self, now_seconds: float) -> float:
        """Postpone the next attempt. Return the pause in seconds."""
        pause_seconds = self.backoff.next_pause_seconds(now_seconds - self.begun_seconds)
        self.due_seconds = now_seconds + pause_seconds
        return pause_seconds


@dataclass(eq=False)
class _ProcessSlot:
    """A process and its captures. The process's thread sets ``silent_checks`` to 0."""

    captures: dict[int, Capture] = field(default_factory=dict)
    process: CaptureProcess = field(init=False)
    is_for_one: bool = False
    silent_checks: int = 0
    empty_since_seconds: float | None = None


class CapturePool:
    """Starts capture processes, and replaces crashed processes.

    A crash ends all captures of the process. If the capture that caused the crash is known, it is
    quarantined, that is, retried at increasing intervals in a separate process. The other captures
    resume together immediately. If the cause is unknown, each capture resumes in a separate process
    until it is cleared, so that the cause cannot interrupt other captures again.

    All work is done in the pool's thread. Other threads can only call the methods that say so.
    """

    def __init__(
        self,
        settings: Configure,
        *,
        start: Callable[..., CaptureProcess] = CaptureProcess,
        seconds: Callable[[], float] = time.monotonic,
        on_processes: Callable[[int], None] = lambda _: None,
        on_crash: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the pool's thread and the first process.

        ``on_processes`` is called with the number of processes, ``on_crash`` for each crash.
        """
        self._settings = settings
        self._start_process = start
        self._seconds = seconds
        self._on_processes = on_processes
        self._on_crash = on_crash
        self._numbers = count(1)
        self._tasks: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._slots: list[_ProcessSlot] = []
        self._waiting: list[Capture] = []
        self._thread = threading.Thread(target=self._run, name="captures", daemon=True)
        self._thread.start()
        # A start takes a second, so a process is started before cameras are assigned.
        self.put(lambda: self._new_slot(is_for_one=False))

    def capture(
        self, name: str, url: StreamUrl, sample_fps: float, on_report: ReportHandler
    ) -> Capture:
        """Return a new capture, which is not started yet. Any thread can call this."""
        return Capture(next(self._numbers), name, url, sample_fps, on_report, self)

    def put(self, task: Callable[[], object]) -> None:
        """Queue a task for the pool's thread. Any thread can call this."""
        self._tasks.put(task)

    def close(self, timeout_seconds: float) -> bool:
        """End all processes. Return whether they ended in time. Not for the pool's thread."""
        self._tasks.put(None)
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def assign(self, capture: Capture) -> None:
        """Start a capture in a process with free capacity."""
        if capture.is_stopped:
            return
        slot = self._slot_for(capture)
        if slot is None:
            capture.due_seconds = self._seconds() + _START_RETRY_SECONDS
            self._waiting.append(capture)
            return
        slot.captures[capture.number] = capture
        slot.empty_since_seconds = None
        slot.process.command(capture.begin(self._seconds()))

    def adjust(self, capture: Capture, sample_fps: float) -> None:
        """Set a capture's sample rate."""
        capture.sample_fps = sample_fps
        for process in self._processes_of(capture):
            process.command(Update(number=capture.number, sample_fps=sample_fps))

    def stop_capture(self, capture: Capture) -> None:
        """Stop a capture."""
        capture.is_stopped = True
        processes = list(self._processes_of(capture))
        for process in processes:
            process.command(Stop(number=capture.number))
        if not processes:
            capture.ended.set()

    def _processes_of(self, capture: Capture) -> Iterable[CaptureProcess]:
        return (p.process for p in self._slots if capture.number in p.captures)

    def _slot_for(self, capture: Capture) -> _ProcessSlot | None:
        if not capture.is_suspect:
            for slot in self._slots:
                live = sum(not each.is_stopped for each in slot.captures.values())
                if not slot.is_for_one and live < self._settings.max_captures:
                    return slot
        return self._new_slot(is_for_one=capture.is_suspect)

    def _new_slot(self, *, is_for_one: bool) -> _ProcessSlot | None:
        slot = _ProcessSlot(is_for_one=is_for_one)
        try:
            slot.process = self._start_process(
                self._settings,
                lambda _, report: self._on_report(slot, report),
                lambda _, end: self.put(lambda: self._on_end(slot, end)),
            )
        except OSError as error:
            log.error("capture_process_start_failed", error=type(error).__name__)
            return None
        self._slots.append(slot)
        self._on_processes(len(self._slots))
        log.info("capture_process_started", pid=slot.process.pid, suspect=is_for_one)
        return slot

    def _on_report(self, slot: _ProcessSlot, report: Report) -> None:
        """Forward a report. Called by the process's thread."""
        slot.silent_checks = 0
        number = getattr(report, "number", 0)
        capture = slot.captures.get(number)
        if capture is None:
            return
        match report:
            case Running():
                capture.thread_id = report.thread_id
            case Stopped():
                self.put(lambda: self._on_stopped(slot, capture))
            case _:
                capture.on_report(capture, report)

    def _on_stopped(self, slot: _ProcessSlot, capture: Capture) -> None:
        slot.captures.pop(capture.number, None)
        capture.ended.set()

    def _on_end(self, slot: _ProcessSlot, end: ProcessEnd) -> None:
        """Resume the captures of a process that ended."""
        if slot not in self._slots:
            return
        self._slots.remove(slot)
        self._on_processes(len(self._slots))
        for capture in slot.captures.values():
            if capture.is_stopped:
                capture.ended.set()
        live = [each for each in slot.captures.values() if not each.is_stopped]
        crashed = [each for each in live if each.thread_id == end.crashed_thread_id]
        alone = live if len(live) == 1 else []
        suspects = crashed or alone
        log.error(
            "capture_process_lost",
            status=end.status,
            captures=len(live),
            suspect=suspects[0].name if suspects else "",
        )
        self._on_crash()
        # First resume the captures that are not suspected, so that they miss as little as possible.
        for capture in live:
            if capture not in suspects:
                capture.is_suspect = capture.is_suspect or not suspects
                _report_loss(capture, CaptureErrorCode.INTERNAL)
                self.assign(capture)
        for capture in suspects:
            self._quarantine(capture)

    def _quarantine(self, capture: Capture) -> None:
        pause_seconds = capture.quarantine(self._seconds())
        capture.is_suspect = True
        self._waiting.append(capture)
        log.error("camera_quarantined", reader=capture.name, seconds=round(pause_seconds, 1))
        _report_loss(capture, CaptureErrorCode.CRASH)

    def _run(self) -> None:
        turn_seconds = time.monotonic() + _TURN_SECONDS
        while True:
            try:
                task = self._tasks.get(timeout=max(0.0, turn_seconds - time.monotonic()))
            except queue.Empty:
                task = self._tick
                turn_seconds = time.monotonic() + _TURN_SECONDS
            if task is None:
                break
            try:
                task()
            # An error of one capture must not end the thread, which manages all captures.
            except Exception:
                log.exception("capture_management_failed")
        self._end_all()

    def _tick(self) -> None:
        now_seconds = self._seconds()
        due = [each for each in self._waiting if each.due_seconds <= now_seconds]
        self._waiting = [each for each in self._waiting if each.due_seconds > now_seconds]
        for capture in due:
            self.assign(capture)
        for slot in tuple(self._slots):
            self._clear_suspects(slot, now_seconds)
            self._close_if_idle(slot, now_seconds)
            slot.silent_checks += 1
            if slot.silent_checks > _MAX_SILENT_CHECKS:
                log.error("capture_process_hung", pid=slot.process.pid)
                slot.silent_checks = 0
                slot.process.kill()

    def _clear_suspects(self, slot: _ProcessSlot, now_seconds: float) -> None:
        """Clear suspects whose process has not crashed, and allow other captures in the process."""
        if not slot.is_for_one:
            return
        for capture in slot.captures.values():
            if now_seconds - capture.begun_seconds < _CLEARED_SECONDS:
                return
            capture.is_suspect = False
        slot.is_for_one = False

    def _close_if_idle(self, slot: _ProcessSlot, now_seconds: float) -> None:
        """End a process without active captures, even if a stopped capture hangs."""
        if any(not each.is_stopped for each in slot.captures.values()):
            return
        if slot.empty_since_seconds is None:
            slot.empty_since_seconds = now_seconds
        if now_seconds - slot.empty_since_seconds >= _IDLE_SECONDS:
            self._slots.remove(slot)
            slot.process.close()
            for capture in slot.captures.values():
                capture.ended.set()
            self._on_processes(len(self._slots))

    def _end_all(self) -> None:
        slots, self._slots = self._slots, []
        for slot in slots:
            slot.process.close()
        for slot in slots:
            if not slot.process.join(1.0):
                slot.process.kill()


def _report_loss(capture: Capture, code: CaptureErrorCode) -> None:
    capture.on_report(capture, Disconnected(number=capture.number, fault=code.name))
