"""Imports of plates and cameras from CSV files."""

from collections.abc import AsyncIterator

import httpx
import pytest

from api.security.permissions import Scope
from tests.integration.api.application import Application

pytestmark = pytest.mark.integration

PLATES, CAMERAS = "/api/alertas/plates/import", "/api/cameras/import"
CSV = {"Content-Type": "text/csv"}


@pytest.fixture
async def client(application: Application) -> AsyncIterator[httpx.AsyncClient]:
    async with application.client(await application.new_owner()) as found:
        yield found


async def test_plates_of_a_file_can_be_put_into_an_alert(client: httpx.AsyncClient) -> None:
    data = "Kennzeichen;Halter\r\nB-ÄB 123;Müller\r\nAB/123;x\r\n".encode("cp1252")
    answer = await client.post(PLATES, content=data, headers=CSV)

    assert answer.status_code == 200
    found = answer.json()
    assert found == {
        "plates": ["B-ÄB 123"],
        "plateNames": {"B-ÄB 123": "Müller"},
        "rows": 3,
        "taken": 1,
        "duplicates": 0,
        "blank": 0,
        "headings": 1,
        "skippedCount": 1,
        "skipped": [
            {
                "line": 3,
                "text": "AB/123",
                "code": "invalid_character",
                "reason": 'must not contain "/" (U+002F) at position 3; a plate has only letters'
                " and digits that can be written as A to Z and 0 to 9",
                "position": 3,
            }
        ],
        "encoding": "windows-1252",
        "separator": ";",
    }
    alert = {"name": "List", "plates": found["plates"], "plateNames": found["plateNames"]}
    assert (await client.post("/api/alertas", json=alert)).status_code == 201
    assert len((await client.get("/api/alertas")).json()["alerts"]) == 1


async def test_cameras_of_a_file_are_bodies_of_new_cameras(client: httpx.AsyncClient) -> None:
    text = 'NAME;rtspurl;sampleFps;enabled;\nGate;rtsp://10.0.0.1/a;2,5;no;\n"x\n;;;\nEntrée;;;;\n'
    answer = await client.post(CAMERAS, content=text.encode("cp1252"), headers=CSV)

    assert answer.status_code == 200
    gate = {"name": "Gate", "rtspUrl": "rtsp://10.0.0.1/a", "sampleFps": 2.5, "enabled": False}
    assert answer.json() == {
        "cameras": [
            {"line": 2, "camera": gate},
            {"line": 5, "camera": {"name": "Entrée", "rtspUrl": ""}},
        ],
        "skipped": [
            {
                "line": 3,
                "text": '"x',
                "code": "unreadable_row",
                "reason": "has a misplaced or unclosed quotation mark",
            }
        ],
        "encoding": "windows-1252",
        "separator": ";",
    }


@pytest.mark.usefixtures("worker")
async def test_user_names_and_passwords_have_columns(client: httpx.AsyncClient) -> None:
    text = (
        "name,rtspUrl,username,password\n"
        "Gate,rtsp://10.0.0.8/1,viewer,p#ss@/%\n"
        "Yard,rtsp://10.0.0.9/1,,secret\n"
    )
    found = (await client.post(CAMERAS, content=text, headers=CSV)).json()["cameras"]
    gate, yard = [await client.post("/api/cameras", json=row["camera"]) for row in found]

    assert gate.status_code == 201
    assert gate.json()["camera"]["rtspUrl"] == "rtsp://viewer:***@10.0.0.8/1"
    assert (yard.status_code, yard.json()["fields"][0]["path"]) == (400, "username")


@pytest.mark.parametrize(
    ("path", "data", "sentence"),
    [
        (PLATES, b"PK\x03\x04", "The file is a spreadsheet, for example Excel. Save it as CSV."),
        (CAMERAS, b"\x00\x01", "The file is not a text file. Save it as CSV."),
        (
            CAMERAS,
            b"name\nGate\n",
            "The first line must name the columns. Missing columns: rtspUrl.",
        ),
    ],
)
async def test_what_is_no_such_file_is_a_sentence(
    client: httpx.AsyncClient, path: str, data: bytes, sentence: str
) -> None:
    answer = await client.post(path, content=data, headers=CSV)

    assert (answer.status_code, answer.json()["code"]) == (400, "unreadable_file")
    assert answer.json()["error"] == sentence


@pytest.mark.parametrize("path", [PLATES, CAMERAS])
async def test_imports_are_limited(application: Application, path: str) -> None:
    reader = await application.new_owner(scopes=frozenset({Scope.ALERTS_READ, Scope.CAMERAS_READ}))
    async with application.client(reader) as client:
        assert (await client.post(path, content=b"AB1", headers=CSV)).status_code == 403
    async with application.client(await application.new_owner()) as client:
        long = await client.post(path, content=b"a" * 262_145, headers=CSV)
        other = await client.post(path, json={})
        odd = await client.post(f"{path}?encoding=ebcdic", content=b"AB1", headers=CSV)
    assert (long.status_code, other.status_code, odd.status_code) == (413, 415, 400)
    assert odd.json()["fields"][0]["path"] == "encoding"
