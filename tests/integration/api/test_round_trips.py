"""What was read can be sent back whole: what only the service sets is left aside."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.integration

CASES = {
    "alert": ("/api/alertas", "alert", {"name": "Gate", "plates": ["AB12*"]}),
    "webhook": (
        "/api/webhooks",
        "webhook",
        {
            "name": "Gate",
            "url": "https://receiver.example.com/a",
            "events": ["camera.online"],
        },
    ),
    "key": ("/api/api-keys", "apiKey", {"name": "Desk", "scopes": ["cameras:read"]}),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_was_read_can_be_sent_back(client: httpx.AsyncClient, case: str) -> None:
    path, wrapper, body = CASES[case]
    made: dict[str, Any] = (await client.post(path, json=body)).json()[wrapper]

    changed = await client.put(f"{path}/{made['id']}", json={**made, "name": "Yard"})
    copied = await client.post(path, json=made)

    assert changed.status_code == 200, changed.text
    assert changed.json()[wrapper] == {**made, "name": "Yard"}
    assert copied.status_code == 201, copied.text
    assert copied.json()[wrapper]["id"] != made["id"]
