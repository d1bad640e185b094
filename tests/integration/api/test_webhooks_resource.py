"""Webhooks through the API, with a real database."""

import json
from datetime import UTC, datetime
from typing import Any, get_args
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from api.db.database import Database
from api.webhooks.schemas import SubscribedEvent
from common.records.codec import decode
from common.records.topics import CONFIG_WEBHOOKS
from common.records.webhooks import WebhookConfig
from tests.integration.api.application import PER_OWNER, Application, Options, running_application
from tests.integration.api.outbox import outbox_of

pytestmark = pytest.mark.integration

URL = "https://receiver.example.com/plates?token=t0ken"
BODY = {"name": "Gate", "url": URL, "events": ["recognition.created"]}
PATH = "/api/webhooks"


async def test_create_answers_with_the_whole_webhook(client: httpx.AsyncClient) -> None:
    answer = await client.post(PATH, json=BODY)

    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "private, no-store"
    webhook = answer.json()["webhook"]
    assert UUID(webhook.pop("id"))
    assert datetime.fromisoformat(webhook.pop("createdAt")).tzinfo == UTC
    assert webhook.pop("secret").startswith("whsec_")
    assert webhook == {
        "name": "Gate",
        "url": URL,
        "enabled": True,
        "events": ["recognition.created"],
        "headers": {},
        "failureCount": 0,
        "failedAttempts": 0,
        "lastDeliveryAt": None,
        "lastDeliveryStatus": None,
        "disabledReason": None,
        "previousSecretUntil": None,
    }


async def test_every_field_is_stored_and_listed_newest_first(client: httpx.AsyncClient) -> None:
    body = {
        **BODY,
        "secret": "a secret of mine",
        "enabled": False,
        "events": [str(event) for event in get_args(SubscribedEvent)],
        "headers": {"X-Tenant": "north", "Authorization": "Bearer abc"},
    }
    first = (await client.post(PATH, json=BODY)).json()["webhook"]
    second = (await client.post(PATH, json=body)).json()["webhook"]

    assert {name: second[name] for name in body} == body
    assert (await client.get(PATH)).json() == {"webhooks": [second, first]}
    assert first["secret"] != second["secret"]


async def test_an_update_changes_what_is_sent_and_nothing_else(client: httpx.AsyncClient) -> None:
    created = (await client.post(PATH, json=BODY)).json()["webhook"]
    path = f"{PATH}/{created['id']}"
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"name": "Other"},
        {"url": "http://other.example.org:8080/x"},
        {"events": ["camera.offline", "camera.online"]},
        {"enabled": False},
        {"headers": {"X-A": "1"}},
        {"headers": {}},
        {"secret": "another secret"},
    )
    for change in changes:
        answer = await client.put(path, json=change)
        assert answer.status_code == 200
        assert answer.json()["webhook"] == created | change
        created = answer.json()["webhook"]
    assert (await client.get(PATH)).json() == {"webhooks": [created]}


async def test_every_change_leaves_for_the_topic_encrypted(
    application: Application, client: httpx.AsyncClient
) -> None:
    body = BODY | {"secret": "hunter2-secret", "headers": {"X-Key": "hunter2-header"}}
    webhook = (await client.post(PATH, json=body)).json()["webhook"]
    path = f"{PATH}/{webhook['id']}"
    await client.put(path, json={"enabled": False})
    await client.put(path, json={"enabled": False})
    await client.delete(path)

    rows = await outbox_of(application.database, CONFIG_WEBHOOKS)
    assert [key for key, _ in rows] == [webhook["id"]] * 3
    created, changed, deleted = (value for _, value in rows)
    assert created is not None
    assert changed is not None
    assert deleted is None
    config = decode(WebhookConfig, created)
    assert (config.revision, decode(WebhookConfig, changed).revision) == (1, 2)
    assert not decode(WebhookConfig, changed).enabled
    assert application.box.decrypt(config.secret_encrypted) == "hunter2-secret"
    assert application.box.decrypt(config.url_encrypted) == URL
    assert json.loads(application.box.decrypt(config.headers_encrypted)) == body["headers"]
    assert b"hunter2" not in created
    assert b"t0ken" not in created


