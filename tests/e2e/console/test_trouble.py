"""Faults and attacks while the console is open."""

import httpx
import pytest
from playwright.sync_api import Route, expect

from api.security.permissions import Role
from common.timestamps import now_ms
from tests.e2e.console.browser import ConsolePage
from tests.e2e.console.scene import Scene
from tests.e2e.console.stack import Account, ConsoleStack, passed
from tests.integration.api.application import PASSWORD
from tests.integration.api.people import browser_of, invite, logged_in, new_address

pytestmark = [pytest.mark.e2e, pytest.mark.long]

STRANGE = (
    '"><img src=x onerror="document.title=1"><script>document.title=1</script>',
    "שער צפון \u202e gnp.exe",
    "🚗" * 40 + " é̂ñ",
    "Wide " + "W" * 190,
)
UNAUTHORISED = "401 (Unauthorized)"


def test_a_wrong_password_is_reported_and_the_view_is_retained(
    console: ConsolePage, scene: Scene
) -> None:
    console.expected.append(UNAUTHORISED)
    console.go("/search?plate=J915ZE&match=exact")
    console.fill("Email", scene.account.email)
    console.fill("Password", "not it")
    console.press("Log in")
    console.sees("Wrong email address or password.")
    console.fill("Password", PASSWORD)
    console.press("Log in")
    expect(console.page.locator("tbody .plate").first).to_have_text("J915ZE")


def test_a_session_that_ends_loses_no_input(
    console: ConsolePage, stack: ConsoleStack, account: Account
) -> None:
    console.expected.append(UNAUTHORISED)
    console.log_in(account, "/alerts/new")
    console.fill("Name", "Half typed")
    console.page.context.clear_cookies(name="session")
    console.press("Create alert")
    console.sees("Your session has expired")
    dialog = console.page.get_by_role("dialog")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Log in", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(console.page.get_by_label("Name", exact=True)).to_have_value("Half typed")
    console.press("Create alert")
    console.page.wait_for_url("**/alerts/*-*")


def test_logging_out_in_one_tab_hides_everything_in_the_others(
    console: ConsolePage, scene: Scene
) -> None:
    console.expected.append(UNAUTHORISED)
    console.log_in(scene.account, "/cameras")
    other = console.page.context.new_page()
    other.goto(console.stack.address + "/search")
    expect(other.locator("tbody .plate").first).to_be_visible()
    console.log_out()
    expect(other.get_by_role("heading", name="Log in")).to_be_visible()
    assert other.locator(".plate").count() == 0
    other.go_back()
    assert other.locator(".plate").count() == 0


def test_ids_of_another_account_say_that_there_is_nothing(
    console: ConsolePage, scene: Scene, account: Account
) -> None:
    console.expected.append("404 (Not Found)")
    console.log_in(account)
    for path, sentence in {
        f"/recognitions/{scene.newest.id}": "Recognition not found",
        f"/cameras/{scene.cameras[0].id}": "Camera not found",
        f"/alerts/{scene.alert_id}": "Alert not found",
        f"/webhooks/{scene.webhook_id}": "Webhook not found",
    }.items():
        console.go(path)
        console.sees(sentence)
        assert "VA677VR" not in console.page.content()


def test_strange_texts_are_shown_as_texts(
    console: ConsolePage, stack: ConsoleStack, account: Account
) -> None:
    api = httpx.Client(base_url=stack.address, headers={"Authorization": f"Bearer {account.key}"})
    places = []
    with api:
        for number, text in enumerate(STRANGE):
            camera = {"name": text, "rtspUrl": f"rtsp://192.168.9.{number}/1", "location": text}
            made = api.post("/api/cameras", json=camera).json()["camera"]
            places.append(f"/cameras/{made['id']}")
            alert = {"name": text, "description": text, "plateMatchMode": "any"}
            made = api.post("/api/alertas", json=alert).json()["alert"]
            places.append(f"/alerts/{made['id']}")
            webhook = {"name": text, "url": "http://127.0.0.1:9/", "events": ["camera.online"]}
            made = api.post("/api/webhooks", json=webhook).json()["webhook"]
            places.append(f"/webhooks/{made['id']}")
            api.post("/api/api-keys", json={"name": text, "scopes": ["cameras:read"]})
    for text in STRANGE:
        stack.run(_join(stack, account, new_address(), text))
    rows = [
        passed(account, made, text, 0, captured_ms=now_ms() - number * 1000, track=text)
        for number, text in enumerate(STRANGE)
        for made in (account.id,)
    ]
    stack.publish(*rows, is_live=False)
    console.expected += ["404 (Not Found)", "403 (Forbidden)"]
    console.log_in(account)
    console.page.set_viewport_size({"width": 360, "height": 740})
    everywhere = [f"/recognitions/{row.id}" for row in rows] + places
    for path in (
        *("/", "/search", "/search?view=history", "/cameras", "/cameras?view=wall", "/alerts"),
        *("/webhooks", "/keys", "/analytics", "/health", "/alerts/new", "/audit", "/people"),
        *("/account", f"/search?cameraId={account.id}&view=history"),
        *everywhere,
    ):
        console.go(path)
        console.page.locator("#main h1").wait_for()
        console.page.locator(".waiting").first.wait_for(state="detached")
        page = console.page
        assert (
            page.evaluate("document.querySelectorAll('main img[src=x], main script').length") == 0
        )
        assert page.title() != "1"
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path
    console.go(f"/cameras/{places[0].rpartition('/')[2]}")
    expect(console.page.get_by_role("heading", level=1)).to_have_text(STRANGE[0])


