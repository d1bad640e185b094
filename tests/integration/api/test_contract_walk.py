"""The whole interface over a real connection, as a client that knows only the contract uses it."""

import hashlib
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.integration.api import images
from tests.integration.api.application import PASSWORD
from tests.integration.api.conftest import copied_database
from tests.integration.api.threaded import ThreadedApi, serving_in_thread

pytestmark = pytest.mark.integration

UNKNOWN = str(uuid.uuid4())
OCTETS = {"Content-Type": "application/octet-stream"}
JSON = "application/json"
ERROR = {"error", "code", "requestId"}


@pytest.fixture(scope="module")
def api(postgres_url: str, migrated_template: str) -> Iterator[ThreadedApi]:
    with (
        copied_database(postgres_url, migrated_template) as database,
        serving_in_thread(database, credits=3) as running,
    ):
        yield running


@pytest.fixture
def client(api: ThreadedApi) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=api.address, headers=api.headers, timeout=30) as opened:
        yield opened


def _said(answer: httpx.Response, status: int) -> Any:
    assert answer.status_code == status, answer.text
    assert answer.headers["x-request-id"]
    if status == 204:
        assert answer.content == b""
        assert "content-type" not in answer.headers
        return None
    body = answer.json()
    if status >= 400:
        assert set(body) >= ERROR
        assert all(isinstance(body[name], str) for name in ERROR)
    return body


def test_webhooks_keep_the_contract(client: httpx.Client) -> None:
    needed = {"name": "n", "url": "https://a.example.com", "events": ["recognition.created"]}
    made = _said(client.post("/api/webhooks", json=needed), 201)["webhook"]
    assert set(made) >= {
        *("id", "name", "url", "secret", "enabled", "events", "headers", "failureCount"),
        *("lastDeliveryAt", "lastDeliveryStatus", "createdAt"),
    }
    assert (made["enabled"], made["headers"], made["failureCount"]) == (True, {}, 0)
    assert made["secret"]
    for name in ("url", "events", "name"):
        lacking = {key: value for key, value in needed.items() if key != name}
        faults = _said(client.post("/api/webhooks", json=lacking), 400)["fields"]
        assert [fault["path"] for fault in faults] == [name]
    listed = _said(client.get("/api/webhooks"), 200)["webhooks"]
    assert listed[0]["secret"] == made["secret"]
    path = f"/api/webhooks/{made['id']}"
    # The contract sets no minimum length.
    assert _said(client.put(path, json={"secret": "s"}), 200)["webhook"]["secret"] == "s"
    _said(client.put(path, json={"secret": ""}), 400)
    made = _said(client.put(path, json={"secret": "another one"}), 200)["webhook"]
    assert _said(client.put(path, json={"enabled": False}), 200)["webhook"]["enabled"] is False
    assert _said(client.put(path, json=made), 200)["webhook"] == made
    _said(client.delete(path), 204)
    _said(client.delete(path), 404)
    _said(client.put(f"/api/webhooks/{UNKNOWN}", json={}), 404)


def test_calls_about_a_webhook_need_no_body(client: httpx.Client) -> None:
    needed = {"name": "n", "url": "https://a.example.com", "events": ["camera.online"]}
    made = _said(client.post("/api/webhooks", json=needed), 201)["webhook"]
    path = f"/api/webhooks/{made['id']}"
    bodies: list[dict[str, Any]] = [{}, {"json": {}}, {"headers": {"Content-Type": JSON}}]
    for empty in bodies:
        tested = _said(client.post(f"{path}/test", **empty), 202)["delivery"]
        assert tested["event"] == "camera.online"
        rotated = _said(client.post(f"{path}/rotate-secret", **empty), 200)["webhook"]
        assert rotated["secret"] != made["secret"]
        _said(client.post(f"{path}/deliveries/{UNKNOWN}/redeliver", **empty), 404)
    _said(client.post(f"{path}/test", content=b"{}", headers={"Content-Type": "text/plain"}), 415)
    _said(client.post(f"{path}/test", content=iter([b"{}"]), headers={}), 415)
    _said(client.post(f"{path}/replay"), 415)
    _said(client.delete(path), 204)


