"""Delays of alerts that arrive at given times."""

from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from common.records.webhooks import EventName
from tests.fleet.lateness import of_seen, of_sent
from tests.services.receiver import Received

_OFFSET = 1_000.0


def _received(
    at: float,
    recognition: UUID,
    *,
    alert: str = "any",
    event: EventName = EventName.ALERT_TRIGGERED,
    **seen: Any,
) -> Received:
    data = {"alert": {"name": alert}, "recognition": {"id": str(recognition), **seen}}
    return Received("/all", {"x-event-type": event}, msgspec.json.encode({"data": data}), at)


def test_what_was_sent_is_late_by_its_first_arrival() -> None:
    quick, slow, lost = uuid4(), uuid4(), uuid4()
    received = [
        _received(11.0, quick),
        _received(5.0, quick, alert="another"),
        _received(5.0, slow, event=EventName.RECOGNITION_CREATED),
        _received(17.5, slow),
        _received(90.0, quick),
    ]
    found = of_sent(dict.fromkeys((quick, slow, lost), 10.0), received, "any")
    assert found.seconds == (1.0, 7.5)
    assert (found.worst, found.missing) == (7.5, 1)
    assert "1 MISSING" in str(found)


@pytest.mark.parametrize(("since", "expected"), [(0.0, (2.0, 3.5)), (1_005.0, (3.5,))])
def test_a_camera_s_pass_is_late_from_when_it_was_last_seen(
    since: float, expected: tuple[float, ...]
) -> None:
    mine: dict[str, Any] = {"cameraId": "mine", "timestamp": "1970-01-01T00:16:40Z"}
    received = [
        _received(4.0, uuid4(), **mine, lastSeenAt="1970-01-01T00:16:42Z"),
        _received(13.5, uuid4(), **mine, lastSeenAt="1970-01-01T00:16:50Z"),
        _received(50.0, uuid4(), **mine | {"cameraId": "another"}),
    ]
    found = of_seen(["mine"], received, "any", unix_offset_seconds=_OFFSET, since=since)
    assert found.seconds == expected


def test_nothing_is_not_late() -> None:
    assert of_sent({}, [], "any").worst == 0.0
