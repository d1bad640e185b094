"""Tasks that people perform in the console. Seven of the tests are not marked ``long``."""

import base64
import codecs
import csv
import re
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Download, Route, expect

from analytics_sql.triggers import TriggerRow
from common.plates.normalise import mask_plate
from common.records.alerts import TriggerPhase
from common.records.deliveries import (
    AttemptOutcome,
    DeliveryAttempt,
    attempt_id,
    recognition_delivery,
)
from common.timestamps import now_ms
from tests.e2e.console.browser import ConsolePage, opened_page
from tests.e2e.console.footage import SEEN, pictures
from tests.e2e.console.scene import Camera, Scene
from tests.e2e.console.stack import TIMEZONE, Account, ConsoleStack, passed
from tests.integration.ingest.clips import write_clip
from tests.services.onvif import PASSWORD, USER, OnvifCamera, loopback_address
from tests.services.rtsp import RtspCamera

pytestmark = pytest.mark.e2e

CAMERA = Camera(uuid.uuid4(), "Weighbridge")
_COUNT_TONES = """
    window.tones = 0;
    const create = AudioContext.prototype.createOscillator;
    AudioContext.prototype.createOscillator = function () {
        window.tones += 1;
        return create.call(this);
    };
"""
"""Script that counts the sounds that the page plays."""
_COUNT_CLICKS = 'addEventListener("click", (event) => (window.clicks += event.detail), true)'
NOT_FOUND = "404 (Not Found)"
REFUSED = "400 (Bad Request)"
"""Error that the browser itself logs when a form is rejected."""


def test_watch_what_passes_and_what_it_sets_off(
    console: ConsolePage, stack: ConsoleStack, account: Account
) -> None:
    console.page.add_init_script(_COUNT_TONES)
    console.log_in(account)
    console.sees("No recognitions yet")
    console.press("Play sound on alert")
    assert console.page.evaluate("tones") == 2
    expect(console.page.get_by_text("Connected", exact=True)).to_be_visible()
    alert_id = _alert(console, "Watched")
    row = passed(account, CAMERA.id, CAMERA.name, 0, captured_ms=now_ms())
    stack.put_images(row, 0)
    stack.publish(row)

    line = console.page.get_by_role("listitem").filter(has_text=row.plate)
    expect(line.get_by_role("img")).to_be_visible()
    expect(line.get_by_text("98%")).to_be_visible()
    stack.fire(_trigger(account, row.id, alert_id, row.captured_ms))
    expect(line.get_by_text("Watched")).to_be_visible(timeout=15_000)
    console.page.wait_for_function("tones === 4")

    console.press("Pause")
    later = passed(account, CAMERA.id, CAMERA.name, 1, captured_ms=now_ms())
    stack.put_images(later, 1)
    stack.publish(later)
    console.press("Resume (1 new)")
    console.sees(SEEN[1].plate)


def test_find_a_plate_and_its_history(console: ConsolePage, scene: Scene) -> None:
    console.log_in(scene.account, "/search")
    console.fill("Plate", "va677")
    console.page.wait_for_url("**/search?plate=va677")
    console.choose("Match mode", "Starts with")
    console.page.wait_for_url("**match=prefix**")
    console.choose("Time range", "Last 30 days")
    console.page.wait_for_url("**range=720**")
    rows = console.page.locator("tbody tr")
    expect(rows.first.locator(".plate")).to_have_text("VA677VR")
    console.sees("50 or more results")
    first = rows.first.locator("td").nth(4).inner_text()
    console.press("Next page")
    console.page.wait_for_url("**lastKey=**")
    console.sees("51–100 of 100 or more results")
    expect(rows.first.locator("td").nth(4)).not_to_have_text(first)
    console.page.reload()
    expect(rows.first.locator("td").nth(4)).not_to_have_text(first)
    console.page.keyboard.press("p")
    expect(rows.first.locator("td").nth(4)).to_have_text(first)
    console.page.keyboard.press("n")
    expect(rows.first.locator("td").nth(4)).not_to_have_text(first)
    with console.page.expect_download() as whole:
        console.press("Export all as CSV")
    saved_rows = _for_excel(whole.value)
    assert len(saved_rows) > 50
    assert all(row["plate"].startswith("VA677") for row in saved_rows)

    rows.first.locator("td").nth(3).click()
    console.page.wait_for_url("**/recognitions/*")
    console.follow("View history")
    console.sees("By camera")
    expect(console.page.locator(".lane svg line").first).to_be_attached()
    with console.page.expect_download() as saved:
        console.press("Export as CSV")
    history = _for_excel(saved.value)
    assert [*history[0]] == ["id", "timestamp", "localTime", "plate", "confidence", "cameraName"]
    assert {row["plate"] for row in history} == {"VA677VR"}
    local = datetime.fromisoformat(history[0]["timestamp"]).astimezone(ZoneInfo(TIMEZONE))
    assert history[0]["localTime"] == local.strftime("%Y-%m-%d %H:%M:%S")


