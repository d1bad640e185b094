"""Traces at the seams of a stage: what is read, and what is sent."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import faust
from aiokafka.errors import KafkaTimeoutError

from common.records.codec import DeadLetter
from common.retry import RetryPolicy
from common.telemetry.messaging import trace_about
from common.telemetry.tracing import TraceContext, current_trace, traced
from streams.runtime.app import Event
from streams.runtime.batch_agent import BatchAgent
from streams.runtime.guard import Guard
from streams.runtime.sending import OutgoingMessage, TopicPublisher, try_to_send
from tests.recorded_spans import SOME_TRACE, recorded_spans
from tests.unit.streams.runtime.fakes import FakeApp, FakeTopic, event

HEADERS = {"traceparent": SOME_TRACE.traceparent.encode()}
RECORD = DeadLetter(stage="s", topic="t", partition=1, offset=2, code="c", reason="r", at_ms=3)


async def _no_letter(key: bytes | None, value: bytes) -> None:
    raise AssertionError("nothing is to be dead-lettered")


def _guard() -> Guard:
    return Guard(
        FakeApp().as_app(),
        stage="testing",
        send_dead_letter=_no_letter,
        retry=RetryPolicy(),
        dead_letters_per_minute=100,
        max_dead_letter_bytes=10_000,
    )


async def test_a_handler_runs_in_the_trace_of_its_message() -> None:
    seen: list[TraceContext | None] = []

    async def handle(one: Event) -> None:
        seen.append(current_trace())

    with recorded_spans() as tracer:
        await _guard().run(event(1, headers=HEADERS), handle)
        await _guard().run(event(2), handle)

    assert seen == [tracer.spans[0].context, None]
    assert tracer.names == ["process things"]
    assert tracer.spans[0].attributes["messaging.consumer.group.name"] == "platestream-testing"


async def test_a_batch_keeps_the_traces_of_its_messages_apart() -> None:
    traces: list[TraceContext | None] = []

    async def handle(part: Sequence[tuple[Event, UUID]]) -> None:
        traces.extend(trace_about(about) for _, about in part)

    agent = BatchAgent(_guard(), lambda value: UUID(bytes=value), handle, lambda about: about)
    one, two = UUID(int=1), UUID(int=2)
    with recorded_spans() as tracer:
        await agent.take([event(1, one.bytes, headers=HEADERS), event(2, two.bytes)])

    assert traces == [tracer.spans[0].context, None]


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


async def test_a_record_goes_on_with_the_trace_of_who_publishes_it() -> None:
    sent: list[dict[str, Any]] = []

    class Topic:
        def get_topic_name(self) -> str:
            return "things"

        async def send(self, **message: Any) -> Any:
            sent.append(message)

            async def done() -> None:
                pass

            return done()

    publisher = TopicPublisher(cast(faust.TopicT, Topic()))
    with recorded_spans() as tracer:
        await publisher.publish(b"key", RECORD)
        with traced("work", parent=SOME_TRACE):
            await publisher.publish(b"key", RECORD)

    work, send = tracer.spans
    assert send.parent == work.context
    assert [message["headers"] for message in sent] == [
        {},
        {"traceparent": send.context.traceparent.encode()},
    ]
