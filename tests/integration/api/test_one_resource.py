"""Cameras, alerts, webhooks and keys by their ids."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from api.security.permissions import Scope
from tests.integration.api.application import Application, Caller
from tests.integration.api.camera_worker import taking_cameras

pytestmark = pytest.mark.integration

UNKNOWN = "00000000-0000-4000-8000-000000000000"
BODIES: dict[str, dict[str, Any]] = {
    "cameras": {"name": "Gate", "rtspUrl": "rtsp://viewer:hunter2@10.0.0.8/1"},
    "alertas": {"name": "Stolen", "plates": ["AB12"]},
    "webhooks": {
        "name": "Gate",
        "url": "https://receiver.example.com",
        "events": ["camera.online"],
        "headers": {"X-Tenant": "north"},
    },
    "api-keys": {"name": "narrow", "scopes": ["alerts:read"]},
}
WRAPPERS = {"cameras": "camera", "alertas": "alert", "webhooks": "webhook", "api-keys": "apiKey"}
READ = {
    "cameras": Scope.CAMERAS_READ,
    "alertas": Scope.ALERTS_READ,
    "webhooks": Scope.WEBHOOKS_READ,
    "api-keys": Scope.API_KEYS_READ,
}


@pytest.fixture
async def worker(application: Application) -> AsyncIterator[None]:
    """A worker that takes every camera."""
    async with taking_cameras(application):
        yield


async def _made(client: httpx.AsyncClient, resource: str) -> dict[str, Any]:
    answer = await client.post(f"/api/{resource}", json=BODIES[resource])
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()[WRAPPERS[resource]]
    return made


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("resource", BODIES)
async def test_one_is_read_by_its_id(client: httpx.AsyncClient, resource: str) -> None:
    made = await _made(client, resource)

    answer = await client.get(f"/api/{resource}/{made['id']}")

    assert answer.status_code == 200
    assert answer.json() == {WRAPPERS[resource]: made}
    for unknown in (UNKNOWN, "nonsense"):
        missing = await client.get(f"/api/{resource}/{unknown}")
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("resource", BODIES)
async def test_anothers_is_404(
    application: Application, client: httpx.AsyncClient, resource: str
) -> None:
    path = f"/api/{resource}/{(await _made(client, resource))['id']}"
    stranger: Caller = await application.new_owner()

    async with application.client(stranger) as other:
        answer, unknown = await other.get(path), await other.get(f"/api/{resource}/{UNKNOWN}")

    assert answer.status_code == 404
    assert {**answer.json(), "requestId": ""} == {**unknown.json(), "requestId": ""}


@pytest.mark.parametrize("resource", BODIES)
async def test_reading_one_needs_the_scope_of_the_list(
    application: Application, resource: str
) -> None:
    with_it = await application.new_owner(scopes=frozenset({READ[resource]}))
    without = await application.new_owner(scopes=frozenset(Scope) - {READ[resource]})
    statuses = []
    for caller in (with_it, without):
        async with application.client(caller) as client:
            statuses.append((await client.get(f"/api/{resource}/{UNKNOWN}")).status_code)

    assert statuses == [404, 403]
