"""What the console's pages take in a browser, with many passes and cameras, by its own entries.

Command: ``python -m tools.benchmarks.console_pages [--passes 100000] [--cameras 200] [--rounds 5]
[--seconds 300] [--rate 20] [--only pages|live]``. Starts the API over servers of its own, fills
ClickHouse by INSERT SELECT, and opens each page in Debian's Chromium with an empty cache; then the
live view (:mod:`tools.benchmarks.console_live`). Prints tables for docs/benchmarks.md.
"""

import argparse
import logging
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import httpx
import structlog
from playwright.sync_api import Browser, sync_playwright

from common.records.cameras import CameraState
from common.timestamps import now_ms
from deploy.local.servers.postgres import PostgresServer
from tests.e2e.console.browser import CHROMIUM, ConsolePage, opened_page
from tests.e2e.console.footage import SEEN, pictures
from tests.e2e.console.scene import Scene, furnish
from tests.e2e.console.stack import ConsoleStack, console_stack
from tests.integration.api.application import NO_LIMITS
from tests.services.clickhouse import ClickHouseAddress, ClickHouseService
from tests.services.clickhouse import create_database as create_clickhouse
from tests.services.postgres import create_database as create_postgres
from tests.services.postgres import postgres_process
from tests.services.s3 import fresh_bucket, s3_process, settings_of
from tools.benchmarks import console_live
from tools.benchmarks.large_tables import DAY_MS, passes_of

_VIEWPORT: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
_DAYS = 30
_SETTLE_MS = 1500
_KEYS = ("Tab", "Tab", "Tab", "Shift+Tab")
_KEY_PAUSE_MS = 50
_LOG_IN = "/ (nobody logged in)"
_LIMITS = {"cameras_per_owner": 1000, "frames_per_second_per_owner": 5000}
# With a text that stands there once all has come.
_PAGES = {
    "/": "of {cameras} online",
    "/search": "Next page",
    "/search?plate={plate}&match=exact&view=history": "By camera",
    "/recognitions/{recognition}": "To the plate",
    "/cameras": "Fence east",
    "/cameras?view=wall": "Access road",
    "/cameras/{camera}": "Reads less than its usual hour",
    "/alerts": "Stolen at night",
    "/alerts/{alert}": "Overnight:",
    "/webhooks": "Gate controller",
    "/webhooks/{webhook}": "Make a new secret",
    "/keys": "everything",
    "/people": "Nobody is invited.",
    "/account": "granted",
    "/analytics": "Most frequent plates",
    "/audit": "logged in",
    "/health": "Access road",
}


@dataclass(frozen=True)
class Load:
    """One load of a page: ms but for ``shifted``, which is the browser's score.

    ``content`` is the first content, ``whole`` when the last of it came, ``longest`` the longest
    task, ``delay`` and ``painted`` the most between a key and its handling, and the frame after it.
    """

    content: float
    whole: float
    shifted: float
    longest: float
    delay: float
    painted: float


@contextmanager
def filled_stack(passes: int, cameras: int) -> Iterator[tuple[ConsoleStack, Scene]]:
    """Yield an API with an account of so many passes and cameras."""
    with ExitStack() as held:
        folder = Path(held.enter_context(TemporaryDirectory(prefix="platestream-console-")))
        postgres = held.enter_context(postgres_process(folder))
        assert isinstance(postgres.server, PostgresServer)
        clickhouse = held.enter_context(ClickHouseService(folder))
        database = create_clickhouse(clickhouse.address)
        s3 = held.enter_context(s3_process(folder))
        stack = held.enter_context(
            console_stack(
                create_postgres(postgres.server.url("postgres")),
                database,
                fresh_bucket(settings_of(s3)),
                limits=NO_LIMITS,
                more=_LIMITS,
            )
        )
        scene = furnish(stack)
        added = _add_cameras(stack, scene, cameras - len(scene.cameras))
        _add_passes(database, scene, added, passes)
        yield stack, scene


