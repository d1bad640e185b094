"""Several people of one account: invitations, joining, and what each role may see."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.console.browser import ConsolePage, opened_page
from tests.e2e.console.stack import Account, ConsoleStack
from tests.integration.api.application import PASSWORD
from tests.integration.api.people import new_address

pytestmark = [pytest.mark.e2e, pytest.mark.long]

GONE = "404 (Not Found)"
FORBIDDEN = "403 (Forbidden)"
UNAUTHORISED = "401 (Unauthorized)"
BAD_REQUEST = "400 (Bad Request)"


def _invited(console: ConsolePage, email: str) -> str:
    """Invite a viewer as the administrator, and return the displayed link."""
    console.follow("People")
    me = console.page.get_by_role("row").filter(has_text="Administrator")
    expect(me).to_contain_text("You")
    console.press("Invite person")
    dialog = console.page.get_by_role("dialog")
    dialog.get_by_label("Email").fill(email)
    _is_fit_for_all(console)
    dialog.get_by_role("button", name="Create invitation").click()
    console.sees("Invitation link")
    console.sees("it only works on this computer")
    link = dialog.locator(".secret").inner_text()
    console.press("Done")
    waiting = console.page.get_by_role("row").filter(has_text=email)
    expect(waiting.get_by_role("button", name="Revoke")).to_be_visible()
    return link


def _give_role(console: ConsolePage, email: str, role: str) -> None:
    row = console.page.get_by_role("row").filter(has_text=email)
    row.get_by_role("button", name="Actions for").click()
    row.get_by_role("button", name="Change role").click()
    console.page.get_by_label(role).check()
    console.press("Save changes")
    expect(row).to_contain_text(role)


def _is_fit_for_all(console: ConsolePage) -> None:
    """Check that the page is accessible in light and dark mode, and fits the screen of a phone."""
    page = console.page
    assert console.violations() == []
    page.emulate_media(color_scheme="dark")
    assert console.violations("color-contrast") == []
    page.emulate_media(color_scheme="light")
    before = page.viewport_size
    assert before is not None
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.set_viewport_size(before)


def _sees_what_a_viewer_may(console: ConsolePage) -> None:
    places = console.page.get_by_role("navigation").get_by_role("link")
    expect(places).to_have_text(
        ["Live", "Search", "Cameras", "Alerts", "Analytics", "Health", "Account"]
    )
    for path, text in {
        "/cameras": "No cameras yet",
        "/alerts": "No alerts yet",
        "/health": "No problems found",
        "/account": "Viewer",
        "/people": "Only administrators can see this page",
    }.items():
        console.go(path)
        console.sees(text)
        expect(
            console.page.locator("main").get_by_role("link", name=re.compile("Add|New|Create"))
        ).to_have_count(0)
    expect(console.page.get_by_role("button", name="Invite person")).to_have_count(0)


def test_a_viewer_is_invited_joins_and_sees_what_a_viewer_may(
    console: ConsolePage, browser: Browser, stack: ConsoleStack, account: Account
) -> None:
    email = new_address()
    console.log_in(account)
    link = _invited(console, email)
    token = link.rpartition("#")[2]
    asked: list[str] = []
    with opened_page(browser, stack) as invited:
        invited.page.on("request", lambda request: asked.append(request.url))
        invited.page.goto(link)
        invited.sees(f"{account.email} invited you to join as Viewer.")
        _is_fit_for_all(invited)
        invited.fill("Your name", "Ana")
        invited.fill("Password", PASSWORD)
        invited.press("Join")
        invited.page.get_by_role("banner").wait_for()
        expect(invited.page).to_have_url(stack.address + "/")
        assert asked and not any(token in url for url in asked)
        _sees_what_a_viewer_may(invited)
        invited.expected.append(GONE)
        invited.page.goto(link)
        invited.sees("This invitation is no longer valid")
        invited.follow("Go to Live")

        console.page.reload()
        _give_role(console, email, "Operator")
        invited.page.reload()
        invited.follow("Webhooks")
        invited.sees("No webhooks yet")

        _give_role(console, email, "Viewer")
        invited.expected.append(FORBIDDEN)
        invited.follow("Live")
        invited.follow("Webhooks")
        invited.sees("Your role doesn't allow this")
        expect(invited.page.get_by_role("link", name="Webhooks")).to_have_count(0)


def test_what_one_person_typed_is_not_shown_to_another_of_the_account(
    console: ConsolePage, browser: Browser, stack: ConsoleStack, account: Account
) -> None:
    email = new_address()
    console.expected.append(UNAUTHORISED)
    console.log_in(account)
    link = _invited(console, email)
    with opened_page(browser, stack) as invited:
        invited.page.goto(link)
        invited.fill("Your name", "Ana")
        invited.fill("Password", PASSWORD)
        invited.press("Join")
        invited.page.get_by_role("banner").wait_for()
    console.go("/alerts/new")
    console.fill("Name", "Half typed")
    console.page.context.clear_cookies(name="session")
    console.press("Create alert")
    dialog = console.page.get_by_role("dialog")
    dialog.get_by_label("Email").fill(email)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Log in", exact=True).click()
    expect(console.page.locator(".who")).to_have_text(email)
    expect(console.page.get_by_label("Name", exact=True)).to_have_value("")


def test_a_person_changes_their_password_and_the_accounts_time_zone(
    console: ConsolePage, browser: Browser, stack: ConsoleStack, account: Account
) -> None:
    new = "another password of a test"
    console.expected.append(BAD_REQUEST)
    console.log_in(account, "/account")
    console.fill("Current password", "not mine")
    console.fill("New password", new)
    console.press("Change password")
    console.sees("is incorrect")
    _is_fit_for_all(console)
    console.fill("Current password", PASSWORD)
    console.press("Change password")
    console.sees("Password changed")

    zone = console.page.get_by_label("Time zone for analytics and new alerts")
    save = console.page.get_by_role("button", name="Save changes", exact=True)
    expect(save).to_be_disabled()
    zone.fill("Somewhere/Else")
    save.click()
    expect(zone).to_have_attribute("aria-invalid", "true")
    zone.fill("America/Sao_Paulo")
    save.click()
    console.page.get_by_text("Saved", exact=True).wait_for()
    console.page.reload()
    expect(zone).to_have_value("America/Sao_Paulo")

    with opened_page(browser, stack) as other:
        other.expected.append(UNAUTHORISED)
        other.go("/account")
        other.fill("Email", account.email)
        other.fill("Password", PASSWORD)
        other.press("Log in")
        other.sees("Wrong email address or password.")
        other.fill("Password", new)
        other.press("Log in")
        kept = other.page.get_by_label("Time zone for analytics and new alerts")
        expect(kept).to_have_value("America/Sao_Paulo")
