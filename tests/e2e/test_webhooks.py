"""A webhook through the API, events at a real receiver, and what became of them."""

from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.e2e.api_client import ApiClient
from tests.road import RoadClip
from tests.services.receiver import Receiver

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def _last_status(client: ApiClient, webhook_id: str) -> Any:
    webhooks = client.call("GET", "/api/webhooks").json()["webhooks"]
    return next(one["lastDeliveryStatus"] for one in webhooks if one["id"] == webhook_id)


def _delivery_of_event(client: ApiClient, path: str) -> Any:
    deliveries = client.call("GET", f"{path}/deliveries").json()["deliveries"]
    return next((one for one in deliveries if one["cause"] == "event"), None)


def test_events_reach_a_receiver_and_can_be_sent_again(
    client: ApiClient, road_clip: RoadClip
) -> None:
    with Receiver() as receiver:
        body = {"name": "Gate", "url": receiver.url(), "events": ["recognition.created"]}
        webhook = client.call("POST", "/api/webhooks", expect=201, json=body).json()["webhook"]
        path = f"/api/webhooks/{webhook['id']}"
        client.call("POST", f"{path}/test", expect=202, json={})
        client.wait_until("the test event", lambda: receiver.received, seconds=60)
        camera = client.create_camera(road_clip.path.as_uri(), identifier="notified")
        recognized = client.wait_until(
            "a recognition",
            lambda: [body for body in receiver.bodies() if "test" not in body],
            seconds=120,
        )[0]
        client.call("DELETE", f"/api/cameras/{camera}")
        # That of the test is listed first, and each only once the sink has it.
        one = client.wait_until(
            "it is listed", lambda: _delivery_of_event(client, path), seconds=60
        )
        again = f"{path}/deliveries/{one['id']}/redeliver"
        client.call("POST", again, expect=202, json={})
        client.wait_until(
            "it came again",
            lambda: [body["id"] for body in receiver.bodies()].count(one["eventId"]) == 2,
            seconds=60,
        )

        client.wait_until(
            "its status", lambda: _last_status(client, webhook["id"]) == 200, seconds=30
        )
        client.call("DELETE", path, expect=204)

    test, *_ = receiver.received
    assert test.json["test"] is True
    listed = client.call(
        "GET", f"/api/recognitions/{recognized['data']['recognition']['id']}"
    ).json()["recognition"]
    sent = recognized["data"]["recognition"]
    assert {k: v for k, v in sent.items() if not k.endswith("Url")} == {
        k: v for k, v in listed.items() if not k.endswith("Url")
    }
    for request in receiver.received:
        Webhook(webhook["secret"]).verify(request.body, dict(request.headers))
