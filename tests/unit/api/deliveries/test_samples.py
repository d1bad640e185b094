"""Sample events for testing a receiver."""

import json

import pytest
from pydantic import ValidationError

from api.deliveries.samples import SampleEvents
from api.webhooks.schemas import WebhookCreate
from common.records.deliveries import DeliveryCause
from common.records.payloads import delivery_body
from common.records.webhooks import EventName
from tests.records import OWNER
from tests.unit.streams.webhooks.builders import BOX, WEBHOOK

_NOW_MS = 1_795_000_000_000


@pytest.mark.parametrize("event", EventName)
def test_every_event_can_be_tried(event: EventName) -> None:
    made = SampleEvents(BOX).delivery(event, OWNER, WEBHOOK, now_ms=_NOW_MS)
    body = json.loads(delivery_body(made, BOX))
    assert (made.event, made.cause) == (event, DeliveryCause.TEST)
    assert (body["event"], body["test"]) == (event.value, True)


@pytest.mark.parametrize(
    ("event", "phase"),
    [
        (EventName.ALERT_TRIGGERED, None),
        (EventName.ALERT_CONFIRMED, "confirmed"),
        (EventName.ALERT_CORRECTED, "withdrawn"),
    ],
)
def test_the_resolution_of_an_early_alert_can_be_sent_as_a_test(
    event: EventName, phase: str | None
) -> None:
    made = SampleEvents(BOX).delivery(event, OWNER, WEBHOOK, now_ms=_NOW_MS)
    data = json.loads(delivery_body(made, BOX))["data"]
    assert data.get("phase") == phase
    assert ("earlyPlate" in data) is (phase is not None)


def test_corrections_come_with_what_they_correct() -> None:
    body = {"name": "Gate", "url": "https://receiver.example.com/"}
    wanted = ["alert.triggered", "alert.confirmed", "alert.triggered"]
    assert WebhookCreate.model_validate(body | {"events": wanted}).events == wanted[:2]
    with pytest.raises(ValidationError):
        WebhookCreate.model_validate(body | {"events": ["alert.corrected"]})