def test_alerts_keep_the_contract(client: httpx.Client) -> None:
    made = _said(client.post("/api/alertas", json={"name": "n"}), 201)["alert"]
    defaults = {
        "description": "",
        "enabled": True,
        "plateMatchMode": "specific",
        "plates": [],
        "plateNames": {},
        "cameraScope": "all",
        "cameraIds": [],
        "scheduleEnabled": False,
        "schedule": {"startTime": "00:00", "endTime": "23:59", "daysOfWeek": []},
        "minConfidence": 0.5,
        "cooldownMinutes": 5,
        "cooldownScope": "alert",
        "matchTolerance": 0,
        "early": False,
        "notifications": [],
        "lastTriggeredAt": None,
    }
    assert {name: made[name] for name in defaults} == defaults
    assert made["triggerCount"] == 0
    # A client may store whole minutes as an integer.
    assert isinstance(made["cooldownMinutes"], int)
    assert "createdAt" in made
    assert [f["path"] for f in _said(client.post("/api/alertas", json={}), 400)["fields"]] == [
        "name"
    ]
    path = f"/api/alertas/{made['id']}"
    night = {"schedule": {"startTime": "22:00", "endTime": "06:00", "daysOfWeek": ["mon", "sun"]}}
    changed = _said(client.put(path, json=night), 200)["alert"]
    assert changed == {**made, **night}
    found = _said(client.get("/api/alertas"), 200)["alerts"]
    assert [one["id"] for one in found] == [made["id"]]
    for right in ({"description": "two\nlines"}, {"cooldownMinutes": 0.5}, {"minConfidence": 0}):
        changed = _said(client.put(path, json=right), 200)["alert"]
        assert {name: changed[name] for name in right} == right
    for wrong in (
        {"minConfidence": 1.01},
        {"description": "\x00"},
        {"plateMatchMode": "none"},
        {"schedule": {"startTime": "24:00"}},
        {"schedule": {"daysOfWeek": ["monday"]}},
        {"cameraIds": [UNKNOWN], "cameraScope": "specific"},
        {"notifications": [{"type": "email", "addresses": ["nobody"]}]},
        {"nonsense": 1},
    ):
        _said(client.put(path, json=wrong), 400)
    _said(client.delete(path), 204)
    _said(client.delete(path), 404)


def test_cameras_keep_the_contract(client: httpx.Client) -> None:
    given = {"name": "Gate", "location": "x", "rtspUrl": "rtsp://10.1.1.1/1", "enabled": True}
    made = _said(client.post("/api/cameras", json=given), 201)["camera"]
    assert {name: made[name] for name in given} == given
    assert _said(client.post("/api/cameras", json=given), 409)["code"] == "duplicate_identifier"
    path = f"/api/cameras/{made['id']}"
    assert _said(client.put(path, json={"name": "Yard"}), 200)["camera"]["name"] == "Yard"
    lines = {"location": "Yard,\neast side"}
    assert _said(client.put(path, json=lines), 200)["camera"]["location"] == lines["location"]
    assert _said(client.get("/api/cameras"), 200)["cameras"][0]["id"] == made["id"]
    _said(client.get(f"/api/cameras/{UNKNOWN}/snapshot"), 404)
    assert _said(client.delete(path), 200) == {"creditsRefunded": 0}
    _said(client.delete(path), 404)
    for wrong in ("file:///etc/passwd", "rtsp://127.0.0.1/1", "rtsp://169.254.169.254/", "nothing"):
        _said(client.post("/api/cameras", json={**given, "rtspUrl": wrong}), 400)


def test_keys_and_scopes_keep_the_contract(client: httpx.Client, api: ThreadedApi) -> None:
    body: dict[str, Any] = {
        "name": "narrow",
        "scopes": ["alerts:read", "api-keys:write"],
        "enabled": True,
    }
    answer = _said(client.post("/api/api-keys", json=body), 201)
    plain, key = answer["plainKey"], answer["apiKey"]
    assert plain.startswith("pk_")
    assert len(plain) == 43
    assert (key["name"], sorted(key["scopes"]), key["prefix"]) == (
        *("narrow", sorted(body["scopes"])),
        plain[:11],
    )
    assert plain not in json.dumps(_said(client.get("/api/api-keys"), 200))
    with httpx.Client(base_url=api.address, headers={"Authorization": f"Bearer {plain}"}) as narrow:
        _said(narrow.get("/api/alertas"), 200)
        for method, path in (
            *(("GET", "/api/recognitions"), ("GET", "/api/webhooks"), ("GET", "/api/cameras")),
            *(("POST", "/api/recognize"), ("GET", "/api/credits"), ("GET", "/api/analytics")),
            *(("POST", "/api/alertas"), ("GET", "/api/recognitions/stream")),
        ):
            _said(narrow.request(method, path), 403)
        wider = {"name": "x", "scopes": ["cameras:read"]}
        _said(narrow.post("/api/api-keys", json=wider), 403)
    _said(client.post("/api/api-keys", json={**body, "scopes": ["alerts:rule"]}), 400)
    _said(client.delete(f"/api/api-keys/{key['id']}"), 204)
    _said(client.delete(f"/api/api-keys/{key['id']}"), 404)
    gone = {"Authorization": f"Bearer {plain}"}
    _said(httpx.get(f"{api.address}/api/alertas", headers=gone), 401)
    _said(httpx.get(f"{api.address}/api/alertas"), 401)
    _said(httpx.get(f"{api.address}/api/alertas", headers={"Authorization": "Bearer pk_x"}), 401)