async def _join(stack: ConsoleStack, account: Account, email: str, name: str) -> None:
    """Add a person to the account under a given name."""
    async with logged_in(stack.application, account.email) as administrator:
        made = await invite(administrator, email, Role.VIEWER)
    async with browser_of(stack.application) as browser:
        body = {"token": made["token"], "name": name, "password": PASSWORD}
        answer = await browser.post("/api/invitations/accept", json=body)
        assert answer.status_code == 201, answer.text


def test_a_stream_that_cannot_be_opened_is_said_and_filled_up_once_it_can(
    console: ConsolePage, stack: ConsoleStack, account: Account
) -> None:
    console.expected.append("net::ERR_FAILED")
    stream = "**/api/recognitions/stream*"
    console.page.route(stream, lambda route: route.abort())
    console.log_in(account)
    console.sees("Reconnecting")
    console.sees("No recognitions yet")
    row = passed(account, account.id, "Gate", 0, captured_ms=now_ms(), plate="MISSED1")
    stack.put_images(row, 0)
    stack.publish(row)
    expect(console.page.get_by_role("link").filter(has_text="MISSED1")).to_have_count(0)
    console.page.unroute(stream)
    console.sees("MISSED1")
    expect(console.page.get_by_text("Connected", exact=True)).to_be_visible()


def test_an_unavailable_service_is_reported_until_it_recovers(
    console: ConsolePage, scene: Scene
) -> None:
    console.expected += ["net::ERR_FAILED", "500 (Internal", "503 (Service"]
    console.log_in(scene.account, "/alerts/new")
    console.fill("Name", "Unsaved alert")
    gone = True

    def answer(route: Route) -> None:
        if gone:
            route.abort()
        else:
            route.continue_()

    console.page.route("**/api/**", answer)
    console.press("Create alert")
    console.sees("Can't reach the server.")
    expect(console.page.get_by_label("Name", exact=True)).to_have_value("Unsaved alert")
    gone = False
    console.press("Create alert")
    console.page.wait_for_url("**/alerts/*-*")
    expect(console.page.get_by_role("heading", level=1)).to_have_text("Unsaved alert")
    expect(console.page.locator(".outage")).to_have_count(0)
    gone = True
    console.press("Delete alert")
    console.page.get_by_role("dialog").get_by_role("button", name="Delete alert").click()
    console.sees("Can't reach the server.")
    gone = False
    console.page.get_by_role("dialog").get_by_role("button", name="Delete alert").click()
    console.page.wait_for_url("**/alerts")


def test_an_unavailable_database_is_retried(console: ConsolePage, scene: Scene) -> None:
    console.expected.append("500 (Internal")
    console.log_in(scene.account)
    failures = 2

    def answer(route: Route) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            route.fulfill(
                status=500,
                json={"error": "Search is unavailable.", "code": "dependency_unavailable"},
            )
        else:
            route.continue_()

    console.page.route("**/api/analytics", answer)
    console.follow("Analytics")
    console.sees("Part of the service is down.")
    console.sees("Most frequent plates")


def test_the_page_cannot_be_framed_or_load_foreign_content(stack: ConsoleStack) -> None:
    page = httpx.get(stack.address + "/search?plate=x")

    assert page.status_code == 200
    assert page.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "same-origin"
    assert httpx.get(stack.address + "/console/none/app.js").status_code == 404
    assert httpx.get(stack.address + "/nowhere").status_code == 404
