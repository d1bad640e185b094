"""Tests of a stream URL before the camera is saved."""

import asyncio
import base64
import io
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from PIL import Image

from api.cameras.probe import CONCURRENT_PROBES, CameraProbe
from api.db.database import Database
from api.errors import ApiError
from common.urls.camera_settings import CameraAddressSettings
from ingest.probe import MEMORY_BYTES
from tests.integration.api.application import Application, Caller, Options, running_application
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.ingest.clips import write_clip

pytestmark = pytest.mark.integration

PATH = "/api/cameras/test"


@pytest.fixture
async def application(database: Database, tmp_path: Path) -> AsyncIterator[Application]:
    async with running_application(database, Options(camera_files=tmp_path)) as app:
        yield app


async def _tested(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    test: dict[str, Any] = answer.json()["test"]
    return test


async def test_the_first_frame_is_returned_with_its_size(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    write_clip(tmp_path / "road.mp4", seconds=1, moving=True)
    test = await _tested(client, {"rtspUrl": f" file://{tmp_path}/road.mp4 "})

    assert (test["reachable"], test["error"], test["code"]) == (True, None, None)
    with Image.open(io.BytesIO(base64.b64decode(test["picture"]))) as image:
        assert image.size == (test["frameWidth"], test["frameHeight"])
    assert (await client.get("/api/cameras")).json() == {"cameras": []}


async def test_what_is_wrong_is_said_in_words(client: httpx.AsyncClient, tmp_path: Path) -> None:
    (tmp_path / "nothing.mp4").write_bytes(b"\x00\x00\x00\x18ftypmp42" + b"nothing" * 1000)
    test = await _tested(client, {"rtspUrl": f"file://{tmp_path}/nothing.mp4"})

    assert (test["reachable"], test["picture"]) == (False, None)
    assert (test["code"], test["error"]) == (
        "not_video",
        "The URL responded, but not with a video stream. Check the path.",
    )


@pytest.mark.parametrize(
    "address",
    [
        "nothing",
        "rtsp://127.0.0.1/1",
        "rtsp://169.254.169.254/1",
        "file:///etc/passwd",
        "rtsp://viewer:***@10.0.0.8/1",
    ],
)
async def test_an_address_that_no_camera_may_have_is_400(
    client: httpx.AsyncClient, address: str
) -> None:
    answer = await client.post(PATH, json={"rtspUrl": address})

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, "rtspUrl")


async def test_a_stored_password_is_taken_from_ones_own_camera_only(
    application: Application, client: httpx.AsyncClient
) -> None:
    camera = {"name": "Gate", "rtspUrl": "rtsp://viewer:hunter2@10.0.0.8/1"}
    async with taking_cameras(application):
        made = (await client.post("/api/cameras", json=camera)).json()["camera"]
    elsewhere = {"rtspUrl": "rtsp://viewer:***@10.0.0.9/1", "cameraId": made["id"]}
    stranger = await application.new_owner()
    async with application.client(stranger) as other:
        anothers = await other.post(PATH, json={"rtspUrl": made["rtspUrl"], "cameraId": made["id"]})

    assert (await client.post(PATH, json=elsewhere)).status_code == 400
    assert anothers.status_code == 404


async def test_separate_credentials_are_tested(
    application: Application, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested = []

    async def run(program: str, given: bytes) -> bytes:
        tested.append(given.decode())
        return b"{}\n"

    monkeypatch.setattr(application.services.camera_probe, "_run", run)
    await _tested(client, {"rtspUrl": "rtsp://10.0.0.8/1", "username": "a", "password": "b#"})
    twice = {"rtspUrl": "rtsp://a:b@10.0.0.8/1", "username": "a", "password": "b"}
    refused = await client.post(PATH, json=twice)

    assert tested == ["rtsp://a:b%23@10.0.0.8/1"]
    assert refused.status_code == 400
    (fault,) = refused.json()["fields"]
    assert fault["path"] == "rtspUrl"
    assert fault["message"].startswith("contains a user name or password; remove them")


async def test_one_at_a_time_for_each_account(owner: Caller, tmp_path: Path) -> None:
    probe = CameraProbe(CameraAddressSettings.model_validate({"camera_files_folder": tmp_path}))
    first = asyncio.create_task(probe.probe(owner.owner_id, f"file://{tmp_path}/missing.mp4"))
    await asyncio.sleep(0)
    with pytest.raises(ApiError) as refused:
        await probe.probe(owner.owner_id, f"file://{tmp_path}/missing.mp4")

    assert refused.value.code == "rate_limited"
    assert (await first).result.code == "no_file"
    # The test slot is free again.
    assert (await probe.probe(owner.owner_id, "rtsp://[::1]/1")).result.code == "forbidden"


async def test_the_process_has_the_denied_networks(owner: Caller) -> None:
    settings = CameraAddressSettings.model_validate(
        {"camera_allow_loopback": True, "camera_denied_networks": "127.0.0.2,10.20.0.0/16"}
    )
    probe = CameraProbe(settings)

    looks = [await probe.probe(owner.owner_id, f"rtsp://{host}:9/1") for host in _HOSTS]

    assert [look.result.code for look in looks] == ["forbidden", "unreachable"]


_HOSTS = ("127.0.0.2", "127.0.0.1")


def test_a_probe_may_take_so_much_memory_and_no_more() -> None:
    code = f"""
from ingest.processes.limits import limit_process
limit_process({MEMORY_BYTES}, {{}})
for size in ({MEMORY_BYTES - (256 << 20)}, {MEMORY_BYTES + 1}):
    try:
        bytearray(size)
        print("taken")
    except MemoryError:
        print("refused")
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.split() == ["taken", "refused"]


async def test_concurrent_probes_are_limited_over_all_accounts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probe, running = CameraProbe(CameraAddressSettings.model_validate({})), 0
    most, release = 0, asyncio.Event()

    async def run(program: str, given: bytes) -> bytes:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await release.wait()
        running -= 1
        return b"{}\n"

    monkeypatch.setattr(probe, "_run", run)
    looks = [asyncio.create_task(probe.probe(uuid4(), "rtsp://cam/1")) for _ in range(6)]
    for _ in range(20):
        await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*looks)

    assert most == CONCURRENT_PROBES
