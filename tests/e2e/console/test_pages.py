"""Tests that every page is accessible, in light and dark mode, on narrow and wide screens."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.console.browser import ConsolePage, opened_page
from tests.e2e.console.scene import Scene
from tests.e2e.console.stack import ConsoleStack

pytestmark = [pytest.mark.e2e, pytest.mark.long]

# Each view, with a text that appears only once the page has loaded.
PAGES = {
    "/": "Gate north",
    "/search": "Next page",
    "/search?plate={plate}&match=exact&view=history": "By camera",
    "/recognitions/{recognition}": "Zoom to plate",
    "/cameras": "Fence east",
    "/cameras?view=wall": "Access road",
    "/cameras/new": "Test stream",
    "/cameras/import": "Columns:",
    "/cameras/{camera}": "Fewer recognitions than usual",
    "/alerts": "Stolen at night",
    "/alerts/new": "Add email",
    "/alerts/{alert}": "Overnight:",
    "/webhooks": "Gate controller",
    "/webhooks/new": "Custom headers",
    "/webhooks/{webhook}": "Rotate secret",
    "/keys": "All scopes",
    "/people": "Last login",
    "/invitation": "This invitation is no longer valid",
    "/log-in/oidc": "This login has expired",
    "/account": "Show history",
    "/analytics": "Most frequent plates",
    "/audit": "Logged in",
    "/health": "Reads plates from frames",
}


@pytest.fixture(scope="module", params=["light", "dark"])
def colours(
    request: pytest.FixtureRequest, browser: Browser, stack: ConsoleStack, scene: Scene
) -> Iterator[ConsolePage]:
    """A page with a logged-in person, in the system's colour scheme."""
    with opened_page(browser, stack, color_scheme=request.param) as page:
        page.is_dark = request.param == "dark"
        page.go("/")
        page.sees("Log in")
        assert page.violations() == []
        page.log_in(scene.account)
        yield page


def _path(form: str, scene: Scene) -> str:
    return form.format(
        plate=scene.newest.plate,
        recognition=scene.newest.id,
        camera=scene.cameras[0].id,
        alert=scene.alert_id,
        webhook=scene.webhook_id,
    )


@pytest.mark.parametrize("form", PAGES)
def test_a_page_is_without_fault_to_axe_and_fits_a_telephone(
    colours: ConsolePage, scene: Scene, form: str
) -> None:
    page = colours.page
    page.set_viewport_size({"width": 1440, "height": 900})
    colours.go(_path(form, scene))
    colours.sees(PAGES[form])

    # Everything else is the same in both modes.
    assert colours.violations(*(("color-contrast",) if colours.is_dark else ())) == []
    assert page.locator("h1").count() == 1
    page.set_viewport_size({"width": 360, "height": 740})
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == 360
    page.set_viewport_size({"width": 3840, "height": 2160})
    assert page.evaluate(width) == 3840


def test_dialogs_are_without_fault_to_axe(colours: ConsolePage, scene: Scene) -> None:
    colours.go("/people")
    colours.page.get_by_role("button", name="Actions for").first.click()
    colours.sees("Change role")
    assert colours.violations() == []
    colours.go("/keys")
    colours.press("Create API key")
    colours.sees("Leave empty for no expiry")
    assert colours.violations() == []
    colours.page.keyboard.press("Escape")
    colours.page.get_by_role("banner").locator("summary").click()
    assert colours.violations() == []
    colours.press("Keyboard shortcuts")
    colours.sees("Results: open row")
    assert colours.violations() == []
