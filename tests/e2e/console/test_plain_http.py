"""The console over plain HTTP at an address of a private network."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, expect

from common.timestamps import now_ms
from tests.e2e.console.browser import opened_page
from tests.e2e.console.home_network import ADDRESS, NAME, PORT, home_network
from tests.e2e.console.stack import Account, ConsoleStack, passed

pytestmark = pytest.mark.e2e

NOTICES = ("Cross-Origin-Opener-Policy header has been ignored", "403 (Forbidden)")
WARNING = "This connection isn't encrypted"


@pytest.fixture(scope="module")
def visitor(
    browser: Browser, stack: ConsoleStack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    """A browser in another network, where the API has a private address."""
    folder: Path = tmp_path_factory.mktemp("chromium")
    with home_network() as network, network.serving(stack), network.browser(browser, folder) as one:
        yield one


@pytest.mark.long
@pytest.mark.parametrize("host", [ADDRESS, NAME])
def test_a_person_logs_in_watches_live_and_logs_out(
    visitor: Browser, stack: ConsoleStack, account: Account, host: str
) -> None:
    there = replace(stack, address=f"http://{host}:{PORT}")
    with opened_page(visitor, there) as console:
        console.expected.extend(NOTICES)
        console.go("/")
        console.sees(WARNING)
        assert console.violations() == []
        # The identity provider would redirect the browser to another address.
        console.press("Log in with Example")
        console.sees(f"Log in with the identity provider at {stack.address}.")
        console.log_in(account)
        cookies = {one["name"]: one["secure"] for one in console.page.context.cookies()}
        row = passed(account, uuid4(), "Gate", 0, captured_ms=now_ms(), plate="HM192168")
        stack.put_images(row, 0)
        stack.publish(row)
        console.sees("HM192168")
        console.page.reload()
        console.sees("HM192168")
        console.log_out()
        expect(console.page.get_by_role("heading", name="Log in")).to_be_visible()
        console.go("/")
        console.sees(WARNING)
        left = {one["name"] for one in console.page.context.cookies()}

    assert cookies == {"session": False, "device": False}
    assert left == {"device"}


def test_the_warning_is_translated_and_missing_on_the_machine_itself(
    visitor: Browser, browser: Browser, stack: ConsoleStack
) -> None:
    there = replace(stack, address=f"http://{ADDRESS}:{PORT}")
    with opened_page(visitor, there, locale="pt-PT") as console:
        console.expected.extend(NOTICES)
        console.go("/")
        console.sees("Esta conexão não é criptografada")
    with opened_page(browser, stack) as console:
        console.go("/")
        console.sees("Password")
        expect(console.page.get_by_text(WARNING)).to_have_count(0)
