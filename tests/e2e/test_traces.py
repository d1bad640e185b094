"""One trace from a camera's frame to the webhook, and one from a client's call, on the whole stack.

The tests use a separate stack, because the stack of the other modules sends no traces.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from common.telemetry.tracing import TRACEPARENT, parse_traceparent
from tests.recorded_spans import SOME_TRACE
from tests.road import RoadClip
from tests.services.receiver import Received, Receiver
from tests.services.stack import RunningStack
from tests.services.traces import ReceivedSpan, TraceCollector
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

_FROM_RECOGNITION_ON = {
    ("platestream-alerts", "process recognitions"),
    ("platestream-alerts", "send alert-candidates"),
    ("platestream-alerts", "process alert-candidates"),
    ("platestream-alerts", "send alerts"),
    ("platestream-webhooks", "process recognitions"),
    ("platestream-webhooks", "process alerts"),
    ("platestream-webhooks", "send deliveries"),
    ("platestream-webhooks", "process deliveries"),
    ("platestream-webhooks", "POST"),
    ("platestream-webhooks", "send attempts"),
    ("platestream-webhooks", "process attempts"),
    ("platestream-sink", "process recognitions"),
    ("platestream-sink", "process alerts"),
    ("platestream-sink", "process attempts"),
}
_OF_A_FRAME = _FROM_RECOGNITION_ON | {
    ("platestream-ingest", "capture frame"),
    ("platestream-ingest", "send frames"),
    ("platestream-recognition", "process frames"),
    ("platestream-recognition", "read plates"),
    ("platestream-recognition", "send readings"),
    ("platestream-recognition", "process readings"),
    ("platestream-recognition", "recognize pass"),
    ("platestream-recognition", "send recognitions"),
}
_OF_A_CALL = _FROM_RECOGNITION_ON | {
    ("platestream-api", "POST /api/recognize"),
    ("platestream-api", "transaction"),
    ("platestream-relay", "send recognitions"),
}
_INSERTS = ("INSERT recognitions", "INSERT alert_triggers", "INSERT delivery_attempts")


@pytest.fixture
def collector() -> Iterator[TraceCollector]:
    with TraceCollector() as running:
        yield running


@pytest.fixture
def traced_stack(collector: TraceCollector) -> Iterator[RunningStack]:
    """A stack that traces everything."""
    settings = {
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "TRACES_ENDPOINT": collector.endpoint,
        "TRACES_SAMPLE_RATIO": "1",
    }
    with (
        TemporaryDirectory(prefix="platestream-traces-", ignore_cleanup_errors=True) as folder,
        RunningStack(Path(folder), settings) as stack,
    ):
        yield stack


def test_one_trace_leads_from_the_frame_to_the_webhook(
    traced_stack: RunningStack, collector: TraceCollector, road_clip: RoadClip
) -> None:
    access = traced_stack.access
    with Receiver() as receiver, access.client() as client:
        client.webhooks.create(
            {"name": "Gate", "url": receiver.url(), "events": ["alert.triggered"]}
        )
        client.alerts.create(
            {"name": "All", "plateMatchMode": "any", "cooldownMinutes": 0, "early": False}
        )
        camera = client.cameras.create({"name": "Gate", "rtspUrl": road_clip.path.as_uri()})
        request = wait_until("an alert at its receiver", lambda: receiver.received[:1], 240)[0]
        trace_id = _trace_id(request)
        assert trace_id is not None, request.headers
        _wait_for(collector, trace_id, _OF_A_FRAME)
        wait_until(
            "the parents of all spans",
            lambda: _roots(collector.trace(trace_id)) == ["capture frame"],
            30,
        )
        _tells_of_nobody(collector.trace(trace_id), road_clip)
        inserted = {span.name for span in collector.spans if span.process == "platestream-sink"}
        assert inserted >= set(_INSERTS), inserted
        recognition = request.json["data"]["recognition"]
        _is_in_the_log(traced_stack, recognition["id"], trace_id)

        client.cameras.delete(camera["id"])
        photo = client.recognitions.photo(recognition["id"])
        httpx.post(
            f"{access.base_url}/api/recognize?store=true",
            content=photo.content,
            headers={
                "Authorization": f"Bearer {access.api_key}",
                "Content-Type": "application/octet-stream",
                TRACEPARENT: SOME_TRACE.traceparent,
            },
            timeout=30,
        ).raise_for_status()
        _wait_for(collector, SOME_TRACE.trace_id, _OF_A_CALL)
        told = [each for each in receiver.received if _trace_id(each) == SOME_TRACE.trace_id]
        assert told
    calls = collector.trace(SOME_TRACE.trace_id)
    assert [span.name for span in calls if span.parent_id == SOME_TRACE.span_id] == [
        "POST /api/recognize"
    ]


def _trace_id(request: Received) -> str | None:
    found = parse_traceparent(request.headers.get(TRACEPARENT))
    return None if found is None else found.trace_id


def _wait_for(collector: TraceCollector, trace_id: str, wanted: set[tuple[str, str]]) -> None:
    def missing() -> set[tuple[str, str]]:
        return wanted - {(span.process, span.name) for span in collector.trace(trace_id)}

    try:
        wait_until("all spans of a trace", lambda: not missing(), 120)
    finally:
        assert not missing()


def _roots(spans: list[ReceivedSpan]) -> list[str]:
    """Return the names of the spans whose parents are not among ``spans``."""
    ids = {span.span_id for span in spans}
    return [span.name for span in spans if span.parent_id not in ids]


def _tells_of_nobody(spans: list[ReceivedSpan], clip: RoadClip) -> None:
    said = json.dumps([[span.name, dict(span.attributes)] for span in spans])
    for secret in (*clip.plates, "Gate", "file:", "127.0.0.1"):
        assert secret not in said, secret


def _is_in_the_log(stack: RunningStack, recognition_id: str, trace_id: str) -> None:
    lines = [
        json.loads(line)
        for line in stack.log("recognition").splitlines()
        if recognition_id in line and "plate_recognized" in line
    ]
    assert [line["trace_id"] for line in lines] == [trace_id]
