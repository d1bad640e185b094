"""The clients in clients/ with the application, over a real connection."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from platestream_client import ApiError, AsyncClient, Client, RetryPolicy

from analytics_sql.recognitions import recognition_row
from api.db.database import Database
from api.live.recent import LiveRecord
from tests.integration.api import images
from tests.integration.api.application import (
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.serving import served
from tests.languages import is_present
from tests.records import recognition

pytestmark = pytest.mark.integration

WALK = Path(__file__).resolve().parents[3] / "clients" / "typescript" / "test" / "stack.js"


@dataclass(frozen=True)
class Stack:
    """An application that serves requests, and its caller."""

    application: Application
    address: str
    caller: Caller

    @asynccontextmanager
    async def publishing(self) -> AsyncIterator[None]:
        """Publish recognitions of the caller, one after another, while the block runs."""

        async def publish() -> None:
            for number in count(1):
                row = recognition_row(replace(recognition(number), owner_id=self.caller.owner_id))
                self.application.recent.post([LiveRecord(0, number, row)])
                await asyncio.sleep(0.05)

        task = asyncio.create_task(publish())
        try:
            yield
        finally:
            task.cancel()


class CuttingTransport(httpx.AsyncHTTPTransport):
    """Cuts the first response in the middle of its first event."""

    def __init__(self) -> None:
        super().__init__()
        self.last_ids: list[str | None] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response to the request; the first response will be cut."""
        answer = await super().handle_async_request(request)
        if not self.last_ids:
            assert isinstance(answer.stream, httpx.AsyncByteStream)
            answer.stream = _CutStream(answer.stream)
        self.last_ids.append(request.headers.get("Last-Event-ID"))
        return answer


class _CutStream(httpx.AsyncByteStream):
    def __init__(self, whole: httpx.AsyncByteStream) -> None:
        self._whole = whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._whole:
            before, data, _ = chunk.partition(b"data: {")
            yield before + data
            if data:
                raise httpx.ReadError("cut")

    async def aclose(self) -> None:
        await self._whole.aclose()


@pytest.fixture
async def stack(database: Database, stored: StandInStore) -> AsyncIterator[Stack]:
    options = Options(store=stored, feeds_streams=True)
    async with running_application(database, options) as application:
        application.recent.reset({0: 0})
        async with served(application) as address, taking_cameras(application):
            yield Stack(application, address, await application.new_owner(credits=3))


async def test_python_goes_through_all_resources(stack: Stack, stored: StandInStore) -> None:
    """Runs in a thread without ``await``, because this test's event loop serves the application."""
    row = recognition_row(recognition(1))
    stored.recognitions = (row,)

    def walk() -> None:
        with Client(stack.address, stack.caller.key) as client:
            hook = client.webhooks.create(
                {"name": "Gate", "url": "https://a.example.com/x", "events": ["camera.online"]}
            )
            assert client.webhooks.test(hook["id"])["event"] == "camera.online"
            assert client.webhooks.deliveries(hook["id"], outcome="dead") == []
            assert client.webhooks.rotate_secret(hook["id"])["secret"] != hook["secret"]
            assert [one["id"] for one in client.webhooks.all()] == [hook["id"]]
            client.webhooks.delete(hook["id"])

            alert = client.alerts.create({"name": "Any", "plateMatchMode": "any"})
            changed = client.alerts.update(alert["id"], {"enabled": False})
            assert (changed["enabled"], changed["name"]) == (False, "Any")
            rotated = client.alerts.rotate_notification_secret({"overlapHours": 1})
            assert rotated["notificationSecret"].startswith("whsec_")
            assert rotated["previousNotificationSecretUntil"] is not None
            client.alerts.delete(alert["id"])

            camera = client.cameras.create({"name": "Gate", "rtspUrl": "rtsp://10.0.0.1/a"})
            assert client.cameras.get(camera["id"])["name"] == "Gate"
            assert client.cameras.delete(camera["id"]) == {"creditsRefunded": 0}

            key = client.api_keys.create({"name": "reader", "scopes": ["cameras:read"]})
            client.api_keys.revoke(key["apiKey"]["id"])

            read = client.recognitions.recognize(images.jpeg())
            assert (read["plates"], read["creditsRemaining"]) == ([], 2)
            assert client.account.credits()["credits"] == 2
            assert len(client.account.analytics()["hourlyChart"]) == 24
            assert client.account.session()["kind"] == "key"
            found = next(client.recognitions.search(plate="ab"))
            assert found["plate"] == row.plate

            with pytest.raises(ApiError) as refused:
                client.webhooks.create({"name": "x", "url": "ftp://a", "events": []})
            assert refused.value.code == "invalid_request"
            assert {fault["path"] for fault in refused.value.fields} == {"url", "events"}

    await asyncio.to_thread(walk)


async def test_a_stream_goes_on_where_the_connection_was_cut(stack: Stack) -> None:
    transport = CuttingTransport()
    retries = RetryPolicy(longest_wait=0.1)
    async with (
        AsyncClient(
            stack.address, stack.caller.key, transport=transport, retries=retries
        ) as client,
        stack.publishing(),
        asyncio.timeout(20),
    ):
        stream = client.recognitions.stream(plate="AB")
        plates = [(await anext(stream))["plate"] for _ in range(5)]
        await stream.aclose()
    numbers = [int(plate.removeprefix("AB")) for plate in plates]

    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert [last is None for last in transport.last_ids] == [True, False]


async def test_python_with_await_lists_and_refuses(stack: Stack) -> None:
    async with AsyncClient(stack.address, stack.caller.key) as client:
        assert [camera async for camera in client.cameras.all()] == []
        with pytest.raises(ApiError, match="404 not_found"):
            await client.alerts.get(stack.caller.owner_id)


@pytest.mark.skipif(not is_present("javascript"), reason="no node")
async def test_typescript_goes_through_all_resources(stack: Stack, tmp_path: Path) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(images.jpeg())
    given = {"PLATESTREAM_URL": stack.address, "PLATESTREAM_KEY": stack.caller.key}
    walk = await asyncio.create_subprocess_exec(
        *("node", str(WALK), str(photo)),
        env=os.environ | given,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with stack.publishing(), asyncio.timeout(60):
        said, errors = await walk.communicate()

    assert walk.returncode == 0, errors.decode()
    assert said.startswith(b"AB0")