def _for_excel(saved: Download) -> list[dict[str, str]]:
    """Return the rows of a CSV file that starts with a byte order mark."""
    data = saved.path().read_bytes()
    assert data.startswith(codecs.BOM_UTF8)
    return list(csv.DictReader(data.decode("utf-8-sig").splitlines()))


@pytest.mark.long
def test_a_spreadsheet_takes_no_name_for_a_formula(
    console: ConsolePage, stack: ConsoleStack, account: Account
) -> None:
    row = passed(account, CAMERA.id, "=1+1", 0, captured_ms=now_ms() - 60_000)
    stack.put_images(row, 0)
    stack.publish(row, is_live=False)
    console.log_in(account, "/search")
    with console.page.expect_download() as whole:
        console.press("Export all as CSV")

    (saved,) = _for_excel(whole.value)
    assert (saved["plate"], saved["cameraName"]) == (row.plate, "'=1+1")


@pytest.mark.long
def test_what_a_plate_was_seen_together_with(console: ConsolePage, stack: ConsoleStack) -> None:
    account, now = stack.new_account(), now_ms() - 7_200_000
    seen = [("AB12CDE", 0), ("FOLLOW1", 8), ("LATER22", 200), ("AB12CDE", 3600), ("FOLLOW1", 3580)]
    rows = [
        passed(account, CAMERA.id, CAMERA.name, 0, captured_ms=now + at * 1000, plate=plate)
        for plate, at in seen
    ]
    elsewhere = passed(account, uuid.uuid4(), "Another", 0, captured_ms=now, plate="ELSEW11")
    stack.publish(*rows, elsewhere, is_live=False)
    console.log_in(account, "/search?plate=AB12CDE&match=exact&view=history")
    console.press("Find plates")
    table = console.page.get_by_role("table", name="Seen together").locator("tbody tr")
    expect(table).to_have_count(1)
    expect(table.first).to_contain_text("FOLLOW1")
    expect(table.first.locator("td").nth(1)).to_have_text("2")
    assert console.violations() == []
    console.choose("Within", "5 minutes")
    console.press("Find plates")
    expect(table).to_have_count(2)
    expect(table.nth(1)).to_contain_text("LATER22")
    console.follow("FOLLOW1")
    console.page.wait_for_url("**plate=FOLLOW1**")


@pytest.mark.long
def test_search_without_a_mouse(console: ConsolePage, scene: Scene) -> None:
    console.log_in(scene.account)
    keys = console.page.keyboard
    console.sees("VA677VR")
    keys.press("/")
    expect(console.page.get_by_label("Plate", exact=True)).to_be_focused()
    keys.type(scene.newest.plate)
    console.page.wait_for_url(f"**plate={scene.newest.plate}")
    expect(console.page.locator("tbody tr .plate").first).to_have_text(scene.newest.plate)
    expect(console.page.get_by_text("No image").first).to_be_visible()
    keys.press("Escape")
    console.page.get_by_label("Plate", exact=True).blur()
    keys.press("j")
    keys.press("Enter")
    console.page.wait_for_url("**/recognitions/*")
    keys.press("g")
    keys.press("a")
    console.page.wait_for_url("**/alerts")
    expect(console.page.get_by_role("heading", name="Alerts")).to_be_focused()


