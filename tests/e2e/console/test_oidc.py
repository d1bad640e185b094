"""Login through an identity provider, from the login page back to the previous view."""

import pytest
from playwright.sync_api import Browser, expect

from api.security.permissions import Role
from tests.e2e.console.browser import ConsolePage, opened_page
from tests.e2e.console.stack import Account, ConsoleStack
from tests.integration.api.people import invite, logged_in, new_address
from tests.services.oidc import OidcProvider

pytestmark = [pytest.mark.e2e, pytest.mark.long]

UNAUTHORISED, FORBIDDEN = "401 (Unauthorized)", "403 (Forbidden)"
OF_THE_PROVIDER = ("net::ERR_NAME_NOT_RESOLVED", "404 (Not Found)")
"""Console errors of the provider's pages: a style sheet from elsewhere and a missing icon."""


def _let_in(console: ConsolePage, subject: str) -> None:
    """Log in on the provider's page."""
    console.page.get_by_placeholder("sub").fill(subject)
    console.press("Authorize")


def test_login_and_joining_through_a_provider(
    console: ConsolePage, stack: ConsoleStack, account: Account, oidc_provider: OidcProvider
) -> None:
    page, email = console.page, new_address()
    oidc_provider.know("owner", email=account.email, email_verified=True)
    oidc_provider.know("invited", email=email, email_verified=True, name="Ana")
    oidc_provider.know("stranger", email=new_address(), email_verified=True)
    console.expected += [UNAUTHORISED, FORBIDDEN, *OF_THE_PROVIDER]

    token = stack.run(_invitation(stack, account, email))

    console.go("/search?plate=AB12&match=prefix")
    console.press("Log in with Example")
    page.get_by_role("button", name="Deny").click()
    console.sees("Your identity provider denied access.")
    assert console.violations() == []
    console.follow("Go to login")
    console.press("Log in with Example")
    _let_in(console, "stranger")
    console.sees("Ask an account administrator for an invitation.")
    assert "code=" not in page.url

    console.go("/search?plate=AB12&match=prefix")
    console.press("Log in with Example")
    _let_in(console, "owner")
    expect(page.locator(".who")).to_have_text(account.email)
    expect(page).to_have_url(f"{stack.address}/search?plate=AB12&match=prefix")

    # The session ends while the person is typing. The provider opens in a second window.
    console.go("/alerts/new")
    console.fill("Name", "Half typed")
    page.context.clear_cookies(name="session")
    console.press("Create alert")
    with page.context.expect_page() as opened:
        console.press("Log in with Example")
    beside = opened.value
    beside.get_by_placeholder("sub").fill("owner")
    beside.get_by_role("button", name="Authorize").click()
    expect(beside.locator(".who")).to_have_text(account.email)
    beside.close()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("Name", exact=True)).to_have_value("Half typed")

    console.log_out()
    page.on("dialog", lambda dialog: dialog.accept())
    console.go(f"/invitation#{token}")
    console.sees("invited you to join as Viewer")
    assert console.violations() == []
    console.press("Join with Example")
    _let_in(console, "invited")
    expect(page.locator(".who")).to_have_text(email)
    expect(page).to_have_url(f"{stack.address}/")


def test_a_person_is_unlinked_from_the_provider(
    console: ConsolePage,
    browser: Browser,
    stack: ConsoleStack,
    account: Account,
    oidc_provider: OidcProvider,
) -> None:
    email = new_address()
    oidc_provider.know("bound", email=email, email_verified=True, name="Ana")
    oidc_provider.know("bound-later", email=email, email_verified=True, name="Ana")
    token = stack.run(_invitation(stack, account, email))
    with opened_page(browser, stack) as invited:
        invited.expected += [UNAUTHORISED, FORBIDDEN, *OF_THE_PROVIDER]
        invited.go(f"/invitation#{token}")
        invited.press("Join with Example")
        _let_in(invited, "bound")
        expect(invited.page.locator(".who")).to_have_text(email)

        console.log_in(account, "/people")
        row = console.page.get_by_role("row").filter(has_text=email)
        expect(row).to_contain_text("Single sign-on")
        row.get_by_role("button", name="Actions for").click()
        row.get_by_role("button", name="Unlink").click()
        dialog = console.page.get_by_role("dialog")
        expect(dialog).to_contain_text("Their sessions end.")
        assert console.violations() == []
        dialog.get_by_role("button", name="Unlink").click()
        console.sees("Single sign-on unlinked")
        row.get_by_role("button", name="Actions for").click()
        expect(row.get_by_role("button", name="Change role")).to_be_visible()
        expect(row.get_by_role("button", name="Unlink")).to_have_count(0)

        # The person's session has ended; another identity with the same address can log in.
        invited.sees("Your session has expired")
        with invited.page.context.expect_page() as opened:
            invited.press("Log in with Example")
        opened.value.get_by_placeholder("sub").fill("bound-later")
        opened.value.get_by_role("button", name="Authorize").click()
        expect(opened.value.locator(".who")).to_have_text(email)
        expect(invited.page.get_by_role("dialog")).to_have_count(0)
    console.page.reload()
    expect(row).to_contain_text("Single sign-on")


async def _invitation(stack: ConsoleStack, account: Account, email: str) -> str:
    async with logged_in(stack.application, account.email) as administrator:
        made = await invite(administrator, email, Role.VIEWER)
    return str(made["token"])
