"""Keys that can change webhooks but not read them: what they see, and where events can be sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest

from api.app import create_app
from api.security.permissions import BodyKind, Scope
from common.records.codec import encode
from common.records.deliveries import (
    Delivery,
    WebhookTarget,
    recognition_delivery,
    trigger_delivery,
)
from common.records.topics import DELIVERIES
from tests.integration.api.application import Application, Caller, StandInStore
from tests.integration.api.outbox import outbox_of
from tests.records import alert as alert_record
from tests.records import alert_trigger, recognition

pytestmark = pytest.mark.integration

PATH = "/api/webhooks"
SECRET, VALUE = "the signing secret", "Bearer hunter2"
BODY = {
    "name": "Gate",
    "url": "https://receiver.example.com/plates-t0ken",
    "events": ["recognition.created", "alert.triggered"],
    "secret": SECRET,
    "headers": {"Authorization": VALUE, "X-Tenant": "north-wing"},
}
HIDDEN = {"Authorization": "***", "X-Tenant": "***"}
PERIOD = {"from": "2026-09-01T00:00:00Z", "to": "2026-10-01T00:00:00Z"}
REPLAYED = frozenset({Scope.WEBHOOKS_WRITE, Scope.RECOGNITIONS_READ})


@pytest.fixture
async def webhook(client: httpx.AsyncClient) -> dict[str, Any]:
    """A webhook as a client with read access sees it."""
    made: dict[str, Any] = (await client.post(PATH, json=BODY)).json()["webhook"]
    return made


@asynccontextmanager
async def having(
    application: Application, client: httpx.AsyncClient, *scopes: Scope
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the same account whose key has only these scopes."""
    body = {"name": "narrow", "scopes": [str(scope) for scope in scopes]}
    made = (await client.post("/api/api-keys", json=body)).json()
    async with application.client(Caller(UUID(int=0), made["plainKey"])) as narrow:
        yield narrow


