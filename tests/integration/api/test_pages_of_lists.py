"""Pages of cameras, alerts, webhooks and keys, and parameters that a call does not accept."""

from typing import Any

import httpx
import pytest

from tests.integration.api.application import Application

pytestmark = pytest.mark.integration

BODIES: dict[str, dict[str, Any]] = {
    "alertas": {"name": "n"},
    "webhooks": {"name": "n", "url": "https://r.example.com", "events": ["camera.online"]},
    "api-keys": {"name": "n", "scopes": ["alerts:read"]},
}
FIELDS = {"alertas": "alerts", "webhooks": "webhooks", "api-keys": "apiKeys"}


async def _made(client: httpx.AsyncClient, resource: str, count: int) -> list[str]:
    for _ in range(count):
        answer = await client.post(f"/api/{resource}", json=BODIES[resource])
        assert answer.status_code == 201, answer.text
    listed = (await client.get(f"/api/{resource}")).json()
    assert "nextKey" not in listed
    return [one["id"] for one in listed[FIELDS[resource]]]


@pytest.mark.parametrize("resource", BODIES)
async def test_pages_together_are_the_whole_list(client: httpx.AsyncClient, resource: str) -> None:
    everything = await _made(client, resource, 4)
    pages, last = [], None
    while True:
        params = {"limit": "2", **({} if last is None else {"lastKey": last})}
        page = (await client.get(f"/api/{resource}", params=params)).json()
        pages.append([one["id"] for one in page[FIELDS[resource]]])
        last = page["nextKey"]
        if last is None:
            break

    assert [identifier for page in pages for identifier in page] == everything
    assert all(0 < len(page) <= 2 for page in pages)


async def test_what_is_made_or_deleted_between_pages_repeats_and_skips_nothing(
    client: httpx.AsyncClient,
) -> None:
    newest, *older = await _made(client, "alertas", 4)
    first = (await client.get("/api/alertas", params={"limit": "2"})).json()
    await client.post("/api/alertas", json=BODIES["alertas"])
    await client.delete(f"/api/alertas/{newest}")
    await client.delete(f"/api/alertas/{older[0]}")
    rest = (await client.get("/api/alertas", params={"lastKey": first["nextKey"]})).json()

    assert [one["id"] for one in rest["alerts"]] == older[1:]
    assert rest["nextKey"] is None


async def test_a_key_belongs_to_its_list_and_its_owner(
    application: Application, client: httpx.AsyncClient
) -> None:
    await _made(client, "alertas", 2)
    key = (await client.get("/api/alertas", params={"limit": "1"})).json()["nextKey"]
    stranger = await application.new_owner()
    async with application.client(stranger) as other:
        answers = [
            await client.get("/api/webhooks", params={"lastKey": key}),
            await client.get("/api/recognitions", params={"lastKey": key}),
            await client.get("/api/alertas", params={"lastKey": "made up"}),
            await other.get("/api/alertas", params={"lastKey": key}),
        ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (400, "invalid_cursor")
    ] * 4


@pytest.mark.parametrize("limit", ["0", "201", "x", "1_0", ""])
async def test_a_limit_that_is_none_is_400(client: httpx.AsyncClient, limit: str) -> None:
    answer = await client.get("/api/cameras", params={"limit": limit})

    assert (answer.status_code, answer.json()["fields"][0]["path"]) == (400, "limit")


async def test_a_parameter_that_a_call_does_not_have_is_400_by_its_name(
    client: httpx.AsyncClient,
) -> None:
    for path, unknown in (
        ("/api/recognitions?plat=AB12&limit=5", ["plat"]),
        ("/api/recognitions?form=x&till=y", ["form", "till"]),
        ("/api/cameras?name=gate", ["name"]),
        ("/api/credits?x", ["x"]),
        ("/api/recognitions/stream?limit=1", ["limit"]),
    ):
        answer = await client.get(path)
        faults = answer.json()["fields"]
        assert (answer.status_code, [fault["path"] for fault in faults]) == (400, unknown)
        assert faults[0]["message"] == "is not a parameter of this call"
    changed = await client.post("/api/alertas?dry=1", json=BODIES["alertas"])
    assert changed.status_code == 400
    assert (await client.get("/api/alertas")).json()["alerts"] == []
    # Health probes can add any parameters.
    assert (await client.get("/healthz?now=1")).status_code == 200