@pytest.mark.long
def test_read_who_did_what(console: ConsolePage, account: Account) -> None:
    console.log_in(account)
    alert_id = _alert(console, "Notified", plates=["AB12CD"])
    schedule = {"startTime": "22:00", "endTime": "06:00", "daysOfWeek": ["fri"]}
    _asked(console, "PUT", f"/api/alertas/{alert_id}", {"schedule": schedule})
    console.page.keyboard.press("g")
    console.page.keyboard.press("d")
    console.page.wait_for_url("**/audit")
    rows = console.page.locator("tbody tr")
    expect(rows.first).to_contain_text(re.compile("Alert updated.*Schedule: .* → Fri, 22:00–06:00"))
    expect(rows.nth(1)).to_contain_text(re.compile(f"{account.email}.*Alert created.*Notified"))
    expect(rows.filter(has_text=f"{account.email}Logged in")).to_have_count(1)
    console.choose("Action", "API keys")
    console.page.wait_for_url("**/audit?action=key")
    expect(rows).to_have_count(1)
    console.choose("Action", "Alerts")
    console.page.get_by_label("Actor").fill(account.email)
    console.page.get_by_label("Actor").press("Enter")
    console.page.wait_for_url("**actor=**")
    console.page.reload()
    expect(rows).to_have_count(2)
    console.follow("Notified")
    console.page.wait_for_url(f"**/alerts/{alert_id}")


@pytest.mark.long
def test_why_an_alert_did_not_come(console: ConsolePage, stack: ConsoleStack) -> None:
    account = stack.new_account()
    console.log_in(account)
    _alert(console, "For another", plates=["ZZ99ZZZ"])
    _alert(console, "Disabled one", plateMatchMode="any", enabled=False)
    day = f"{datetime.now(ZoneInfo(TIMEZONE)):%a}"
    schedule = {"daysOfWeek": ["sun" if day == "Wed" else "wed"]}
    _alert(console, "Scheduled", plateMatchMode="any", scheduleEnabled=True, schedule=schedule)
    row = passed(account, CAMERA.id, CAMERA.name, 1, captured_ms=now_ms())
    stack.put_images(row, 1)
    stack.publish(row, is_live=False)
    _alert(console, "Later")
    console.go(f"/recognitions/{row.id}")

    line = console.page.get_by_role("row")
    expect(line.filter(has_text="For another")).to_contain_text("Plate doesn't match")
    expect(line.filter(has_text="Disabled one")).to_contain_text("Alert is disabled")
    expect(line.filter(has_text="Scheduled")).to_contain_text(f"Outside schedule: {day}")
    expect(line.filter(has_text="Later")).to_contain_text("Alert was created later")
    expect(console.page.get_by_role("img", name="Photo of the vehicle")).to_be_visible()
    console.press("Zoom to plate")
    expect(console.page.get_by_text("400%")).to_be_visible()


@pytest.mark.long
def test_triggers_of_an_alert(console: ConsolePage, stack: ConsoleStack, account: Account) -> None:
    console.log_in(account)
    alert_id = _alert(console, "Often")
    rows = [
        passed(account, CAMERA.id, CAMERA.name, 0, captured_ms=now_ms() - 60_000 * number)
        for number in range(25)
    ]
    stack.put_images(rows[0], 0)
    stack.publish(*rows, is_live=False)
    stack.fire(*(_trigger(account, row.id, alert_id, row.captured_ms) for row in rows))
    console.go(f"/alerts/{alert_id}")
    table = console.page.get_by_role("table", name="Triggers")
    expect(table.locator("tbody tr")).to_have_count(20)
    section = console.page.locator("section").filter(has=table)
    section.get_by_role("button", name="Next page").click()
    expect(table.locator("tbody tr")).to_have_count(5)
    section.get_by_role("button", name="First page").click()
    expect(table.locator("tbody tr")).to_have_count(20)
    table.get_by_role("link").first.click()
    console.page.wait_for_url(f"**/recognitions/{rows[0].id}")
    console.sees("Nothing was sent: no alert that triggered has recipients.")


def test_find_a_camera_and_add_it_with_four_clicks(
    console: ConsolePage, account: Account, tmp_path: Path
) -> None:
    # The fake worker reports snapshots but does not store any.
    console.expected += [NOT_FOUND]
    clip = write_clip(tmp_path / "clip.mp4", seconds=2, moving=True)
    host = loopback_address()
    with (
        RtspCamera(clip, host=host, user=USER, password=PASSWORD) as video,
        OnvifCamera(f"rtsp://203.0.113.9:{video.port}/camera", host=host),
    ):
        console.page.add_init_script(_COUNT_CLICKS)
        console.log_in(account, "/cameras/new")
        console.page.evaluate("clicks = 0")
        console.fill("Camera host (optional)", host)
        console.press("Find cameras")
        console.press("Choose Gate north")
        console.fill("Camera username", USER)
        console.fill("Camera password", PASSWORD)
        console.press("Show streams")
        expect(console.page.get_by_role("img", name="Test frame from the camera")).to_be_visible()
        assert console.violations() == []
        console.press("Add camera")
        console.page.wait_for_url(re.compile(r"/cameras/[0-9a-f-]{36}$"))

    assert console.page.evaluate("clicks") == 4
    (camera,) = _asked(console, "GET", "/api/cameras")["cameras"]
    assert camera["name"] == "Gate north"
    assert camera["rtspUrl"] == f"rtsp://{USER}:***@{host}:{video.port}/camera"


