"""Cameras through the API, with and without a worker that claims the cameras."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from analytics_sql.traffic.camera_counts import CameraHour
from api.db.database import Database
from common.records.cameras import CameraConfig, CameraState
from common.records.codec import decode
from common.records.counts import FrameCounts
from tests.integration.api.application import (
    Application,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.camera_worker import camera_status, taking_cameras, unconfirmed_cameras

pytestmark = pytest.mark.integration

STREAM = "rtsp://viewer:hunter2@10.0.0.8:554/stream1?channel=1"
BODY = {"name": "Gate", "rtspUrl": STREAM}


@pytest.mark.usefixtures("worker")
async def test_create_answers_with_the_whole_camera(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/cameras", json=BODY)

    assert answer.status_code == 201
    camera = answer.json()["camera"]
    assert UUID(camera.pop("id"))
    assert datetime.fromisoformat(camera.pop("createdAt")).tzinfo == UTC
    assert camera.pop("identifier").startswith("stream-")
    assert camera == {
        "name": "Gate",
        "location": "",
        "rtspUrl": "rtsp://viewer:***@10.0.0.8:554/stream1?channel=1",
        "enabled": True,
        "status": "connecting",
        "lastSeenAt": None,
        "lastError": None,
        "frameWidth": None,
        "frameHeight": None,
        "decoder": None,
        "sampleFps": None,
        "zones": [],
        "minPlateWidth": 0,
        "timezone": None,
    }


@pytest.mark.usefixtures("worker")
async def test_every_optional_field_is_stored(client: httpx.AsyncClient) -> None:
    zone = {"kind": "include", "points": [{"x": 0, "y": 0}, {"x": 1, "y": 0}, {"x": 0.5, "y": 1}]}
    body = BODY | {
        "location": "Yard",
        "enabled": False,
        "identifier": "gate-1",
        "sampleFps": 2.5,
        "zones": [zone],
        "minPlateWidth": 60,
        "timezone": "Europe/Lisbon",
    }
    created = (await client.post("/api/cameras", json=body)).json()["camera"]

    listed = (await client.get("/api/cameras")).json()["cameras"]
    assert listed == [created]
    assert {name: created[name] for name in body if name != "rtspUrl"} == {
        name: value for name, value in body.items() if name != "rtspUrl"
    }
    assert created["status"] == "disabled"


async def test_without_a_worker_it_is_502_and_nothing_is_stored(
    application: Application, client: httpx.AsyncClient
) -> None:
    started = time.monotonic()
    answer = await client.post("/api/cameras", json=BODY)

    assert (answer.status_code, answer.json()["code"]) == (502, "agent_unavailable")
    assert time.monotonic() - started < 5
    assert (await client.get("/api/cameras")).json() == {"cameras": []}
    assert await _count(application.database, "SELECT count(*) FROM cameras") == 0
    (published, deleted) = await _outbox(application.database)
    assert published[1] is not None
    assert deleted == (published[0], None)
    async with taking_cameras(application):
        assert (await client.post("/api/cameras", json=BODY)).status_code == 201


async def test_a_camera_is_hidden_until_it_is_taken(
    application: Application, client: httpx.AsyncClient
) -> None:
    creating = asyncio.create_task(client.post("/api/cameras", json=BODY))
    camera_id = await _unconfirmed(application.database)
    assert (await client.get("/api/cameras")).json() == {"cameras": []}
    for method in ("PUT", "DELETE"):
        answer = await client.request(
            method, f"/api/cameras/{camera_id}", json={} if method == "PUT" else None
        )
        assert answer.status_code == 404
    assert (await creating).status_code == 502


async def test_what_a_killed_process_left_is_swept(
    application: Application, client: httpx.AsyncClient
) -> None:
    creating = asyncio.create_task(client.post("/api/cameras", json=BODY))
    await _unconfirmed(application.database)
    await application.database.run(
        lambda session: session.execute(
            text("UPDATE cameras SET created_at = now() - interval '11 s'")
        )
    )

    assert await application.services.cameras.sweep() == 1
    assert await _count(application.database, "SELECT count(*) FROM cameras") == 0
    assert [value for _, value in await _outbox(application.database)][-1] is None
    # The call that was presumed dead notices that its camera was deleted.
    assert (await creating).status_code == 502


@pytest.mark.usefixtures("worker")
async def test_the_same_stream_or_identifier_twice_is_409(client: httpx.AsyncClient) -> None:
    assert (await client.post("/api/cameras", json=BODY)).status_code == 201
    same_stream = BODY | {"rtspUrl": "rtsp://other:password@10.0.0.8/stream1?channel=1"}
    for body in (BODY, same_stream):
        answer = await client.post("/api/cameras", json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_identifier")
        assert answer.json()["fields"][0]["path"] == "rtspUrl"

    named = [
        BODY | {"rtspUrl": f"rtsp://10.0.0.{number}/", "identifier": "dock"} for number in (1, 2)
    ]
    assert (await client.post("/api/cameras", json=named[0])).status_code == 201
    second = (await client.post("/api/cameras", json=named[1])).json()
    assert second["fields"][0]["path"] == "identifier"
    # The same stream is accepted under another identifier.
    assert (
        await client.post("/api/cameras", json=BODY | {"identifier": "second view"})
    ).status_code == 201


@pytest.mark.usefixtures("worker")
async def test_frames_of_an_accounts_cameras_are_limited_in_total(
    client: httpx.AsyncClient,
) -> None:
    async def made(number: int, **fields: object) -> httpx.Response:
        body = {"name": "Gate", "rtspUrl": f"rtsp://10.0.0.8/{number}", **fields}
        return await client.post("/api/cameras", json=body)

    async def changed(camera_id: str, **fields: object) -> int:
        return (await client.put(f"/api/cameras/{camera_id}", json=fields)).status_code

    fast = (await made(1, sampleFps=60)).json()["camera"]["id"]
    # The cameras have 60, 5 (the default) and 35 frames per second, which is 100 in total.
    usual = (await made(2)).json()["camera"]["id"]
    assert (await made(3, sampleFps=35)).status_code == 201
    refused = await made(4, sampleFps=0.5)
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    assert "limit of 100 frames per second" in refused.json()["error"]
    assert (await made(5, sampleFps=60, enabled=False)).status_code == 201

    assert await changed(usual, sampleFps=6) == 409
    assert await changed(usual, name="Yard", sampleFps=5) == 200
    assert await changed(fast, sampleFps=10) == 200
    assert await changed(usual, sampleFps=55) == 200
    assert await changed(fast, sampleFps=11) == 409


@pytest.mark.usefixtures("worker")
async def test_the_limit_of_cameras_is_409(client: httpx.AsyncClient) -> None:
    bodies = [BODY | {"rtspUrl": f"rtsp://10.0.0.{number}/"} for number in range(1, 7)]
    answers = [await client.post("/api/cameras", json=body) for body in bodies]

    assert [answer.status_code for answer in answers] == [201] * 5 + [409]
    assert answers[-1].json()["code"] == "limit_reached"


@pytest.mark.usefixtures("worker")
async def test_update_changes_what_is_sent_and_nothing_else(
    application: Application, client: httpx.AsyncClient
) -> None:
    created = (await client.post("/api/cameras", json=BODY)).json()["camera"]
    path = f"/api/cameras/{created['id']}"
    renamed = (await client.put(path, json={"name": "North gate"})).json()["camera"]
    assert renamed == created | {"name": "North gate"}

    config = await _latest_config(application.database)
    assert (config.revision, config.name) == (2, "North gate")
    # Without a change, no record is published.
    assert (await client.put(path, json={"name": "North gate"})).status_code == 200
    assert (await _latest_config(application.database)).revision == 2


@pytest.mark.usefixtures("worker")
async def test_a_masked_password_keeps_the_stored_one(
    application: Application, client: httpx.AsyncClient
) -> None:
    created = (await client.post("/api/cameras", json=BODY)).json()["camera"]
    path = f"/api/cameras/{created['id']}"
    same = await client.put(path, json={"rtspUrl": created["rtspUrl"]})
    assert same.json()["camera"] == created
    assert (await _latest_config(application.database)).revision == 1

    other_path = created["rtspUrl"].replace("/stream1", "/stream2")
    updated = (await client.put(path, json={"rtspUrl": other_path})).json()["camera"]
    assert updated["rtspUrl"] == other_path
    # The identifier is derived from the stream.
    assert updated["identifier"] != created["identifier"]
    sealed = (await _latest_config(application.database)).stream_url_encrypted
    assert application.box.decrypt(sealed) == STREAM.replace("/stream1", "/stream2")


@pytest.mark.usefixtures("worker")
async def test_separate_credentials_become_part_of_the_stored_url(
    application: Application, client: httpx.AsyncClient
) -> None:
    async def stored() -> str:
        sealed = (await _latest_config(application.database)).stream_url_encrypted
        return application.box.decrypt(sealed)

    given = {"rtspUrl": " rtsp://10.0.0.8/1", "username": "viewer", "password": "p#ss@/%"}
    made = await client.post("/api/cameras", json={"name": "Gate", **given})
    assert (made.status_code, made.json()["camera"]["rtspUrl"]) == (
        201,
        "rtsp://viewer:***@10.0.0.8/1",
    )
    assert await stored() == "rtsp://viewer:p%23ss%40%2F%25@10.0.0.8/1"

    path = f"/api/cameras/{made.json()['camera']['id']}"
    same = await client.put(path, json=made.json()["camera"] | {"password": "p#ss@/%"})
    assert same.json() == made.json()
    refused = await client.put(path, json={"username": "root"})
    assert (refused.status_code, refused.json()["fields"][0]["path"]) == (400, "password")
    changed = await client.put(path, json={"username": "root", "password": "né"})
    assert changed.json()["camera"]["rtspUrl"] == "rtsp://root:***@10.0.0.8/1"
    assert await stored() == "rtsp://root:n%C3%A9@10.0.0.8/1"


@pytest.mark.usefixtures("worker")
async def test_a_masked_password_goes_to_no_other_host(
    application: Application, client: httpx.AsyncClient
) -> None:
    created = (await client.post("/api/cameras", json=BODY)).json()["camera"]
    path = f"/api/cameras/{created['id']}"
    elsewhere = created["rtspUrl"].replace("10.0.0.8", "10.0.0.9")
    refused = await client.put(path, json={"rtspUrl": elsewhere})

    assert refused.status_code == 400
    assert [fault["path"] for fault in refused.json()["fields"]] == ["rtspUrl"]
    sealed = (await _latest_config(application.database)).stream_url_encrypted
    assert application.box.decrypt(sealed) == STREAM


@pytest.mark.usefixtures("worker")
async def test_a_removed_identifier_is_derived_again(client: httpx.AsyncClient) -> None:
    derived = (await client.post("/api/cameras", json=BODY)).json()["camera"]
    path = f"/api/cameras/{derived['id']}"
    named = (await client.put(path, json={"identifier": "gate"})).json()["camera"]
    assert named["identifier"] == "gate"
    moved = (await client.put(path, json={"rtspUrl": "rtsp://10.0.0.9/"})).json()["camera"]
    assert moved["identifier"] == "gate"
    assert (await client.put(path, json={"rtspUrl": STREAM})).status_code == 200
    again = (await client.put(path, json={"identifier": None})).json()["camera"]
    assert again["identifier"] == derived["identifier"]


@pytest.mark.usefixtures("worker")
async def test_delete_is_200_once_and_404_then(
    application: Application, client: httpx.AsyncClient
) -> None:
    camera = (await client.post("/api/cameras", json=BODY)).json()["camera"]
    path = f"/api/cameras/{camera['id']}"
    deleted = await client.delete(path)

    assert (deleted.status_code, deleted.json()) == (200, {"creditsRefunded": 0})
    assert (await _outbox(application.database))[-1] == (camera["id"], None)
    assert (await client.delete(path)).status_code == 404
    assert (await client.put(path, json={"name": "x"})).status_code == 404


async def test_a_funnel_has_every_hour_and_what_is_usual_in_it(database: Database) -> None:
    hour_ms, start_ms = 3_600_000, 1_793_491_200_000
    store = StandInStore(
        tuple(
            CameraHour(start_ms - week * 7 * 24 * hour_ms, FrameCounts(read=90, reported=24 + week))
            for week in range(5)
        )
    )
    span = {"from": "2026-11-01T00:10:00Z", "to": "2026-11-01T02:00:00Z"}
    async with (
        running_application(database, Options(store=store)) as application,
        taking_cameras(application),
        application.client(await application.new_owner()) as client,
    ):
        camera = (await client.post("/api/cameras", json=BODY)).json()["camera"]
        path = f"/api/cameras/{camera['id']}/funnel"
        first, second = (await client.get(path, params=span)).json()["hours"]
        (asked,) = store.asked_hours
        latest = (await client.get(path)).json()["hours"]
        for wrong in (span | {"from": "2026-10-01T00:00:00Z"}, span | {"from": span["to"]}):
            refused = await client.get(path, params=wrong)
            assert (refused.status_code, refused.json()["fields"][0]["path"]) == (400, "from")

    assert (first["start"], first["usual"]) == ("2026-11-01T00:00:00.000Z", 26)
    assert (first["counts"]["read"], first["counts"]["reported"]) == (90, 24)
    assert (second["start"], second["usual"]) == ("2026-11-01T01:00:00.000Z", None)
    assert set(second["counts"].values()) == {0}
    assert str(asked.camera_id) == camera["id"]
    assert (asked.from_ms, asked.to_ms) == (start_ms - 28 * 24 * hour_ms, start_ms + 2 * hour_ms)
    assert len(latest) in (24, 25)


@pytest.mark.usefixtures("worker")
async def test_a_stream_of_another_account_can_be_used_too(
    application: Application, client: httpx.AsyncClient
) -> None:
    await client.post("/api/cameras", json=BODY)
    async with application.client(await application.new_owner()) as stranger:
        assert (await stranger.post("/api/cameras", json=BODY)).status_code == 201


FAULTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": None}, "name"),
    ({"name": " "}, "name"),
    ({"name": 5}, "name"),
    ({"name": "a\x00b"}, "name"),
    ({"rtspUrl": "ftp://10.0.0.1/x"}, "rtspUrl"),
    ({"rtspUrl": "rtsp://169.254.169.254/"}, "rtspUrl"),
    ({"rtspUrl": "rtsp://127.0.0.1/"}, "rtspUrl"),
    ({"rtspUrl": "file:///etc/passwd"}, "rtspUrl"),
    # Fields other than the name and the stream URL.
    ({"enabled": "yes"}, "enabled"),
    ({"sampleFps": 0}, "sampleFps"),
    ({"sampleFps": "5"}, "sampleFps"),
    ({"minPlateWidth": -1}, "minPlateWidth"),
    ({"timezone": "Mars/Olympus"}, "timezone"),
    ({"zones": [{"kind": "include", "points": []}]}, "zones.0.points"),
    ({"zones": [{"kind": "maybe", "points": []}]}, "zones.0.kind"),
    ({"colour": "red"}, "colour"),
)


async def test_a_bad_field_is_named(client: httpx.AsyncClient) -> None:
    for change, path in FAULTS:
        answer = await client.post("/api/cameras", json=BODY | change)

        assert answer.status_code == 400, answer.text
        assert path in [fault["path"] for fault in answer.json()["fields"]], change
        assert "hunter2" not in answer.text


async def test_the_status_comes_from_the_worker(
    application: Application, client: httpx.AsyncClient
) -> None:
    async with taking_cameras(application):
        camera = (await client.post("/api/cameras", json=BODY)).json()["camera"]
    camera_id = UUID(camera["id"])
    application.camera_statuses.post([(camera_id, camera_status(camera_id, CameraState.ONLINE))])

    (shown,) = (await client.get("/api/cameras")).json()["cameras"]
    assert shown["status"] == "online"
    assert shown["lastSeenAt"] == "2026-09-21T14:13:20.000Z"
    assert (shown["frameWidth"], shown["frameHeight"]) == (1920, 1080)


async def _unconfirmed(database: Database) -> UUID:
    async with asyncio.timeout(5):
        found: list[UUID] = []
        while not found:
            found = await unconfirmed_cameras(database)
    return found[0]


async def _count(database: Database, query: str) -> int:
    return await database.run(lambda session: int(session.scalar(text(query)) or 0))


async def _outbox(database: Database) -> list[tuple[str, bytes | None]]:
    def work(session: Session) -> list[tuple[str, bytes | None]]:
        rows = session.execute(text("SELECT key, value FROM config_outbox ORDER BY id"))
        return [(str(key), value) for key, value in rows]

    return await database.run(work)


async def _latest_config(database: Database) -> CameraConfig:
    value = (await _outbox(database))[-1][1]
    assert value is not None
    return decode(CameraConfig, bytes(value))
