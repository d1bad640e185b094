"""Which capture process has which camera, and what follows when one of them ends."""

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
"""A process that reports nothing for so long hangs. In turns of the pool, so that a machine that
slept is not taken for that."""

_IDLE_SECONDS: Final = 20.0
_START_AGAIN_SECONDS: Final = 1.0
"""Before the next try where the machine has no room for a process."""


_QUARANTINE: Final = RetryPolicy(
    first_pause_seconds=10.0, longest_pause_seconds=900.0, spread=(0.75, 1.25)
)
_ACQUITTED_SECONDS: Final = 120.0
"""A capture under suspicion that lets its process run for so long is a good one."""


ReportHandler = Callable[["Capture", Report], None]
"""Handles the reports of a capture that concern its camera, in the thread of its process."""


@dataclass(eq=False)
class Capture:
    """One stream address that is captured until it is stopped. Make it with
    :meth:`CapturePool.capture`.
    """

    number: int
    name: str
    url: StreamUrl
    sample_fps: float
    on_report: ReportHandler
    pool: "CapturePool"
    ended: threading.Event = field(default_factory=threading.Event)
    # The keeper's alone.
    is_stopped: bool = False
    is_suspect: bool = False
    thread_id: int = 0
    begun_seconds: float = 0.0
    due_seconds: float = 0.0
    backoff: Backoff = field(default_factory=lambda: Backoff(_QUARANTINE, _ACQUITTED_SECONDS))

    def start(self) -> None:
        """Begin; returns immediately, and reports come to the listener."""
        self.pool.put(lambda: self.pool.assign(self))

    def adjust(self, sample_fps: float) -> None:
        """Sample at another rate; returns immediately."""
        self.pool.put(lambda: self.pool.adjust(self, sample_fps))

    def stop(self) -> None:
        """End; returns immediately."""
        self.pool.put(lambda: self.pool.cease(self))

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the end of a capture that was stopped; returns whether it came."""
        return self.ended.wait(timeout_seconds)

    def begin(self, now_seconds: float) -> Start:
        """Return what its process is told, and note that it begins."""
        self.begun_seconds, self.thread_id = now_seconds, 0
        return Start(number=self.number, name=self.name, url=self.url, sample_fps=self.sample_fps)

    def quarantine(self, now_seconds: float) -> float:
        """Put it off until its turn, and return after how many seconds that is."""
        pause_seconds = self.backoff.next_pause_seconds(now_seconds - self.begun_seconds)
        self.due_seconds = now_seconds + pause_seconds
        return pause_seconds


@dataclass(eq=False)
class _ProcessSlot:
    """A process and its captures. ``silent_checks`` is set to 0 by the process's own thread."""

    captures: dict[int, Capture] = field(default_factory=dict)
    process: CaptureProcess | None = None
    is_for_one: bool = False
    silent_checks: int = 0
    empty_since_seconds: float | None = None


