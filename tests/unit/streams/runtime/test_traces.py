"""Traces at the input and the output of a stage."""

from aiokafka.errors import KafkaTimeoutError

from common.telemetry.tracing import TraceContext, current_trace
from streams.runtime.app import Event
from streams.runtime.sending import OutgoingMessage, try_to_send
from tests.recorded_spans import SOME_TRACE, recorded_spans
from tests.unit.streams.runtime.fakes import FakeApp, FakeTopic, event, guard_of

HEADERS = {"traceparent": SOME_TRACE.traceparent.encode()}


async def test_a_handler_runs_in_the_trace_of_its_message() -> None:
    seen: list[TraceContext | None] = []

    async def handle(one: Event) -> None:
        seen.append(current_trace())

    with recorded_spans() as tracer:
        await guard_of(FakeApp()).run(event(1, headers=HEADERS), handle)
        await guard_of(FakeApp()).run(event(2), handle)

    assert seen == [tracer.spans[0].context, None]
    assert tracer.names == ["process things"]
    assert tracer.spans[0].attributes["messaging.consumer.group.name"] == "platestream-testing"


async def test_messages_go_on_with_their_own_traces() -> None:
    topic = FakeTopic()
    topic.faults[4] = KafkaTimeoutError()
    other = TraceContext("1" * 32, "2" * 16)
    messages = [
        OutgoingMessage(b"a", b"1", 3, SOME_TRACE),
        OutgoingMessage(b"b", b"2", 3),
        OutgoingMessage(b"c", b"3", 4, other),
    ]
    with recorded_spans() as tracer:
        taken = await try_to_send(topic.as_topic(), messages)

    first, lost = tracer.spans
    assert taken == [True, True, False]
    assert topic.headers == [{"traceparent": first.context.traceparent.encode()}, {}]
    assert (first.name, first.parent, first.error, first.ends) == (
        "send things",
        SOME_TRACE,
        "",
        1,
    )
    assert (lost.parent, lost.error, lost.ends) == (other, "not_taken", 1)