def test_add_a_camera_and_draw_its_zones(
    console: ConsolePage, stack: ConsoleStack, account: Account
) -> None:
    # The fake worker reports snapshots but does not store any.
    console.expected += [REFUSED, "404 (Not Found)"]
    console.log_in(account, "/cameras/new")
    console.fill("Name", "Gate west")
    console.fill("Stream URL", "ftp://nowhere")
    console.press("Add camera")
    console.sees("must begin with")
    console.fill("Stream URL", "rtsp://no-such-camera.invalid/1")
    console.press("Test stream")
    expect(console.page.get_by_role("alert")).to_contain_text("could not be reached")
    console.page.route("**/api/cameras/test", _first_picture)
    console.fill("Stream URL", "rtsp://viewer:secret@192.168.7.7/1")
    console.press("Test stream")
    expect(console.page.get_by_role("img", name="Test frame from the camera")).to_be_visible()
    console.fill("Camera username", "viewer")
    console.fill("Camera password", "p@ss/*")
    console.press("Add camera")
    console.sees("contains a user name or password")
    console.fill("Stream URL", "rtsp://192.168.7.7/1")
    with console.page.expect_request("**/api/cameras/test") as tried:
        console.press("Test stream")
    login = {"username": "viewer", "password": "p@ss/*"}
    assert tried.value.post_data_json == {"rtspUrl": "rtsp://192.168.7.7/1", **login}
    console.press("Add camera")
    console.page.wait_for_url(re.compile(r"/cameras/[0-9a-f-]{36}$"))
    console.sees("You can now draw zones.")
    console.sees("No zones. Plates are read in the whole image.")

    console.press("Draw include zone")
    sheet = console.page.get_by_role("group", name="Zones on the camera image")
    box = sheet.bounding_box()
    assert box is not None
    for x, y in ((0.2, 0.3), (0.8, 0.3), (0.8, 0.9)):
        sheet.click(position={"x": box["width"] * x, "y": box["height"] * y})
    console.press("Finish zone")
    corner = console.page.get_by_role("button", name=re.compile("^Corner 1 of zone 1"))
    corner.focus()
    console.page.keyboard.press("Shift+ArrowLeft")
    console.page.get_by_role("spinbutton", name="Minimum plate width (px)").fill("80")
    console.fill("Camera password", "new#")
    console.press("Save changes")
    console.page.get_by_text("Saved", exact=True).wait_for()

    camera = _asked(console, "GET", "/api/cameras")["cameras"][0]
    assert camera["minPlateWidth"] == 80
    assert camera["rtspUrl"] == "rtsp://viewer:***@192.168.7.7/1"
    (zone,) = camera["zones"]
    assert zone["kind"] == "include"
    xs = [round(point["x"], 2) for point in zone["points"]]
    assert xs == [0.15, 0.8, 0.8]
    console.press("Actions for Gate west")
    console.press("Delete camera")
    console.page.get_by_role("dialog").get_by_role("button", name="Delete camera").click()
    console.sees("No cameras yet")


@pytest.mark.long
def test_import_cameras(console: ConsolePage, account: Account) -> None:
    console.expected.append(REFUSED)
    console.log_in(account, "/cameras/import")
    console.page.get_by_label("Or paste CSV").fill(
        "name;rtspUrl;username;password\nAlpha;rtsp://192.168.8.1/1;viewer;p@ss#1\n"
        "Beta;rtsp://a:b@192.168.8.2/1;viewer;p@ss#1\n"
    )
    console.press("Add 2 cameras")
    line = console.page.get_by_role("row")
    expect(line.filter(has_text="Alpha")).to_contain_text("Open camera")
    expect(line.filter(has_text="Beta")).to_contain_text("Not added")
    console.sees("1 camera added")


