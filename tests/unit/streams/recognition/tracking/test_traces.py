"""A recognition continues the trace of the frame with the winning reading."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from common.records.codec import encode
from common.records.frames import FrameKind
from common.records.recognitions import Recognition
from common.telemetry.tracing import TraceContext, begin_trace, current_trace, within
from streams.recognition.tracking.agent import TrackingAgent
from tests.recorded_spans import RecordingTracer, recorded_spans
from tests.unit.streams.recognition.builders import CAMERA, RULES, frame, reading
from tests.unit.streams.recognition.tracking.test_agent import KEY, World, tracking_of

TRACES = [TraceContext(f"{n:032x}", f"{n:016x}") for n in range(0xA0, 0xD0)]
SEEN = [
    frame(0, 0, [reading("AB123CD", 0.9)]),
    frame(1, 200, [reading("AB123CD", 0.97)]),
    frame(2, 400, [reading("AB123CD", 0.91)]),
]
END = frame(9, 2_600, kind=FrameKind.TICK)


class Published:
    """Records the traces in which recognitions were published."""

    def __init__(self, world: World) -> None:
        self.traces: list[TraceContext | None] = []
        publish = world.publish

        async def noted(key: bytes, recognition: Recognition) -> None:
            self.traces.append(current_trace())
            await publish(key, recognition)

        world.publish = noted  # type: ignore[method-assign]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def published(world: World) -> Published:
    return Published(world)


@pytest.fixture
def tracking(world: World, published: Published) -> TrackingAgent:
    return tracking_of(world, RULES)


async def _play(tracking: TrackingAgent, *frames: tuple[Any, TraceContext | None]) -> None:
    for each, trace in frames:
        await tracking.handle(KEY, encode(each), trace)


async def test_it_is_that_of_the_winning_frame_with_links_to_the_others(
    tracking: TrackingAgent, world: World, published: Published
) -> None:
    with recorded_spans() as tracer:
        await _play(tracking, *zip(SEEN, TRACES, strict=False), (END, None))

    (span,) = _passes(tracer)
    assert span.parent == TRACES[1]
    assert set(span.links) == {TRACES[0], TRACES[2]}
    assert published.traces == [span.context]
    assert span.attributes == {
        "platestream.camera.id": str(CAMERA),
        "platestream.recognition.id": str(world.recognitions[0].id),
    }


async def test_it_survives_a_restart_with_the_state(
    tracking: TrackingAgent, world: World, published: Published
) -> None:
    with recorded_spans() as tracer:
        await _play(tracking, *zip(SEEN, TRACES, strict=False))
        world.registry = CollectorRegistry()
        again = tracking_of(world, RULES)
        await _play(again, (END, None))

    (span,) = _passes(tracer)
    assert span.parent == TRACES[1]
    assert len(span.links) == 2


async def test_without_one_of_the_winning_frame_there_is_none(
    tracking: TrackingAgent, published: Published
) -> None:
    with recorded_spans() as tracer:
        await _play(tracking, (SEEN[0], TRACES[0]), (SEEN[1], None), (SEEN[2], TRACES[2]))
        # The record that ends the pass can have a different trace.
        span = begin_trace("process readings", given=TRACES[40].traceparent)
        assert span is not None
        with within(span):
            await _play(tracking, (END, None))

    assert _passes(tracer) == []
    assert published.traces == [None]


def _passes(tracer: RecordingTracer) -> list[Any]:
    return [span for span in tracer.spans if span.name == "recognize pass"]