def _add_cameras(stack: ConsoleStack, scene: Scene, count: int) -> list[UUID]:
    headers = {"Authorization": f"Bearer {scene.account.key}"}
    added = []
    with httpx.Client(base_url=stack.address, headers=headers, timeout=60) as api:
        for number in range(count):
            body = {"name": f"Camera {number}", "rtspUrl": f"rtsp://192.168.2.{number}/1"}
            answer = api.post("/api/cameras", json=body)
            assert answer.status_code == 201, answer.text
            camera = UUID(answer.json()["camera"]["id"])
            stack.set_camera(camera, CameraState.ONLINE)
            stack.put_snapshot(scene.account.id, camera, pictures()[number % len(SEEN)].photo)
            added.append(camera)
    return added


def _add_passes(database: ClickHouseAddress, scene: Scene, cameras: list[UUID], count: int) -> None:
    client = database.client()
    end_ms = now_ms() - DAY_MS // 24
    client.command(passes_of(scene.account.id, cameras, count, (end_ms - _DAYS * DAY_MS, end_ms)))
    (found,) = client.query("SELECT count() FROM recognitions").result_rows
    print(f"{found[0]} passes, {len(cameras) + len(scene.cameras)} cameras", flush=True)
    client.close()


def measure_pages(
    browser: Browser, stack: ConsoleStack, scene: Scene, cameras: int, rounds: int
) -> None:
    """Open each page, with an empty cache each time, and print what it took."""
    places = {
        "plate": scene.newest.plate,
        "recognition": scene.newest.id,
        "camera": scene.cameras[0].id,
        "alert": scene.alert_id,
        "webhook": scene.webhook_id,
        "cameras": cameras,
    }
    print(
        "| page | first content ms | whole ms | layout shift | longest task ms | input delay ms |"
        " input to frame ms |\n|---|---|---|---|---|---|---|"
    )
    with opened_page(browser, stack, **_VIEWPORT) as page:
        page.page.add_init_script(path=console_live.OBSERVERS)
        _print(_LOG_IN, [_load(page, "/", "Log in") for _ in range(rounds)])
        page.log_in(scene.account)
        for form, text in _PAGES.items():
            path = form.format(**places)
            wanted = text.format(**places)
            _print(form, [_load(page, path, wanted) for _ in range(rounds)])
        # Complaints are the tests' business.
        page.complaints.clear()


def _load(page: ConsolePage, path: str, text: str) -> Load:
    session = page.page.context.new_cdp_session(page.page)
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.page.goto("about:blank")
    page.go(path)
    page.sees(text)
    whole = page.page.evaluate("performance.now()")
    for key in _KEYS:
        page.page.keyboard.press(key)
        page.page.wait_for_timeout(_KEY_PAUSE_MS)
    page.page.wait_for_timeout(_SETTLE_MS)
    found = page.page.evaluate("window.__seen")
    session.detach()
    names = {one.name for one in fields(Load)} - {"whole"}
    load = Load(whole=whole, **{name: found[name] for name in names})
    for shift in found["shifts"]:
        if shift["value"] > 0.001:
            print(f"  {path} moved {shift['value']:.4f} at {shift['at']:.0f}: {shift['what']}")
    return load


def _print(name: str, loads: list[Load]) -> None:
    """Print the median of the rounds, and behind it the worst."""

    def both(field: str, digits: int = 0) -> str:
        values = [getattr(load, field) for load in loads]
        return f"{statistics.median(values):.{digits}f} ({max(values):.{digits}f})"

    cells = [both("content"), both("whole"), both("shifted", 3)]
    cells += [both(field) for field in ("longest", "delay", "painted")]
    print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Fill, open, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=100_000)
    parser.add_argument("--cameras", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--only", choices=("pages", "live"))
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with (
        filled_stack(arguments.passes, arguments.cameras) as (stack, scene),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        if arguments.only != "live":
            measure_pages(browser, stack, scene, arguments.cameras, arguments.rounds)
        if arguments.only != "pages":
            console_live.measure(browser, stack, scene, arguments.rate, arguments.seconds)
        browser.close()


if __name__ == "__main__":
    main()
