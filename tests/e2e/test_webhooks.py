"""A webhook created through the API, events at a real receiver, and its delivery status."""

import pytest
from platestream_client import Client
from platestream_client.models import DeliveryBody
from standardwebhooks import Webhook

from tests.road import RoadClip
from tests.services.receiver import Receiver
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def _deliveries_of_events(client: Client, webhook: str) -> list[DeliveryBody]:
    return [one for one in client.webhooks.deliveries(webhook) if one["cause"] == "event"]


def test_events_reach_a_receiver_and_can_be_sent_again(client: Client, road_clip: RoadClip) -> None:
    with Receiver() as receiver:
        webhook = client.webhooks.create(
            {"name": "Gate", "url": receiver.url(), "events": ["recognition.created"]}
        )
        client.webhooks.test(webhook["id"])
        wait_until("the test event", lambda: receiver.received)
        camera = client.cameras.create(
            {"name": "Gate", "rtspUrl": road_clip.path.as_uri(), "identifier": "notified"}
        )
        recognized = wait_until(
            "a recognition", lambda: [body for body in receiver.bodies() if "test" not in body], 120
        )[0]
        client.cameras.delete(camera["id"])
        # The test's delivery is listed first. A delivery appears only after the sink has stored it.
        one = wait_until("it is listed", lambda: _deliveries_of_events(client, webhook["id"]))[0]
        client.webhooks.redeliver(webhook["id"], one["id"])
        wait_until(
            "it came again",
            lambda: [body["id"] for body in receiver.bodies()].count(one["eventId"]) == 2,
        )
        wait_until(
            "its status",
            lambda: client.webhooks.get(webhook["id"])["lastDeliveryStatus"] == 200,
            30,
        )
        client.webhooks.delete(webhook["id"])

    test, *_ = receiver.received
    assert test.json["test"] is True
    sent = recognized["data"]["recognition"]
    listed = client.recognitions.get(sent["id"])
    assert {k: v for k, v in sent.items() if not k.endswith("Url")} == {
        k: v for k, v in listed.items() if not k.endswith("Url")
    }
    for request in receiver.received:
        Webhook(webhook["secret"]).verify(request.body, dict(request.headers))
