"""Past deliveries that are sent once more continue the trace of their event."""

from typing import Any

import msgspec
import pytest

from api.deliveries.samples import SampleEvents
from common.records.codec import decode, encode
from common.records.deliveries import Delivery, DeliveryCause
from common.records.webhooks import EventName
from tests.recorded_spans import SOME_TRACE
from tests.records import OWNER
from tests.unit.streams.webhooks.builders import BOX, WEBHOOK


@pytest.mark.parametrize(
    ("cause", "trace"),
    [(DeliveryCause.REDELIVERY, SOME_TRACE.traceparent), (DeliveryCause.REPLAY, msgspec.UNSET)],
)
def test_one_goes_on_with_its_trace_and_many_are_in_none(cause: DeliveryCause, trace: Any) -> None:
    made = SampleEvents(BOX).delivery(EventName.RECOGNITION_CREATED, OWNER, WEBHOOK, now_ms=1_000)
    stored = msgspec.structs.replace(made, trace=SOME_TRACE.traceparent)

    again = decode(Delivery, encode(stored)).again(cause, 2_000)

    assert (again.id, again.cause, again.requested_ms) == (made.id, cause, 2_000)
    assert again.trace == trace