@pytest.mark.long
def test_how_the_installation_is_doing(console: ConsolePage, scene: Scene) -> None:
    console.log_in(scene.account, "/health")
    console.sees("Components")
    row = console.page.get_by_role("row")
    expect(row.filter(has_text="Reads plates from frames")).to_contain_text(
        re.compile(r"Lagging.*Not enough CPU.*\d+ (s|min).*1,204")
    )
    expect(row.filter(has_text="search database").last).to_contain_text("OK")
    expect(row.filter(has_text="Sends webhooks")).to_contain_text("Not running")
    disk = console.page.get_by_role("listitem").filter(has_text="pictures")
    expect(disk.last).to_contain_text("Almost full")
    console.sees("Camera Access road is offline")


def test_who_does_not_operate_the_installation_sees_the_account_alone(
    console: ConsolePage, account: Account
) -> None:
    console.expected.append("403 (Forbidden)")
    console.log_in(account, "/health")
    console.sees("No problems found")
    for text in ("Components", "Pipeline stages", "Disks"):
        expect(console.page.get_by_role("table", name=text)).to_have_count(0)


def test_make_an_overnight_alert_after_trying_it(console: ConsolePage, scene: Scene) -> None:
    console.log_in(scene.account, "/alerts")
    console.follow("Create alert")
    console.fill("Name", "Nights")
    console.fill("Plates", "VA 677 VR = Café <b>1</b>\nJ915ZE; UGL2559")
    console.sees("3 plates, 1 named")
    listed = '\ufeffnome;matrícula\r\n"Correio; o de manhã";ZZ 99 ZZ\r\nFamília;AA-11-BB\r\n;!\r\n'
    console.page.get_by_label("Plate list file").set_input_files(
        {"name": "plates.csv", "mimeType": "text/csv", "buffer": listed.encode()}
    )
    console.sees("5 plates, 3 named")
    console.sees("1 row skipped:")
    console.sees("! (position 1) isn't allowed in a plate")
    console.page.get_by_label("Limit to a schedule").check()
    console.sees("Overnight: ends the next day")
    console.page.get_by_label("Sunday").uncheck()
    band = console.page.get_by_role("img", name=re.compile("Active hours of the week"))
    expect(band).to_have_attribute("aria-label", re.compile("Mon, .*Sat, 22:00–06:00"))
    console.fill("Cooldown (minutes)", "0")
    console.press("Run test")
    told = console.page.get_by_text(re.compile(r"Would have triggered \d+ times?\."))
    expect(told).to_be_visible(timeout=30_000)
    console.press("Create alert")
    console.page.wait_for_url(re.compile(r"/alerts/[0-9a-f-]{36}$"))
    expect(console.page.get_by_role("heading", level=1)).to_have_text("Nights")

    made = _asked(console, "GET", "/api/alertas")["alerts"][0]
    assert made["plates"] == ["VA 677 VR", "J915ZE", "UGL2559", "ZZ 99 ZZ", "AA-11-BB"]
    assert made["plateNames"] == {
        "VA 677 VR": "Café <b>1</b>",
        "ZZ 99 ZZ": "Correio; o de manhã",
        "AA-11-BB": "Família",
    }
    assert made["schedule"] == {
        "startTime": "22:00",
        "endTime": "06:00",
        "daysOfWeek": ["mon", "tue", "wed", "thu", "fri", "sat"],
    }
    console.press("Delete alert")
    console.page.get_by_role("dialog").get_by_role("button", name="Delete alert").click()
    console.page.wait_for_url("**/alerts")


@pytest.mark.long
def test_unsaved_input_is_not_lost_without_asking(console: ConsolePage, account: Account) -> None:
    console.log_in(account, "/alerts")
    console.follow("Create alert")
    console.fill("Name", "Half typed")
    console.follow("Live")
    console.sees("You have unsaved changes.")
    assert console.violations() == []
    console.press("Keep editing")
    console.page.go_back()
    console.press("Keep editing")
    expect(console.page.get_by_label("Name", exact=True)).to_have_value("Half typed")
    console.follow("Search")
    console.press("Leave")
    console.page.wait_for_url("**/search")


