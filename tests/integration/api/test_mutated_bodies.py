"""Corrupted bodies are rejected with a description of the fault, and never cause an internal error.

``make mutations`` sends ``PLATESTREAM_TEST_MUTATIONS`` bodies.
"""

import json
import os
import random
from collections import Counter
from typing import Any
from uuid import UUID

import httpx
import pytest

from api.middleware.bodies import MAX_PUBLIC_JSON_BODY_BYTES
from tests.integration.api.application import Application

pytestmark = pytest.mark.integration

JSON = {"Content-Type": "application/json"}
ROUNDS = int(os.environ.get("PLATESTREAM_TEST_MUTATIONS", "400")) // 4
BODIES: dict[str, dict[str, Any]] = {
    "/api/alertas": {
        "name": "Night",
        "description": "x",
        "enabled": True,
        "plateMatchMode": "specific",
        "plates": ["AB12", "X*?"],
        "cameraScope": "specific",
        "cameraIds": [str(UUID(int=0))],
        "scheduleEnabled": True,
        "schedule": {"startTime": "22:00", "endTime": "06:00", "daysOfWeek": ["fri"]},
        "timezone": "Europe/Lisbon",
        "minConfidence": 0.5,
        "cooldownMinutes": 5,
        "cooldownScope": "plate",
        "matchTolerance": 1,
        "notifications": [
            {"type": "email", "addresses": ["guard@example.com"]},
            {"type": "webhook", "url": "https://receiver.example.com/"},
        ],
    },
    "/api/webhooks": {
        "name": "Gate",
        "url": "https://receiver.example.com/",
        "events": ["recognition.created"],
        "secret": "a secret of mine",
        "headers": {"X-Tenant": "north"},
    },
    "/api/api-keys": {
        "name": "Gate",
        "scopes": ["cameras:read"],
        "enabled": True,
        "expiresAt": "2031-01-02T03:04:05Z",
    },
    "/api/session": {"email": "guard@example.com", "password": "wrong"},
}
STRANGE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e308,
    float("inf"),
    float("nan"),
    10**30,
    "",
    " ",
    "\x00",
    "\ud800",
    "\u202e",
    "é" * 5000,
    "'; DROP TABLE alerts; --",
    "http://[::1",
    "https://" + "a." * 300,
    "2026-13-45T99:99:99Z",
    [],
    {},
    [[]],
    [None],
    {"": ""},
    {"\ud800": "x"},
    ["x"] * 2000,
)


@pytest.mark.parametrize("path", BODIES)
async def test_a_spoilt_body_is_never_an_error_of_ours(application: Application, path: str) -> None:
    rng = random.Random(path)
    seen: Counter[int] = Counter()
    async with application.client(await application.new_owner()) as client:
        for _ in range(ROUNDS):
            body = json.dumps(_spoilt(rng, BODIES[path]))
            if rng.random() < 0.1:
                body = _cut(rng, body)
            answer = await client.post(path, content=body.encode(), headers=JSON)
            seen[answer.status_code] += 1
            _check(answer, body)

    assert set(seen) <= {200, 201, 400, 401, 409, 413}
    assert seen[400] > ROUNDS / 2


@pytest.mark.parametrize(
    "body",
    [b"", b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"null", b"\xff\xfe{}", b"{} {}"],
    ids=lambda body: repr(body[:8]),
)
async def test_a_body_that_is_hardly_json_is_never_an_error_of_ours(
    application: Application, body: bytes
) -> None:
    async with application.client(await application.new_owner()) as client:
        for path in BODIES:
            answer = await client.post(path, content=body, headers=JSON)
            is_too_large = path == "/api/session" and len(body) > MAX_PUBLIC_JSON_BODY_BYTES
            assert answer.status_code == (413 if is_too_large else 400), path
            _check(answer, repr(body[:20]))


def _check(answer: httpx.Response, body: str) -> None:
    assert answer.status_code < 500, body
    if answer.status_code >= 400:
        assert {"error", "code", "requestId"} <= set(answer.json()), body
        assert "Traceback" not in answer.text


def _spoilt(rng: random.Random, value: Any) -> Any:
    """Return ``value`` with one random change."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        if rng.random() < 0.1:
            return {**value, str(rng.choice(STRANGE))[:50]: rng.choice(STRANGE)}
        if rng.random() < 0.1:
            return {key: kept for key, kept in value.items() if key != name}
        return {**value, name: _spoilt(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.6:
        place = rng.randrange(len(value))
        return [*value[:place], _spoilt(rng, value[place]), *value[place + 1 :]]
    return rng.choice(STRANGE)


def _cut(rng: random.Random, body: str) -> str:
    return body[: rng.randrange(len(body))]
