"""The ``platestream`` commands that call the API with a key, over a real connection."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from sqlalchemy import select
from typer.testing import CliRunner, Result

from analytics_sql.recognitions import recognition_row
from api.cli.app import app
from api.db.database import Database
from api.db.tables import Camera
from common.errors import EXIT_MISCONFIGURED
from tests.integration.api.application import (
    Application,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.serving import served
from tests.records import recognition

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Line:
    """The command line of a person who has a key."""

    environment: dict[str, str]

    async def run(self, *arguments: str, given: str | bytes = "", status: int = 0) -> str:
        """Return the readable output of a command, or the error line if the command fails."""
        done = await self._done(arguments, given, status)
        # In this process, the service logs to the same stream.
        return done.stdout if status == 0 else done.stderr.splitlines()[-1]

    async def json(self, *arguments: str, given: str | bytes = "", status: int = 0) -> Any:
        """Return the JSON output of a command."""
        return json.loads((await self._done((*arguments, "--json"), given, status)).stdout)

    async def _done(self, arguments: Sequence[str], given: str | bytes, status: int) -> Result:
        done: Result = await asyncio.to_thread(
            CliRunner().invoke, app, list(arguments), input=given, env=self.environment
        )
        assert done.exit_code == status, done.output
        return done


@pytest.fixture
async def application(
    database: Database, stored: StandInStore, tmp_path: Path
) -> AsyncIterator[Application]:
    options = Options(store=stored, camera_files=tmp_path)
    async with running_application(database, options) as found:
        yield found


@pytest.fixture
async def line(application: Application) -> AsyncIterator[Line]:
    caller = await application.new_owner(credits=5)
    async with served(application) as address:
        yield Line({"PLATESTREAM_URL": address, "PLATESTREAM_KEY": caller.key})


async def test_cameras_of_a_file_are_added_once(application: Application, line: Line) -> None:
    rows = (
        "name;rtspUrl;sampleFps;enabled",
        "Gate;rtsp://10.0.0.1/a;5;no",
        "Yard;rtsp://10.0.0.2/b;;yes",
        "Odd;gopher://x;;",
    )
    async with taking_cameras(application):
        first = await line.json("cameras", "import", "-", given="\n".join(rows), status=1)
        again = await line.json("cameras", "import", "-", given="\n".join(rows[:3]))
        listed = await line.json("cameras", "list")

    assert (first["added"], first["already there"], first["failed"]) == (2, 0, 1)
    assert (first["lines"][2]["line"], "rtspUrl" in first["lines"][2]["error"]) == (4, True)
    assert (again["added"], again["already there"], again["failed"]) == (0, 2, 0)
    assert {one["name"]: one["enabled"] for one in listed["cameras"]} == {
        "Gate": False,
        "Yard": True,
    }


async def test_a_file_of_other_columns_is_refused(line: Line) -> None:
    said = await line.run("cameras", "import", "-", given="title,url\na,b", status=1)

    assert "Unknown columns: title, url" in said


async def test_files_of_other_encodings_are_read_with_a_report(
    application: Application, line: Line
) -> None:
    made = await line.json("alerts", "add", "--name", "Stolen")
    alert = made["alert"]["id"]
    plates = "License Plate;Halter\r\nB-ÄB 123;Müller\r\nAB/123;x\r\nb äb 123;y\r\n".encode(
        "cp1252"
    )
    done = await line.json("alerts", "plates", alert, "-", given=plates, status=1)
    nothing = await line.run("alerts", "plates", alert, "-", given=b"AB/1\n", status=1)
    shown = json.loads(await line.run("alerts", "show", alert))
    async with taking_cameras(application):
        cameras = "name,rtspUrl\nEntrée,rtsp://10.0.0.1/a\n".encode("cp1252")
        added = await line.json("cameras", "import", "-", given=cameras)

    report = done["import"]
    assert (report["taken"], report["duplicates"], report["encoding"]) == (1, 1, "windows-1252")
    assert [(row["line"], row["text"]) for row in report["skipped"]] == [(3, "AB/123")]
    assert nothing == ("error: the file contains no usable plate; the alert was not changed")
    assert (shown["plates"], shown["plateNames"]) == (["B-ÄB 123"], {"B-ÄB 123": "Müller"})
    assert added["lines"][0]["name"] == "Entrée"


async def test_a_camera_from_its_beginning_to_its_end(application: Application, line: Line) -> None:
    async with taking_cameras(application):
        given = "rtsp://u:secret@10.0.0.1/a\n"
        made = await line.json("cameras", "add", "Gate", "-", given=given)
        camera = made["camera"]["id"]
        await line.run("cameras", "disable", camera)
        shown = await line.json("cameras", "status", camera, status=1)
        gone = await line.json("cameras", "remove", camera, "--yes")
        after = await line.run("cameras", "status", camera, status=1)

    assert made["camera"]["rtspUrl"] == "rtsp://u:***@10.0.0.1/a"
    assert shown["camera"]["status"] == "disabled"
    assert gone == {"creditsRefunded": 0}
    assert after.startswith("error: ")


async def test_a_password_comes_from_standard_input(application: Application, line: Line) -> None:
    url, login = "rtsp://10.0.0.1/a", ("--username", "viewer")
    async with taking_cameras(application):
        by_line = ("cameras", "add", "Gate", "-", *login, "--password-stdin")
        made = await line.json(*by_line, given=f"{url}\np#ss \n")
        asked = await line.run("cameras", "add", "Yard", f"{url}/2", *login, given="p#ss\n")
    query = select(Camera.stream_url_encrypted)
    rows = await application.database.run(lambda session: session.scalars(query).all())

    assert made["camera"]["rtspUrl"] == "rtsp://viewer:***@10.0.0.1/a"
    assert "p#ss" not in asked
    assert {application.box.decrypt(sealed) for sealed in rows} == {
        "rtsp://viewer:p%23ss%20@10.0.0.1/a",
        "rtsp://viewer:p%23ss@10.0.0.1/a/2",
    }


async def test_an_address_is_tried(line: Line, tmp_path: Path) -> None:
    (tmp_path / "nothing.mp4").write_bytes(b"\x00\x00\x00\x18ftypmp42" + b"nothing" * 1000)
    test = await line.json("cameras", "test", f"file://{tmp_path}/nothing.mp4", status=1)

    assert test["test"]["reachable"] is False


async def test_alerts_and_their_plates(line: Line) -> None:
    made = await line.json(
        *("alerts", "add", "--name", "Stolen", "--plate", "AB12CDE", "--email", "a@b.example")
    )
    alert = made["alert"]["id"]
    said = await line.run("alerts", "plates", alert, "-", given="XY1\n\n XY2*\n")
    shown = json.loads(await line.run("alerts", "show", alert))
    await line.run("alerts", "disable", alert)
    copied = await line.json("alerts", "add", "--file", "-", given=json.dumps(shown))
    table = await line.run("alerts", "list")
    await line.run("alerts", "remove", alert, "--yes")

    assert said.splitlines() == [
        "2 accepted, 0 duplicates, 0 skipped (utf-8)",
        "Stolen now has 2 plates",
    ]
    assert shown["plates"] == ["XY1", "XY2*"]
    assert copied["alert"]["plates"] == shown["plates"]
    assert [row.split()[2] for row in table.splitlines()[1:]] == ["yes", "no"]
    assert len((await line.json("alerts", "list"))["alerts"]) == 1


async def test_what_the_api_refuses_is_a_sentence(line: Line) -> None:
    said = await line.run("alerts", "add", "--name", "x", "--plate", "!", status=1)

    assert said.startswith("error: ")
    assert "plates" in said


async def test_webhooks_and_keys(line: Line) -> None:
    hook = await line.json(
        *("webhooks", "add", "Gate", "https://r.example.com", "--event", "alert.triggered")
    )
    webhook = hook["webhook"]["id"]
    tested = await line.json("webhooks", "test", webhook)
    deliveries = await line.json("webhooks", "deliveries", webhook)
    replayed = await line.json("webhooks", "replay", webhook, "--from", "1h")
    await line.run("webhooks", "remove", webhook, "--yes")
    key = await line.json("keys", "create", "reader", "--scope", "cameras:read")
    await line.run("keys", "revoke", key["apiKey"]["id"], "--yes")
    keys = await line.json("keys", "list")

    assert tested["delivery"]["event"] == "alert.triggered"
    assert (deliveries["deliveries"], replayed["queued"]) == ([], 0)
    assert [one["name"] for one in keys["apiKeys"]] == ["test"]


async def test_photos_are_read_and_an_invalid_one_is_reported(line: Line, tmp_path: Path) -> None:
    photo, broken = tmp_path / "photo.png", tmp_path / "broken.png"
    cv2.imwrite(str(photo), np.zeros((48, 64, 3), np.uint8))
    broken.write_bytes(b"nothing")
    said = await line.json("recognize", str(photo), str(broken), status=1)

    assert said["photos"][0]["plates"] == []
    assert said["photos"][0]["creditsRemaining"] == 4
    assert "error" in said["photos"][1]


async def test_a_search_shows_what_was_found(stored: StandInStore, line: Line) -> None:
    found = await line.json("search", "AB12", "--match", "prefix", "--from", "7d", "--limit", "3")
    stored.recognitions = (recognition_row(recognition(1)),)
    table = await line.run("search")
    nonsense = await line.run("search", "--from", "yesterday", status=1)

    assert found == {"recognitions": []}
    assert "AB00001" in table.splitlines()[1]
    assert "30m, 24h or 7d" in nonsense


async def test_the_doctor_says_what_is_wrong(application: Application, line: Line) -> None:
    await line.run("alerts", "add", "--name", "Yard", "--email", "a@b.example")
    async with taking_cameras(application):
        await line.run("cameras", "add", "Gate", "rtsp://10.0.0.1/a")
    found = await line.json("doctor", status=1)
    grades = {one["what"]: one["grade"] for one in found["findings"]}

    assert grades["camera Gate"] == "fault"
    assert grades["alert Yard"] == "fault"
    assert (grades["clock"], grades["credits"]) == ("ok", "warning")


async def test_without_an_address_or_a_right_key(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nothing = Line({"PLATESTREAM_URL": "", "PLATESTREAM_KEY": ""})
    wrong = Line(line.environment | {"PLATESTREAM_KEY": "pk_wrong"})
    nobody = Line({"PLATESTREAM_URL": "http://127.0.0.1:1", "PLATESTREAM_KEY": "pk_x"})

    assert "PLATESTREAM_URL and PLATESTREAM_KEY" in await nothing.run(
        "search", status=EXIT_MISCONFIGURED
    )
    assert "invalid_credentials" in await wrong.run("search", status=1)
    assert "is not responding" in await nobody.run("alerts", "add", "--name", "x", status=1)


async def test_the_local_stacks_key_goes_to_no_other_address(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address, key = line.environment.values()
    access = tmp_path / ".local" / "access.json"
    access.parent.mkdir()
    access.write_text(json.dumps({"baseUrl": address, "apiKey": key}))
    local = Line({"PLATESTREAM_URL": "", "PLATESTREAM_KEY": ""})
    other = Line({"PLATESTREAM_URL": f"http://{uuid.uuid4().hex}.example", "PLATESTREAM_KEY": ""})

    assert await local.json("search") == {"recognitions": []}
    await other.run("search", status=EXIT_MISCONFIGURED)