@pytest.mark.long
def test_try_the_notifications_of_an_alert(console: ConsolePage, account: Account) -> None:
    console.expected.append(REFUSED)
    console.log_in(account, "/alerts/new")
    console.fill("Name", "Notified")
    console.press("Add email")
    console.fill("Email", "guard@example.com")
    console.sees("Your server administrator must set PLATESTREAM_SMTP_HOST")
    console.press("Add HTTP endpoint")
    console.fill("HTTP endpoint", "http://192.168.1.20/hook")
    console.press("Create alert")
    console.sees("http://192.168.1.20/hook is in a private network.")
    console.fill("HTTP endpoint", "https://receiver.example.com/alerts")
    console.press("Add push, chat or SMS")
    console.fill("Push, chat or SMS (Apprise URL)", "ntfys://push.example.com/s3cret")
    console.press("Create alert")
    console.page.wait_for_url(re.compile(r"/alerts/[0-9a-f-]{36}$"))
    service = console.page.get_by_label("Push, chat or SMS (Apprise URL)")
    expect(service).to_have_value("ntfys://***")
    assert "s3cret" not in console.page.content()
    for target in ("guard@example.com", "https://receiver.example.com/alerts", "ntfys://***"):
        with console.page.expect_response(re.compile(r"/notifications/test$")) as answer:
            console.press(f"Send test to {target}")
        assert answer.value.status == 202
    expect(console.page.get_by_text("Sending…")).to_have_count(3)
    assert console.violations() == []


@pytest.mark.long
def test_a_new_alert_for_listed_plates_suppresses_the_same_plate_only(
    console: ConsolePage, account: Account
) -> None:
    console.log_in(account, "/alerts/new")
    mode, scope = map(console.page.get_by_label, ("Trigger on", "Cooldown applies to"))
    expect(scope).to_have_value("plate")
    mode.select_option("any")
    expect(scope).to_have_value("alert")
    mode.select_option("specific")
    expect(scope).to_have_value("plate")
    console.fill("Name", "Wanted")
    console.sees("No plate listed, so this alert never triggers.")
    console.press("Create alert")
    console.page.wait_for_url(re.compile(r"/alerts/[0-9a-f-]{36}$"))
    (made,) = _asked(console, "GET", "/api/alertas")["alerts"]
    assert made["cooldownScope"] == "plate"
    # The scope of a stored alert stays, and so does a scope that the person has chosen.
    mode.select_option("any")
    expect(scope).to_have_value("plate")
    console.go("/alerts/new")
    scope.select_option("plate_camera")
    mode.select_option("any")
    expect(scope).to_have_value("plate_camera")


@pytest.mark.long
def test_rotate_the_notification_secret(console: ConsolePage, account: Account) -> None:
    console.log_in(account, "/alerts")
    _alert(console, "Notified")
    before = _asked(console, "GET", "/api/alertas")["notificationSecret"]
    console.page.reload()
    console.press("Show secret")
    console.sees(before)
    console.press("Rotate secret")
    console.sees("Requests are also signed with the previous secret until")
    assert _asked(console, "GET", "/api/alertas")["notificationSecret"] not in (before, None)


@pytest.mark.long
def test_a_webhook_from_its_making_to_a_replay(
    console: ConsolePage, stack: ConsoleStack, account: Account
) -> None:
    stack.publish(
        passed(account, CAMERA.id, CAMERA.name, 0, captured_ms=now_ms() - 600_000), is_live=False
    )
    console.expected.append(REFUSED)
    console.log_in(account, "/webhooks/new")
    console.fill("Name", "Barrier")
    console.fill("URL", "http://192.168.1.9/")
    console.page.get_by_label("recognition.created").check()
    console.press("Create webhook")
    console.sees("http://192.168.1.9/ is in a private network.")
    console.fill("URL", "http://127.0.0.1:9/")
    console.press("Create webhook")
    console.page.wait_for_url(re.compile(r"/webhooks/[0-9a-f-]{36}$"))
    console.press("Send test")
    console.sees("Test queued.")
    console.press("Replay events")
    console.sees("1 event queued for replay")
    console.press("Show secret")
    before = console.page.locator(".secret").inner_text()
    console.press("Rotate secret")
    console.sees("Requests are also signed with the previous secret until")
    assert console.page.locator(".secret").inner_text() != before


@pytest.mark.long
def test_what_was_sent_of_a_recognition(console: ConsolePage, stack: ConsoleStack) -> None:
    account = stack.new_account()
    row = passed(account, CAMERA.id, CAMERA.name, 0, captured_ms=now_ms() - 5000)
    stack.publish(row, is_live=False)
    console.log_in(account, f"/recognitions/{row.id}")
    console.sees("Nothing was sent")
    events = ["recognition.created"]
    body: dict[str, object] = {"name": "Barrier", "url": "http://127.0.0.1:9/", "events": events}
    made = _asked(console, "POST", "/api/webhooks", body)
    delivery = recognition_delivery(
        row, uuid.UUID(made["webhook"]["id"]), created_ms=row.captured_ms
    )
    stack.attempt(
        DeliveryAttempt(
            id=attempt_id(delivery, 1),
            delivery=delivery,
            number=1,
            started_ms=now_ms(),
            duration_ms=12,
            outcome=AttemptOutcome.DEAD,
            status=503,
            error="Received status 503.",
        )
    )
    console.page.reload()

    line = console.page.get_by_role("row").filter(has_text="Barrier")
    expect(line).to_contain_text("Failed")
    expect(line).to_contain_text("Received status 503.")
    line.get_by_role("button", name="Redeliver").click()
    console.sees("Redelivery queued.")


