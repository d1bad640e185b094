"""Takes the screenshots for docs/console.md with the test account, in Chromium.

python -m tests.e2e.console.pictures
"""

import io
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from common.timestamps import now_ms
from deploy.local.servers.postgres import PostgresServer
from tests.e2e.console.browser import CHROMIUM, ConsolePage, opened_page
from tests.e2e.console.footage import SEEN
from tests.e2e.console.scene import Scene, furnish
from tests.e2e.console.stack import ConsoleStack, console_stack, passed
from tests.integration.api.application import NO_LIMITS
from tests.services.clickhouse import ClickHouseService
from tests.services.clickhouse import create_database as create_clickhouse
from tests.services.postgres import create_database as create_postgres
from tests.services.postgres import postgres_process
from tests.services.s3 import fresh_bucket, s3_process, settings_of

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "images" / "console"
_COLOURS = 256
_WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
_DARK: dict[str, Any] = {**_WIDE, "color_scheme": "dark"}
_PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}}
_TALL: dict[str, Any] = {"viewport": {"width": 1440, "height": 2250}}
_TRIED = re.compile(r"Would have triggered \d+ times?\.")
_TRIAL_MS = 60_000
_SETTLE_MS = 4000


def main(kinds: list[str]) -> None:
    """Start the servers, fill the account, and take the screenshots of ``kinds`` (empty: all)."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        folder = Path(held.enter_context(TemporaryDirectory(prefix="platestream-pictures-")))
        postgres = held.enter_context(postgres_process(folder))
        assert isinstance(postgres.server, PostgresServer)
        clickhouse = held.enter_context(ClickHouseService(folder))
        s3 = held.enter_context(s3_process(folder))
        stack = held.enter_context(
            console_stack(
                create_postgres(postgres.server.url("postgres")),
                create_clickhouse(clickhouse.address),
                fresh_bucket(settings_of(s3)),
                limits=NO_LIMITS,
            )
        )
        scene = furnish(stack)
        playwright = held.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, take in {
            "wide": _wide,
            "alert": _alert,
            "dark": _dark,
            "telephone": _telephone,
        }.items():
            if name in kinds or not kinds:
                take(browser, stack, scene)
        browser.close()


def _wide(browser: Browser, stack: ConsoleStack, scene: Scene) -> None:
    history = f"/search?plate={scene.newest.plate}&match=exact&view=history"
    with opened_page(browser, stack, **_WIDE) as page:
        page.go("/")
        _take(page, "log-in")
        page.log_in(scene.account)
        _take(page, "live")
        for name, path in {
            "search": "/search",
            "history": history,
            "recognition": f"/recognitions/{scene.newest.id}",
            "cameras": "/cameras?view=wall",
            "camera": f"/cameras/{scene.cameras[0].id}",
            "webhook": f"/webhooks/{scene.webhook_id}",
            "keys": "/keys",
            "people": "/people",
            "audit": "/audit",
            "account": "/account",
            "health": "/health",
        }.items():
            page.go(path)
            _take(page, name)


def _alert(browser: Browser, stack: ConsoleStack, scene: Scene) -> None:
    with opened_page(browser, stack, **_TALL) as page:
        page.log_in(scene.account, f"/alerts/{scene.alert_id}")
        page.sees("Overnight:")
        page.press("Run test")
        # The table's name contains the text too. The button reappears after the last call.
        page.page.get_by_text(_TRIED).wait_for(timeout=_TRIAL_MS)
        page.page.get_by_role("button", name="Run test", exact=True).wait_for(timeout=_TRIAL_MS)
        _take(page, "alert")


def _dark(browser: Browser, stack: ConsoleStack, scene: Scene) -> None:
    with opened_page(browser, stack, **_DARK) as page:
        page.log_in(scene.account, "/analytics")
        _take(page, "analytics-dark")


def _telephone(browser: Browser, stack: ConsoleStack, scene: Scene) -> None:
    with opened_page(browser, stack, **_PHONE) as page:
        page.log_in(scene.account)
        for number in range(3):
            camera = scene.cameras[number]
            row = passed(
                scene.account, camera.id, camera.name, number % len(SEEN), captured_ms=now_ms()
            )
            stack.put_images(row, number)
            stack.publish(row)
        _take(page, "live-telephone")


def _take(page: ConsolePage, name: str) -> None:
    page.page.wait_for_timeout(_SETTLE_MS)
    shot = Image.open(io.BytesIO(page.page.screenshot()))
    few = shot.convert("RGB").quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=2)
    few.save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
