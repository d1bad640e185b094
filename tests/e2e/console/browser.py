"""A page of the console as a person uses it. Any error in the browser fails the test."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from tests.e2e.console.stack import Account, ConsoleStack
from tests.integration.api.application import PASSWORD

CHROMIUM = "/usr/bin/chromium"
_AXE = Path(__file__).parent / "vendor" / "axe.min.js"
_AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
WAIT_MS = 15_000


class ConsolePage:
    """A page in a separate browser context, with the errors that the page logged."""

    def __init__(self, page: Page, stack: ConsoleStack) -> None:
        self.page = page
        self.stack = stack
        self.complaints: list[str] = []
        self.expected: list[str] = []
        self.is_dark = False
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def go(self, path: str) -> None:
        """Open a view directly, like a link from outside the console."""
        self.page.goto(self.stack.address + path)

    def log_in(self, account: Account, path: str = "/") -> None:
        """Open a view, complete the login form, and wait for the view."""
        self.go(path)
        self.fill("Email", account.email)
        self.fill("Password", PASSWORD)
        self.press("Log in")
        self.page.get_by_role("banner").wait_for()

    def log_out(self) -> None:
        """Log out with the user menu."""
        self.page.get_by_role("banner").locator("summary").click()
        self.press("Log out")

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label, exact=True).first.fill(text)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a list by the visible text."""
        self.page.get_by_label(label, exact=True).first.select_option(label=option)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def sees(self, text: str) -> Locator:
        """Wait until a text is visible, and return its element."""
        found = self.page.get_by_text(text).filter(visible=True).first
        found.wait_for()
        return found

    def violations(self, *rules: str) -> list[str]:
        """Return the violations that axe finds in the page, each with its first element.

        Without ``rules``, all rules are checked.
        """
        self.page.evaluate(_axe())
        only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
        found: dict[str, Any] = self.page.evaluate("(only) => axe.run(document, only)", only)
        return [
            f"{one['id']}: {one['nodes'][0]['target']} {one['nodes'][0]['failureSummary']}"
            for one in found["violations"]
        ]

    def check(self) -> None:
        """Fail if the browser logged an error that the test does not expect."""
        others = [one for one in self.complaints if not any(text in one for text in self.expected)]
        assert others == [], others


@contextmanager
def opened_page(browser: Browser, stack: ConsoleStack, **options: Any) -> Iterator[ConsolePage]:
    """Yield a page with separate cookies and storage."""
    given = {"locale": "en-GB", "timezone_id": "Europe/Lisbon", **options}
    context = browser.new_context(**given)
    try:
        console = ConsolePage(context.new_page(), stack)
        yield console
        console.check()
    finally:
        context.close()


@cache
def _axe() -> str:
    source = _AXE.read_bytes()
    assert hashlib.sha256(source).hexdigest() == _AXE_SHA256
    return source.decode()