@pytest.mark.long
def test_correct_a_reading_and_take_it_back(console: ConsolePage, stack: ConsoleStack) -> None:
    account = stack.new_account()
    row = passed(account, CAMERA.id, CAMERA.name, 0, captured_ms=now_ms() - 5000)
    stack.put_images(row, 0)
    stack.publish(row, is_live=False)
    console.expected.append(REFUSED)
    console.log_in(account, f"/recognitions/{row.id}")
    console.press("Correct plate")
    console.fill("Actual plate", "?")
    console.press("Save correction")
    console.sees('must not contain "?" (U+003F) at position 1')
    assert console.violations() == []
    console.fill("Actual plate", "va 677 vk")
    console.press("Save correction")
    console.sees("Correction saved")
    kept = console.page.locator(".correction")
    expect(kept.locator(".plate")).to_have_text("VA677VK")
    expect(kept).to_contain_text(account.email)
    expect(console.page.locator("h1 .plate")).to_have_text(row.plate)
    console.press("Remove correction")
    console.sees("Correction removed")
    console.page.reload()
    expect(console.page.get_by_role("button", name="Correct plate")).to_be_visible()


@pytest.mark.long
def test_paste_a_table_of_plates(console: ConsolePage, account: Account) -> None:
    console.log_in(account, "/alerts")
    console.follow("Create alert")
    console.fill("Plates", "J915ZE")
    field = console.page.get_by_label("Plates", exact=True)
    field.evaluate(
        """(field) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", "License Plate;Owner\\nB-AB 123;Max Mustermann");
          field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
        }"""
    )
    console.sees("2 plates, 1 named")
    console.sees("1 header row ignored")
    expect(field).to_have_value("J915ZE\nB-AB 123 = Max Mustermann")

    console.choose("File encoding", "windows-1251")
    console.page.get_by_label("Plate list file").set_input_files(
        {
            "name": "a.csv",
            "mimeType": "text/csv",
            "buffer": "\u0410123\u0412\u0421".encode("cp1251"),
        }
    )
    console.sees("3 plates, 1 named")


@pytest.mark.long
def test_erase_a_plate(console: ConsolePage, stack: ConsoleStack) -> None:
    account = stack.new_account()
    row = passed(account, CAMERA.id, CAMERA.name, 0, captured_ms=now_ms() - 5000)
    stack.put_images(row, 0)
    stack.publish(row, is_live=False)
    console.expected.append(NOT_FOUND)
    console.log_in(account, f"/search?plate={row.plate}&match=exact&view=history")
    console.sees("More actions").click()
    console.press("Erase plate")
    button = console.page.get_by_role("dialog").get_by_role("button", name="Erase plate")
    console.fill("Type the plate to confirm", row.plate[:-1])
    expect(button).to_be_disabled()
    console.fill("Type the plate to confirm", "\u00b7".join(row.plate.lower()))
    button.click()
    console.sees("Waiting to start.")
    assert console.violations() == []
    stack.run(stack.application.services.erasure_jobs.sweep())
    console.sees("Plate erased.")
    expect(console.page.locator("dialog div").filter(has_text="Images")).to_have_text("Images2")
    console.press("Close")
    console.sees("No results")
    console.go(f"/recognitions/{row.id}")
    console.sees("Recognition not found")
    console.go("/account")
    line = console.page.get_by_role("row").filter(has_text=mask_plate(row.plate))
    expect(line).to_contain_text("Recognitions: 1, Images: 2")