def test_recognitions_keep_the_contract(client: httpx.Client, api: ThreadedApi) -> None:
    assert _said(client.get("/api/recognitions"), 200) == {"recognitions": [], "nextKey": None}
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    good = {"plate": "ab 12", "cameraId": UNKNOWN, "from": "2020-01-01T00:00:00Z", "to": later}
    for limit in ("1", "200"):
        _said(client.get("/api/recognitions", params={**good, "limit": limit}), 200)
    for wrong in (
        *({"limit": "0"}, {"limit": "201"}, {"limit": "x"}, {"cameraId": "x"}, {"from": "x"}),
        *({"to": "yesterday"}, {"lastKey": "made up"}, {"minConfidence": "2"}, {"match": "x"}),
        *({"limit": "1_0"}, {"limit": " 5"}, {"limit": "+5"}, {"limit": "٣"}, {"limit": ""}),
        *({"cameraId": UNKNOWN.replace("-", "")}, {"minConfidence": "0_1"}),
    ):
        _said(client.get("/api/recognitions", params=wrong), 400)
    _said(client.get(f"/api/recognitions/{UNKNOWN}"), 404)
    _said(client.get("/api/recognitions/nonsense"), 404)
    _said(client.get(f"/api/recognitions/{UNKNOWN.replace('-', '_')}"), 404)
    with httpx.Client(base_url=api.address) as browser:
        login = {"email": api.caller.email, "password": PASSWORD}
        _said(browser.post("/api/session", json=login), 200)
        _said(browser.get("/api/recognitions"), 200)


def test_recognize_credits_and_demo_keep_the_contract(
    client: httpx.Client, api: ThreadedApi
) -> None:
    def recognize(data: bytes, **headers: str) -> httpx.Response:
        return client.post("/api/recognize", content=data, headers={**OCTETS, **headers})

    answer = _said(recognize(images.jpeg()), 200)
    assert set(answer) == {
        *("plates", "processingTimeMs", "imageWidth", "imageHeight", "creditsRemaining")
    }
    assert answer["creditsRemaining"] == 2
    _said(client.post("/api/recognize", content=b"x", headers={"Content-Type": "image/jpeg"}), 415)
    assert _said(recognize(bytes(10 * 1024 * 1024 + 1)), 413)["code"] == "body_too_large"
    key = hashlib.sha256(b"photo").hexdigest()
    first = recognize(images.png(), **{"Idempotency-Key": key})
    again = recognize(images.png(), **{"Idempotency-Key": key})
    assert _said(first, 200) == _said(again, 200)
    _said(recognize(images.jpeg(), **{"Idempotency-Key": key}), 409)
    assert _said(client.get("/api/credits"), 200)["credits"] == 1
    _said(recognize(images.jpeg()), 200)
    assert "credit" in _said(recognize(images.jpeg()), 402)["error"].lower()
    demo = httpx.post(f"{api.address}/api/demo", content=images.jpeg(), headers=OCTETS)
    assert "creditsRemaining" not in _said(demo, 200)


def test_analytics_keeps_the_contract(client: httpx.Client) -> None:
    body = _said(client.get("/api/analytics"), 200)
    assert set(body) == {
        *("stats", "dailyChart", "hourlyChart", "heatMap", "topPlates", "cameraChart", "recent")
    }
    assert set(body["stats"]) == {"total30d", "activeCameras", "activeApiKeys", "successRate"}
    assert len(body["dailyChart"]) in (30, 31)
    assert [entry["hour"] for entry in body["hourlyChart"]] == list(range(24))


def test_a_head_is_answered_like_a_get_without_the_body(
    client: httpx.Client, api: ThreadedApi
) -> None:
    for path in (
        *("/healthz", "/api/openapi.json", "/api/docs"),
        *("/api/recognitions", "/api/cameras", "/api/alertas", "/api/credits"),
    ):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.headers["content-length"] == got.headers["content-length"], path
    for path, status in (
        *(("/api/recognitions?limit=0", 400), (f"/api/recognitions/{UNKNOWN}", 404)),
        *(("/api/nothing", 404), ("/api/recognize", 405), ("/api/recognitions/stream", 405)),
    ):
        head = client.head(path)
        assert (head.status_code, head.content) == (status, b""), path
        assert head.headers["x-request-id"]
    assert httpx.head(f"{api.address}/api/cameras").status_code == 401
    # The connection still works.
    _said(client.get("/api/credits"), 200)


def test_unknown_paths_are_404_and_methods_405(client: httpx.Client) -> None:
    _said(client.get("/api/nothing"), 404)
    _said(client.get("/nothing"), 404)
    wrong = client.patch("/api/cameras", json={})
    _said(wrong, 405)
    assert "GET" in wrong.headers["allow"]
    for path in ("/api/alertas/test", "/api/recognitions/stream"):
        other = client.put(path, json={})
        _said(other, 405)
        assert other.headers["allow"] == ("POST" if path.endswith("test") else "GET")
    odd = client.request("NONSENSE", "/api/cameras")
    assert _said(odd, 400)["requestId"] == odd.headers["x-request-id"]
    sane = client.get("/api/credits", headers={"X-Request-Id": "my-own-1"})
    assert sane.headers["x-request-id"] == "my-own-1"
    broken = client.post("/api/alertas", content=b"{", headers={"Content-Type": "application/json"})
    _said(broken, 400)
    form = client.post("/api/alertas", data={"name": "x"})
    _said(form, 415)