async def test_nothing_secret_lies_open_in_the_database(
    application: Application, client: httpx.AsyncClient
) -> None:
    await client.post(PATH, json=BODY | {"secret": "hunter2", "headers": {"X-Key": "hunter2"}})
    rows = await application.database.run(
        lambda session: session.execute(text("SELECT webhooks::text FROM webhooks")).all()
    )

    assert len(rows) == 1
    assert "hunter2" not in rows[0][0]
    assert "t0ken" not in rows[0][0]


JSON = {"Content-Type": "application/json"}
FAULTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": None}, "name"),
    ({"name": " "}, "name"),
    ({"name": "x" * 201}, "name"),
    ({"name": "a\x00b"}, "name"),
    ({"url": ""}, "url"),
    ({"url": 5}, "url"),
    ({"url": "receiver.example.com"}, "url"),
    ({"url": "ftp://receiver.example.com"}, "url"),
    ({"url": "http://127.0.0.1/"}, "url"),
    ({"url": "http://169.254.169.254/latest/meta-data"}, "url"),
    ({"url": "http://10.0.0.8/"}, "url"),
    ({"url": "http://localhost:8000/"}, "url"),
    ({"events": []}, "events"),
    ({"events": "recognition.created"}, "events"),
    ({"events": ["recognition.created", "recognition.deleted"]}, "events.1"),
    ({"enabled": "yes"}, "enabled"),
    ({"enabled": 1}, "enabled"),
    ({"secret": ""}, "secret"),
    ({"secret": "x" * 257}, "secret"),
    ({"headers": []}, "headers"),
    ({"headers": {"X-A": 1}}, "headers.X-A"),
    ({"headers": {"X A": "1"}}, "headers.X A"),
    ({"headers": {"X-A": "1\r\nX-B: 2"}}, "headers.X-A"),
    ({"headers": {"host": "x"}}, "headers.host"),
    ({"headers": {"Content-Length": "1"}}, "headers.Content-Length"),
    ({"headers": {"x-signature-256": "1"}}, "headers.x-signature-256"),
    ({"headers": {"webhook-id": "1"}}, "headers.webhook-id"),
    ({"headers": {"X-A": "1", "x-a": "2"}}, "headers"),
    ({"headers": {f"X-{number}": "1" for number in range(51)}}, "headers"),
    ({"colour": "red"}, "colour"),
    ({"\ud800": "red"}, "body"),
)


async def test_a_fault_is_named(client: httpx.AsyncClient) -> None:
    created = (await client.post(PATH, json=BODY)).json()["webhook"]
    for change, path in FAULTS:
        for method, where, body in (
            ("POST", PATH, {**BODY, **change}),
            ("PUT", f"{PATH}/{created['id']}", change),
        ):
            answer = await client.request(method, where, content=json.dumps(body), headers=JSON)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), change
            assert [fault["path"] for fault in answer.json()["fields"]] == [path], change
    assert (await client.get(PATH)).json() == {"webhooks": [created]}


@pytest.mark.parametrize("addresses", ["10.0.0.8", "198.41.0.4 127.0.0.1", "::1", "fd00::1"])
async def test_a_name_that_resolves_inside_is_refused(
    application: Application, client: httpx.AsyncClient, addresses: str
) -> None:
    created = (await client.post(PATH, json=BODY)).json()["webhook"]
    application.resolver.names["receiver.example.net"] = addresses
    change = {"url": "https://receiver.example.net/x"}
    answers = [
        await client.post(PATH, json=BODY | change),
        await client.put(f"{PATH}/{created['id']}", json=change),
    ]

    for answer in answers:
        assert answer.status_code == 400
        assert [fault["path"] for fault in answer.json()["fields"]] == ["url"]


async def test_networks_that_the_operator_allows(database: Database) -> None:
    async with running_application(
        database, Options(allowed_networks="127.0.0.0/8")
    ) as application:
        caller = await application.new_owner()
        async with application.client(caller) as client:
            statuses = {
                url: (await client.post(PATH, json=BODY | {"url": url})).status_code
                for url in ("http://127.0.0.1:9/x", "http://localhost:9/x", "http://10.0.0.1/")
            }

    assert list(statuses.values()) == [201, 201, 400]


async def test_no_more_than_the_limit(client: httpx.AsyncClient) -> None:
    answers = [await client.post(PATH, json=BODY) for _ in range(PER_OWNER + 1)]

    assert [answer.status_code for answer in answers] == [201] * PER_OWNER + [409]
    assert answers[-1].json()["code"] == "limit_reached"