@pytest.mark.long
def test_make_a_key_and_revoke_it(console: ConsolePage, account: Account) -> None:
    console.log_in(account, "/keys")
    console.press("Create API key")
    dialog = console.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Wall display")
    dialog.get_by_role("button", name="Full access").click()
    expect(dialog.get_by_role("checkbox", checked=True)).to_have_count(15)
    dialog.get_by_role("button", name="Custom").click()
    dialog.get_by_role("button", name="Create API key").click()
    console.sees("only a hash is stored")
    key = console.page.locator("dialog .secret").inner_text()
    assert re.fullmatch(r"pk_\w{40}", key)
    console.page.keyboard.press("Escape")
    console.sees("You haven't copied the key yet.")
    console.press("Close without copying")
    line = console.page.get_by_role("row").filter(has_text="Wall display")
    expect(line).to_contain_text("recognitions:read")
    line.get_by_role("button", name="Revoke").click()
    console.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    console.sees("API key revoked")
    expect(line).to_have_count(0)


@pytest.mark.long
def test_the_figures_of_a_month(console: ConsolePage, scene: Scene) -> None:
    console.log_in(scene.account, "/analytics")
    console.sees("By hour of day")
    week = console.page.locator(".facts div").filter(has_text="Last 7 full days")
    expect(week).to_contain_text(re.compile(r"[+−]\d+% vs previous 7 days"))
    figure = console.page.get_by_role("figure").filter(has_text="By hour of day")
    figure.get_by_text("View as table").click()
    expect(figure.get_by_role("row")).to_have_count(25)
    console.press("Today")
    console.page.wait_for_url("**/analytics?days=1")
    expect(console.page.get_by_role("figure").filter(has_text="By day")).to_have_count(0)
    console.press("Last 7 days")
    console.page.get_by_role("figure").filter(has_text="Most frequent").get_by_role(
        "link"
    ).first.click()
    console.sees("First seen")


def test_in_portuguese_by_the_browsers_language(
    browser: Browser, stack: ConsoleStack, scene: Scene
) -> None:
    with opened_page(browser, stack, locale="pt-PT") as console:
        console.go("/alerts")
        console.fill("E-mail", scene.account.email)
        console.fill("Senha", "a password of a test")
        console.press("Entrar")
        expect(console.page.get_by_role("heading", level=1)).to_have_text("Alertas")
        expect(console.page.locator("html")).to_have_attribute("lang", "pt-BR")
        console.follow("Pesquisa")
        day = datetime.fromtimestamp(scene.newest.captured_ms / 1000, tz=ZoneInfo(TIMEZONE))
        console.sees(f"{day:%d/%m/%Y}")
        console.expected += [REFUSED]
        console.go("/cameras/new")
        console.fill("URL do stream", "ftp://nowhere")
        console.press("Testar stream")
        console.sees("A URL do stream precisa começar com um destes: rtsp, rtsps, http, https.")


def _first_picture(route: Route) -> None:
    """Respond as the API does if a camera sends an image; these tests have no camera."""
    picture = base64.b64encode(pictures()[0].photo).decode()
    size = {"frameWidth": 1280, "frameHeight": 720, "milliseconds": 400, "keyFrameSeconds": 2}
    tested = {"reachable": True, "error": None, "code": None, "picture": picture, **size}
    route.fulfill(json={"test": tested})


def _alert(console: ConsolePage, name: str, **fields: object) -> str:
    body = {"name": name, "plateMatchMode": "specific", "plates": ["VA677VR"], **fields}
    made = _asked(console, "POST", "/api/alertas", body)
    return str(made["alert"]["id"])


def _asked(
    console: ConsolePage, method: str, path: str, body: dict[str, object] | None = None
) -> dict[str, Any]:
    """Call the API with the page's cookie, as the page does, and return the decoded response."""
    ask = """async ([method, path, body]) => {
        const headers = body ? {"Content-Type": "application/json"} : {};
        const answer = await fetch(path, {method, headers, body: body && JSON.stringify(body)});
        return answer.json();
    }"""
    found: dict[str, Any] = console.page.evaluate(ask, [method, path, body])
    return found


def _trigger(
    account: Account, recognition: uuid.UUID, alert_id: str, captured_ms: int
) -> TriggerRow:
    return TriggerRow(
        user_id=account.id,
        alert_id=uuid.UUID(alert_id),
        captured_ms=captured_ms,
        id=uuid.uuid4(),
        recognition_id=recognition,
        camera_id=CAMERA.id,
        camera_name=CAMERA.name,
        plate=SEEN[0].plate,
        confidence=0.98,
        alert_name="Watched",
        alert_revision=1,
        decided_ms=captured_ms + 900,
        is_late=False,
        phase=TriggerPhase.FINAL,
    )
