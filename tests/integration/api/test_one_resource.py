"""Requests for single cameras, alerts, webhooks and keys, by ID."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.integration

UNKNOWN = "00000000-0000-4000-8000-000000000000"
BODIES: dict[str, dict[str, Any]] = {
    "cameras": {"name": "Gate", "rtspUrl": "rtsp://viewer:hunter2@10.0.0.8/1"},
    "alertas": {"name": "Stolen", "plates": ["AB12*"]},
    "webhooks": {
        "name": "Gate",
        "url": "https://receiver.example.com",
        "events": ["camera.online"],
        "headers": {"X-Tenant": "north"},
    },
    "api-keys": {"name": "narrow", "scopes": ["alerts:read"]},
}
WRAPPERS = {"cameras": "camera", "alertas": "alert", "webhooks": "webhook", "api-keys": "apiKey"}


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
async def test_what_was_read_can_be_sent_back(client: httpx.AsyncClient, resource: str) -> None:
    made = await _made(client, resource)
    path, wrapper = f"/api/{resource}", WRAPPERS[resource]

    changed = await client.put(f"{path}/{made['id']}", json={**made, "name": "Yard"})

    assert changed.status_code == 200, changed.text
    assert changed.json()[wrapper] == {**made, "name": "Yard"}
    if resource != "cameras":  # A stream URL can be used once, and its password is masked.
        copied = await client.post(path, json=made)
        assert copied.status_code == 201, copied.text
        assert copied.json()[wrapper]["id"] != made["id"]
