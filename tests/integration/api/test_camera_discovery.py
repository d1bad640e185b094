"""Cameras are found through the API, asked for their streams, and tested."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from api.db.database import Database
from tests.integration.api.application import Application, Options, running_application
from tests.integration.api.serving import served
from tests.integration.api.test_remote_commands import Line
from tests.integration.ingest.test_onvif import RULES
from tests.services.onvif import PASSWORD, USER, OnvifCamera

pytestmark = pytest.mark.integration

PATH = "/api/cameras/discover"


@pytest.fixture
async def application(database: Database) -> AsyncIterator[Application]:
    more = {"camera_allow_loopback": True, "camera_denied_networks": RULES.denied_networks}
    async with running_application(database, Options(more=more)) as app:
        yield app


async def _answer(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_camera_is_found_and_lists_its_streams(client: httpx.AsyncClient) -> None:
    with OnvifCamera("rtsp://10.0.0.1/main") as camera:
        device = {"address": camera.host, "deviceUrl": camera.url}
        device |= {"name": "Gate north", "model": "M1"}
        at_address = await _answer(client, PATH, {"address": camera.host})
        everywhere = await _answer(client, PATH, {})
        body = {"deviceUrl": camera.url, "username": USER, "password": PASSWORD}
        listed = await _answer(client, f"{PATH}/streams", body)
        refused = await _answer(client, f"{PATH}/streams", {**body, "password": "wrong"})

    assert at_address == {"code": None, "error": None, "devices": [device]}
    assert device in everywhere["devices"]
    assert listed["streams"] == [
        {
            "name": "Stream 1",
            "rtspUrl": f"rtsp://{camera.host}/main",
            "codec": "H264",
            "frameWidth": 1920,
            "frameHeight": 1080,
        }
    ]
    assert refused["streams"] == []
    assert refused["code"] == "credentials"
    assert refused["error"] == "The camera rejected the user name or password. Correct them."


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        (PATH, "address", "169.254.169.254"),
        (PATH, "address", "10.0.0.8"),
        (PATH, "address", "no host"),
        (f"{PATH}/streams", "deviceUrl", "http://10.0.0.8/onvif/device_service"),
        (f"{PATH}/streams", "deviceUrl", "rtsp://127.0.0.1/1"),
    ],
)
async def test_an_address_that_no_camera_can_have_is_400(
    client: httpx.AsyncClient, path: str, field: str, value: str
) -> None:
    answer = await client.post(path, json={field: value})

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, field)


async def test_the_command_line_lists_cameras_and_their_streams(application: Application) -> None:
    caller = await application.new_owner()
    async with served(application) as address:
        line = Line({"PLATESTREAM_URL": address, "PLATESTREAM_KEY": caller.key})
        with OnvifCamera("rtsp://10.0.0.1/main") as camera:
            found = await line.run("cameras", "discover", camera.host)
            login = ("--username", USER, "--password-stdin")
            listed = await line.json("cameras", "streams", camera.url, *login, given=PASSWORD)
            refused = await line.run("cameras", "streams", camera.url, *login, status=1)

    assert found.split() == ["NAME", "MODEL", "DEVICEURL", "Gate", "north", "M1", camera.url]
    assert [one["rtspUrl"] for one in listed["streams"]] == [f"rtsp://{camera.host}/main"]
    assert refused == "error: The camera rejected the user name or password. Correct them."
