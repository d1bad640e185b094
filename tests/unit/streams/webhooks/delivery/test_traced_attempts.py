"""Delivery attempts in the trace of their recognition."""

from typing import Any, cast

import msgspec
import pytest
from opentelemetry.trace import SpanKind

from common.records.codec import encode
from common.records.deliveries import Delivery, EmailTarget
from streams.runtime.stage_runner import StageRunner
from streams.webhooks.delivery.job import DeliveryIntake
from streams.webhooks.delivery.sender import DeliverySender
from streams.webhooks.events.subscription_cache import SubscriptionCache
from tests.recorded_spans import SOME_TRACE, recorded_spans
from tests.unit.streams.runtime.fakes import event
from tests.unit.streams.webhooks.builders import (
    BOX,
    WEBHOOK,
    Transport,
    delivery,
    delivery_sender,
    webhook,
)


def _sender(transport: Transport) -> DeliverySender:
    subscriptions = SubscriptionCache(BOX)
    subscriptions.apply_webhooks([(WEBHOOK, webhook())])
    return delivery_sender(transport, subscriptions)


def _traced(made: Delivery) -> Delivery:
    return msgspec.structs.replace(made, trace=SOME_TRACE.traceparent)


async def test_each_attempt_is_a_span_of_that_trace() -> None:
    made, transport = _traced(delivery(1)), Transport()
    with recorded_spans() as tracer:
        await _sender(transport).send(made, 1)
        await _sender(transport).send(made, 2)

    assert [span.name for span in tracer.spans] == ["process deliveries"] * 2
    assert [span.parent for span in tracer.spans] == [SOME_TRACE] * 2
    assert [span.attributes["platestream.delivery.attempt"] for span in tracer.spans] == [1, 2]
    assert tracer.spans[0].kind is SpanKind.CONSUMER
    assert tracer.spans[0].attributes["platestream.delivery.id"] == str(made.id)
    assert transport.traces == [span.context for span in tracer.spans]


async def test_no_address_is_in_the_spans() -> None:
    target = EmailTarget(alert_id=WEBHOOK, address_encrypted=BOX.encrypt("a@example.com"))
    mail = msgspec.structs.replace(_traced(delivery(1)), target=target)
    with recorded_spans() as tracer:
        await _sender(Transport()).send(mail, 1)
        await _sender(Transport()).send(_traced(delivery(1)), 1)

    assert tracer.names == ["process deliveries", "send email", "process deliveries"]
    plate = mail.recognition.plate if mail.recognition else ""
    for secret in ("example.com", plate, str(mail.owner_id)):
        assert secret
        assert secret not in repr(tracer.spans)


@pytest.mark.parametrize(
    ("made", "header", "wanted"),
    [
        (delivery(1), SOME_TRACE.traceparent.encode(), SOME_TRACE.traceparent),
        # A redelivery continues the trace of its event.
        (
            msgspec.structs.replace(delivery(1), trace="00-" + "1" * 32 + "-" + "2" * 16 + "-01"),
            SOME_TRACE.traceparent.encode(),
            "00-" + "1" * 32 + "-" + "2" * 16 + "-01",
        ),
        (delivery(1), b"garbage", msgspec.UNSET),
        (delivery(1), None, msgspec.UNSET),
    ],
)
async def test_a_delivery_is_taken_in_with_its_trace(
    made: Delivery, header: bytes | None, wanted: object
) -> None:
    taken: list[Delivery] = []

    async def offer(one: Delivery, _: Any) -> None:
        taken.append(one)

    headers = {} if header is None else {"traceparent": header}
    with recorded_spans():
        await DeliveryIntake(cast(StageRunner, None), offer).take(
            event(1, encode(made), headers=headers)
        )

    assert [one.trace for one in taken] == [wanted]