class CapturePool:
    """Starts capture processes, and starts them anew when they end.

    A process that ends takes its captures with it. The one that crashed it, where that is known, is
    quarantined: tried again after growing pauses, in a process of its own. The others go on
    together immediately. Where it is not known, each goes on in a process of its own until it has
    proven harmless, so that the one that did it harms no other again.

    Everything is done by one thread, the keeper; methods that are not said to be for others are
    its own.
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
        """Start the keeper, and the first process.

        ``on_processes`` is told how many there are, ``on_crash`` of each that ended by itself.
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
        self._keeper = threading.Thread(target=self._run, name="captures", daemon=True)
        self._keeper.start()
        # It takes a second to start: long before the worker has its cameras.
        self.put(lambda: self._new_slot(is_for_one=False))

    def capture(
        self,
        name: str,
        url: StreamUrl,
        sample_fps: float,
        on_report: ReportHandler,
    ) -> Capture:
        """Return a capture; nothing happens before its start. For any thread."""
        return Capture(next(self._numbers), name, url, sample_fps, on_report, self)

    def put(self, task: Callable[[], object]) -> None:
        """Have the keeper do something. For any thread; returns immediately."""
        self._tasks.put(task)

    def close(self, timeout_seconds: float) -> bool:
        """End all processes; returns whether they ended by themselves. For any other thread."""
        self._tasks.put(None)
        self._keeper.join(timeout_seconds)
        return not self._keeper.is_alive()

    def assign(self, capture: Capture) -> None:
        """Start a capture in a process with room."""
        if capture.is_stopped:
            return
        slot = self._slot_for(capture)
        if slot is None or slot.process is None:
            capture.due_seconds = self._seconds() + _START_AGAIN_SECONDS
            self._waiting.append(capture)
            return
        slot.captures[capture.number] = capture
        slot.empty_since_seconds = None
        slot.process.command(capture.begin(self._seconds()))

    def adjust(self, capture: Capture, sample_fps: float) -> None:
        """Set a capture's rate."""
        capture.sample_fps = sample_fps
        for process in self._processes_of(capture):
            process.command(Update(number=capture.number, sample_fps=sample_fps))

    def cease(self, capture: Capture) -> None:
        """End a capture."""
        capture.is_stopped = True
        processes = list(self._processes_of(capture))
        for process in processes:
            process.command(Stop(number=capture.number))
        if not processes:
            capture.ended.set()

    def _processes_of(self, capture: Capture) -> Iterable[CaptureProcess]:
        return (p.process for p in self._slots if p.process and capture.number in p.captures)

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
            log.error("capture_process_not_started", error=type(error).__name__)
            return None
        self._slots.append(slot)
        self._on_processes(len(self._slots))
        log.info("capture_process_started", pid=slot.process.pid, suspect=is_for_one)
        return slot

    def _on_report(self, slot: _ProcessSlot, report: Report) -> None:
        """Hand a report on (the process's thread)."""
        slot.silent_checks = 0
        number = getattr(report, "number", 0)
        capture = slot.captures.get(number)
        if capture is None:
            return
        match report:
            case Running():
                capture.thread_id = report.thread_id
            case Stopped():
                self.put(lambda: self._on_ceased(slot, capture))
            case _:
                capture.on_report(capture, report)

    def _on_ceased(self, slot: _ProcessSlot, capture: Capture) -> None:
        slot.captures.pop(capture.number, None)
        capture.ended.set()

    def _on_end(self, slot: _ProcessSlot, end: ProcessEnd) -> None:
        """Have the captures of a process that ended go on."""
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
        blamed = crashed or alone
        log.error(
            "capture_process_lost",
            status=end.status,
            captures=len(live),
            blamed=blamed[0].name if blamed else "",
        )
        self._on_crash()
        # The harmless first: they are to miss as little as can be.
        for capture in live:
            if capture not in blamed:
                capture.is_suspect = capture.is_suspect or not blamed
                _report_loss(capture, CaptureErrorCode.INTERNAL)
                self.assign(capture)
        for capture in blamed:
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
            # The edge of the thread: one capture's trouble must not end the keeping of all.
            except Exception:
                log.exception("captures_not_kept")
        self._end_all()

    def _tick(self) -> None:
        now_seconds = self._seconds()
        due = [each for each in self._waiting if each.due_seconds <= now_seconds]
        self._waiting = [each for each in self._waiting if each.due_seconds > now_seconds]
        for capture in due:
            self.assign(capture)
        for slot in tuple(self._slots):
            self._acquit(slot, now_seconds)
            self._close_if_idle(slot, now_seconds)
            slot.silent_checks += 1
            if slot.silent_checks > _MAX_SILENT_CHECKS and slot.process is not None:
                log.error("capture_process_hangs", pid=slot.process.pid)
                slot.silent_checks = 0
                slot.process.kill()

    def _acquit(self, slot: _ProcessSlot, now_seconds: float) -> None:
        """Let others into the process of a suspect that turned out to be harmless."""
        if not slot.is_for_one:
            return
        for capture in slot.captures.values():
            if now_seconds - capture.begun_seconds < _ACQUITTED_SECONDS:
                return
            capture.is_suspect = False
        slot.is_for_one = False

    def _close_if_idle(self, slot: _ProcessSlot, now_seconds: float) -> None:
        """End a process in which nothing is captured any more, also what hangs there."""
        if any(not each.is_stopped for each in slot.captures.values()):
            return
        if slot.empty_since_seconds is None:
            slot.empty_since_seconds = now_seconds
        if now_seconds - slot.empty_since_seconds >= _IDLE_SECONDS and slot.process is not None:
            self._slots.remove(slot)
            slot.process.close()
            for capture in slot.captures.values():
                capture.ended.set()
            self._on_processes(len(self._slots))

    def _end_all(self) -> None:
        slots, self._slots = self._slots, []
        for slot in slots:
            if slot.process is not None:
                slot.process.close()
        for slot in slots:
            if slot.process is not None and not slot.process.join(1.0):
                slot.process.kill()


def _report_loss(capture: Capture, code: CaptureErrorCode) -> None:
    capture.on_report(capture, Disconnected(number=capture.number, fault=code.name))