@pytest.fixture
async def writer(
    application: Application, client: httpx.AsyncClient
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the same account that can only write webhooks."""
    async with having(application, client, Scope.WEBHOOKS_WRITE) as narrow:
        yield narrow


async def test_no_answer_of_any_call_shows_what_another_key_stored(
    writer: httpx.AsyncClient, webhook: dict[str, Any]
) -> None:
    seen = []
    for (method, path), access in create_app().state.permissions.access.items():
        # The response does not show the deleted webhook.
        if not path.startswith(PATH) or method == "DELETE":
            continue
        body: dict[str, str] | None = {} if access.body is BodyKind.JSON else None
        path = path.replace("{id}", webhook["id"]).replace("{deliveryId}", webhook["id"])
        answer = await writer.request(method, path, json=PERIOD if "replay" in path else body)
        assert SECRET not in answer.text
        assert VALUE not in answer.text
        assert "north-wing" not in answer.text
        assert "t0ken" not in answer.text
        seen.append(answer.status_code)

    assert sorted(seen) == [200, 200, 202, 400, 403, 403, 403, 403, 403]


async def test_a_webhook_just_made_is_shown_whole_and_later_hidden(
    writer: httpx.AsyncClient,
) -> None:
    made = (await writer.post(PATH, json=BODY | {"secret": None})).json()["webhook"]
    path = f"{PATH}/{made['id']}"
    changed = (await writer.put(path, json={"name": "Other"})).json()["webhook"]
    rotated = (await writer.post(f"{path}/rotate-secret")).json()["webhook"]

    assert made["secret"].startswith("whsec_")
    assert made["headers"] == BODY["headers"]
    hidden = {"url": "https://receiver.example.com", "secret": "***", "headers": HIDDEN}
    assert changed == made | {"name": "Other"} | hidden
    assert (rotated["secret"], rotated["headers"]) == ("***", HIDDEN)


async def test_a_masked_value_that_is_sent_back_changes_nothing(
    client: httpx.AsyncClient, writer: httpx.AsyncClient, webhook: dict[str, Any]
) -> None:
    path = f"{PATH}/{webhook['id']}"
    shown = (await writer.put(path, json={})).json()["webhook"]
    headers = {"authorization": "***", "X-New": "1"}
    answer = await writer.put(path, json=shown | {"name": "Other", "headers": headers})

    assert answer.status_code == 200
    assert answer.json()["webhook"]["headers"] == {"authorization": "***", "X-New": "***"}
    (stored,) = (await client.get(PATH)).json()["webhooks"]
    assert stored == webhook | {
        "name": "Other",
        "headers": {"authorization": VALUE, "X-New": "1"},
    }


@pytest.mark.parametrize(
    ("change", "path"),
    [({"secret": "***"}, "secret"), ({"headers": {"X-A": "***"}}, "headers")],
    ids=["secret", "headers"],
)
async def test_three_stars_are_no_value_of_a_new_webhook(
    client: httpx.AsyncClient, change: dict[str, Any], path: str
) -> None:
    answer = await client.post(PATH, json=BODY | change)

    assert (answer.status_code, [fault["path"] for fault in answer.json()["fields"]]) == (
        400,
        [path],
    )


async def test_three_stars_stand_for_what_is_stored_only(
    client: httpx.AsyncClient, webhook: dict[str, Any]
) -> None:
    path = f"{PATH}/{webhook['id']}"
    answers = [
        await client.put(path, json={"headers": {"X-Other": "***"}}),
        await client.post(f"{path}/rotate-secret", json={"secret": "***"}),
    ]

    assert [answer.status_code for answer in answers] == [400, 400]
    paths = [answer.json()["fields"][0]["path"] for answer in answers]
    assert paths == ["headers.X-Other", "secret"]
    assert (await client.get(PATH)).json()["webhooks"] == [webhook]


@pytest.mark.parametrize(
    ("url", "headers", "is_taken"),
    [
        ("https://receiver.example.com/other?x=1", None, True),
        ("https://RECEIVER.example.com:443/plates", None, True),
        ("https://receiver.example.com:8443/plates", None, False),
        ("http://receiver.example.com/plates", None, False),
        ("https://attacker.example.org/plates", None, False),
        ("https://attacker.example.org/plates", HIDDEN, False),
        ("https://attacker.example.org/plates", {"Authorization": "***"}, False),
        ("https://attacker.example.org/plates", {"Authorization": "Bearer mine"}, True),
        ("https://attacker.example.org/plates", {}, True),
    ],
    ids=str,
)
async def test_hidden_values_go_to_no_other_place(
    client: httpx.AsyncClient,
    writer: httpx.AsyncClient,
    webhook: dict[str, Any],
    url: str,
    headers: dict[str, str] | None,
    is_taken: bool,
) -> None:
    path = f"{PATH}/{webhook['id']}"
    change = {"url": url} | ({} if headers is None else {"headers": headers})
    answer = await writer.put(path, json=change)

    assert answer.status_code == (200 if is_taken else 400)
    if not is_taken:
        assert [fault["path"] for fault in answer.json()["fields"]] == ["headers"]
        assert (await client.get(PATH)).json()["webhooks"] == [webhook]
    assert (await client.put(path, json=change)).status_code == 200


def _past_alert(webhook_id: UUID) -> Delivery:
    trigger = alert_trigger(alert_record(1), recognition(1))
    return trigger_delivery(trigger, str(webhook_id), WebhookTarget(webhook_id=webhook_id))


async def test_past_alerts_need_the_scope_of_alerts_too(
    application: Application,
    client: httpx.AsyncClient,
    stored: StandInStore,
    webhook: dict[str, Any],
) -> None:
    webhook_id = UUID(webhook["id"])
    plain = recognition_delivery(recognition(1), webhook_id, created_ms=5)
    alert = _past_alert(webhook_id)
    stored.contents.update({made.id: encode(made) for made in (plain, alert)})
    path = f"{PATH}/{webhook['id']}"

    async def asked(*scopes: Scope) -> list[int]:
        async with having(application, client, *scopes) as narrow:
            answers = [
                await narrow.post(f"{path}/replay", json=PERIOD),
                await narrow.post(f"{path}/deliveries/{plain.id}/redeliver"),
                await narrow.post(f"{path}/deliveries/{alert.id}/redeliver"),
            ]
        return [answer.status_code for answer in answers]

    assert await asked(Scope.WEBHOOKS_WRITE) == [403, 403, 403]
    assert await outbox_of(application.database, DELIVERIES) == []
    assert await asked(*REPLAYED) == [403, 202, 403]
    assert len(await outbox_of(application.database, DELIVERIES)) == 1
    assert await asked(*REPLAYED, Scope.ALERTS_READ) == [202, 202, 202]
    await client.put(path, json={"events": ["recognition.created", "camera.online"]})
    stored.contents.pop(alert.id)
    assert await asked(*REPLAYED) == [202, 202, 404]
