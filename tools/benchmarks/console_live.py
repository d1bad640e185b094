"""The console's live view while passes come in: how soon each is shown, frames, memory.

Part of ``python -m tools.benchmarks.console_pages``. Passes have crops in S3, which are stored
before the measurement; each is written to ClickHouse and told to the stream as it comes.
"""

import statistics
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page

from common.records.recognitions import Recognition
from common.timestamps import now_ms
from tests.e2e.console.browser import opened_page
from tests.e2e.console.footage import SEEN
from tests.e2e.console.scene import Scene
from tests.e2e.console.stack import ConsoleStack, passed

OBSERVERS = Path(__file__).with_name("console_observers.js")
"""What notes in the page what its browser sees."""

_VIEWPORT: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
_SAMPLE_SECONDS = 20
_SETTLE_SECONDS = 5
_AHEAD_MS = 1000
_MEBIBYTE = 1 << 20
_HOUR_SECONDS = 3600


@dataclass
class _Feed:
    """Passes at an even rate, from a thread of its own. ``told`` is when each went out, Unix ms."""

    stack: ConsoleStack
    rows: list[Recognition]
    rate: int
    told: dict[str, float] = field(default_factory=dict)
    most_at_once: int = 0

    def run(self) -> None:
        """Send all rows, those together that are due together: a batch is a write of ClickHouse."""
        began, sent = time.monotonic(), 0
        while sent < len(self.rows):
            time.sleep(max(0.0, began + sent / self.rate - time.monotonic()))
            due = max(sent, int((time.monotonic() - began) * self.rate)) + 1
            batch = self.rows[sent:due]
            now = time.time() * 1000
            self.told.update((str(row.id), now) for row in batch)
            self.most_at_once = max(self.most_at_once, len(batch))
            self.stack.publish(*batch)
            sent += len(batch)


@dataclass(frozen=True)
class _Memory:
    """What a page holds after its garbage is collected."""

    at_seconds: float
    heap_mebibytes: float
    nodes: int
    listeners: int


def measure(browser: Browser, stack: ConsoleStack, scene: Scene, rate: int, seconds: int) -> None:
    """Watch the live view for so long, and print what was seen."""
    rows = _rows(stack, scene, rate * seconds)
    with opened_page(browser, stack, **_VIEWPORT) as console:
        page = console.page
        page.add_init_script(path=OBSERVERS)
        console.log_in(scene.account)
        console.sees("live")
        page.wait_for_timeout(_SETTLE_SECONDS * 1000)
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.enable")
        feed = _Feed(stack, rows, rate)
        thread = threading.Thread(target=feed.run, name="feed")
        page.evaluate("window.__seen.begin()")
        began = time.monotonic()
        thread.start()
        memory = [_sample(page, session, began)]
        while thread.is_alive():
            page.wait_for_timeout(_SAMPLE_SECONDS * 1000)
            memory.append(_sample(page, session, began))
        thread.join()
        page.wait_for_timeout(_SETTLE_SECONDS * 1000)
        seen = page.evaluate("window.__seen")
        _print(feed, seen, memory)
        console.complaints.clear()


def _rows(stack: ConsoleStack, scene: Scene, count: int) -> list[Recognition]:
    """Return passes that come one after the other, with their crops stored."""
    rows, begin = [], now_ms() + _AHEAD_MS
    for number in range(count):
        camera, seen = scene.cameras[number % len(scene.cameras)], number % len(SEEN)
        row = passed(
            scene.account,
            camera.id,
            camera.name,
            seen,
            captured_ms=begin + number,
            plate=f"LV{number:05}",
        )
        stack.put_crop(row, seen)
        rows.append(row)
    return rows


def _sample(page: Page, session: CDPSession, began: float) -> _Memory:
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"] / _MEBIBYTE
    counts = session.send("Memory.getDOMCounters")
    # Collecting is ours: it is no gap of the page's.
    page.evaluate("window.__seen.skip()")
    return _Memory(time.monotonic() - began, used, counts["nodes"], counts["jsEventListeners"])


def _print(feed: _Feed, seen: dict[str, Any], memory: list[_Memory]) -> None:
    shown: dict[str, float] = seen["shown"]
    took = sorted(shown[one] - at for one, at in feed.told.items() if one in shown)
    missing = sum(one not in shown for one in feed.told)
    print(
        f"\nlive view, {feed.rate} passes a second, {len(feed.told)} of them"
        f" (at most {feed.most_at_once} at once)\n"
        "\n| what | seen |\n|---|---|\n"
        f"| row to shown, p50 / p95 / max ms | {statistics.median(took):.0f} /"
        f" {took[int(len(took) * 0.95)]:.0f} / {took[-1]:.0f} |\n"
        f"| never shown | {missing} |\n"
        f"| longest gap between frames, ms | {seen['gap']:.0f} |\n"
        f"| gaps over 100 ms, of frames | {seen['gaps']} of {seen['frames']} |\n"
        f"| longest task, ms | {seen['longest']:.0f} |\n"
        f"| layout shift, the list of passes aside | {seen['shifted']:.3f} |\n"
        f"| heap after collection, MiB: first, half, last | {_heap(memory)} |\n"
        f"| growth in the second half, MiB an hour | {_growth(memory):.1f} |\n"
        "\n| s | heap MiB | nodes | listeners |\n|---|---|---|---|"
    )
    for one in memory:
        print(
            f"| {one.at_seconds:.0f} | {one.heap_mebibytes:.2f} | {one.nodes} | {one.listeners} |"
        )


def _heap(memory: list[_Memory]) -> str:
    chosen = (memory[0], memory[len(memory) // 2], memory[-1])
    return ", ".join(f"{one.heap_mebibytes:.2f}" for one in chosen)


def _growth(memory: list[_Memory]) -> float:
    later = memory[len(memory) // 2 :]
    if len(later) < 2:
        return 0.0
    slope, _ = statistics.linear_regression(
        [one.at_seconds for one in later], [one.heap_mebibytes for one in later]
    )
    return slope * _HOUR_SECONDS
