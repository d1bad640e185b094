"""The consumer's offsets, without a broker."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaTimeoutError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ConsumerMessage

from common.errors import TransientError
from common.records.codec import encode
from common.records.frames import FrameGap, OpenGap
from common.records.topics import RECOGNITIONS
from streams.runtime import consumer as consumer_module
from streams.runtime.app import StageApp, build_app, raw_topic
from streams.runtime.backlog import Backlog, GapRule
from streams.runtime.consumer import StageConsumer
from streams.runtime.progress import Position
from streams.runtime.sending import OutgoingMessage, try_to_send
from streams.runtime.settings import StreamSettings
from streams.runtime.tables import DurableTable

_TP = TP("things", 0)


@pytest.fixture
async def app(tmp_path: Path) -> StageApp:
    return build_app(StreamSettings.model_validate({"stream_data_directory": tmp_path}), "testing")


@pytest.fixture
async def consumer(app: StageApp) -> AsyncIterator[StageConsumer]:
    async def nothing(*_: Any) -> None:
        return

    consumer = app.transport.create_consumer(
        callback=nothing, on_partitions_revoked=nothing, on_partitions_assigned=nothing
    )
    assert isinstance(consumer, StageConsumer)
    app.topics.acking_topics.add(_TP.topic)
    app.consumer_generation_id = 1
    yield consumer
    consumer._thread.thread_loop.close()


def _message(offset: int, generation_id: int = 1) -> ConsumerMessage:
    return ConsumerMessage(
        _TP.topic, _TP.partition, offset, 0.0, 0, None, None, b"", None, tp=_TP,
        generation_id=generation_id,
    )  # fmt: skip


async def _deliver(consumer: StageConsumer, *offsets: int) -> list[ConsumerMessage]:
    found = [_message(offset) for offset in offsets]
    for message in found:
        await consumer.callback(message)
    return found


async def test_an_acknowledged_message_is_not_committed_before_it_is_released(
    consumer: StageConsumer,
) -> None:
    first, second = await _deliver(consumer, 10, 11)
    assert consumer.ack(first)
    assert consumer.ack(second)
    assert consumer._new_offset(_TP) is None
    consumer.release(second)
    assert consumer._new_offset(_TP) is None
    consumer.release(first)
    assert consumer._new_offset(_TP) == 12
    assert list(consumer._filter_tps_with_pending_acks()) == [_TP]


async def test_a_message_from_before_a_rebalance_is_not_released(consumer: StageConsumer) -> None:
    (message,) = await _deliver(consumer, 10)
    consumer.app.consumer_generation_id = 2
    consumer.release(message)
    assert consumer._new_offset(_TP) is None


async def test_a_jump_ahead_is_fetched_once_more_before_it_is_believed(
    consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _deliver(consumer, 10)
    sought: list[dict[TP, int]] = []

    async def fetch(*_: Any) -> dict[TP, list[ConsumerMessage]]:
        return {_TP: [_message(15)]}

    async def seek(positions: dict[TP, int]) -> None:
        sought.append(positions)

    monkeypatch.setattr(consumer._thread, "getmany", fetch)
    monkeypatch.setattr(consumer._thread, "seek_wait", seek)
    monkeypatch.setattr(consumer._thread, "assignment", lambda: {_TP})
    assert await consumer._getmany({_TP}, 1.0) == {}
    found = await consumer._getmany({_TP}, 1.0)
    assert [message.offset for message in found[_TP]] == [15]
    assert sought == [{_TP: 11}]


async def test_a_partition_that_was_revoked_unread_is_not_sought(
    consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _deliver(consumer, 10)
    sought: list[dict[TP, int]] = []
    found: dict[TP, list[ConsumerMessage]] = {_TP: [_message(11)]}

    async def fetch(*_: Any) -> dict[TP, list[ConsumerMessage]]:
        consumer.app.rebalancing = bool(found)
        return found

    async def seek(positions: dict[TP, int]) -> None:
        sought.append(positions)

    monkeypatch.setattr(consumer._thread, "getmany", fetch)
    monkeypatch.setattr(consumer._thread, "seek_wait", seek)
    monkeypatch.setattr(consumer._thread, "assignment", set)
    assert await consumer._getmany({_TP}, 1.0) == {}
    found, consumer.app.rebalancing = {}, False
    assert await consumer._getmany({_TP}, 1.0) == {}
    assert sought == [{}]


async def test_nothing_is_taken_during_a_rebalance(
    consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(*_: Any) -> dict[TP, list[ConsumerMessage]]:
        raise AssertionError("fetched")

    monkeypatch.setattr(consumer._thread, "getmany", fetch)
    consumer.app.rebalancing = True
    assert await consumer._getmany({_TP}, 1.0) == {}


async def test_every_message_of_the_largest_size_can_pass(app: StageApp) -> None:
    largest = app.settings.kafka_max_message_bytes
    assert app.conf.producer_max_request_size == largest
    assert app.conf.consumer_max_fetch_size == largest
    assert app.conf.producer_acks == -1
    assert not app.conf.web_enabled


async def test_a_message_is_next_once_all_before_it_are_released(consumer: StageConsumer) -> None:
    first, second = await _deliver(consumer, 10, 11)
    assert consumer.is_next(first)
    assert not consumer.is_next(second)
    consumer.release(first)
    assert consumer.is_next(second)


async def test_a_message_from_before_a_rebalance_is_never_next(consumer: StageConsumer) -> None:
    (message,) = await _deliver(consumer, 10)
    consumer.app.consumer_generation_id = 2
    assert not consumer.is_next(message)
    await _deliver(consumer, 10)
    assert not consumer.is_next(message)


class _Broker:
    """Kafka's state of the partition for its current consumer."""

    def __init__(self, consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.first = self.end = 0
        self.committed: int | None = None
        self.since: int | None = None
        self.may_commit = True
        self.sought: list[dict[TP, int]] = []
        self.found: dict[TP, list[ConsumerMessage]] = {}

        async def first(*_: Any) -> dict[TP, int]:
            return {_TP: self.first}

        async def end(*_: Any) -> dict[TP, int]:
            return {_TP: self.end}

        async def since(*_: Any) -> int | None:
            return self.since

        async def seek_to_committed() -> dict[TP, int]:
            return {} if self.committed is None else {_TP: self.committed}

        async def commit(offsets: dict[TP, int]) -> bool:
            if self.may_commit:
                self.committed = offsets[_TP]
            return self.may_commit

        async def seek(positions: dict[TP, int]) -> None:
            self.sought.append(positions)

        async def fetch(*_: Any) -> dict[TP, list[ConsumerMessage]]:
            return self.found

        thread = consumer._thread
        monkeypatch.setattr(thread, "earliest_offsets", first)
        monkeypatch.setattr(thread, "highwaters", end)
        monkeypatch.setattr(thread, "offset_since", since)
        monkeypatch.setattr(thread, "seek_to_committed", seek_to_committed)
        monkeypatch.setattr(thread, "commit", commit)
        monkeypatch.setattr(thread, "seek_wait", seek)
        monkeypatch.setattr(thread, "getmany", fetch)
        monkeypatch.setattr(thread, "assignment", lambda: {_TP})


@pytest.fixture
def broker(consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch) -> _Broker:
    return _Broker(consumer, monkeypatch)


@pytest.mark.parametrize(
    ("committed", "first", "end", "start"),
    [(None, 3, 9, 3), (5, 3, 9, 5), (9, 3, 9, 9), (100, 500, 500, 500)],
    ids=["at first", "in the log", "at its end", "taken by retention"],
)
async def test_reading_starts_at_what_is_left_to_do(
    consumer: StageConsumer,
    broker: _Broker,
    committed: int | None,
    first: int,
    end: int,
    start: int,
) -> None:
    broker.committed, broker.first, broker.end = committed, first, end
    await consumer.perform_seek()
    assert broker.sought == [{_TP: start}]
    assert broker.committed == committed
    assert await consumer.positions() == {_TP: Position(done=start, end=end)}


@pytest.mark.parametrize(("since", "start"), [(None, 4990), (4985, 4985)])
async def test_a_log_that_lost_its_end_is_read_from_there_and_committed_on(
    consumer: StageConsumer, broker: _Broker, since: int | None, start: int
) -> None:
    broker.committed, broker.end, broker.since = 5000, 4990, since
    await consumer.perform_seek()
    assert broker.sought == [{_TP: start}]
    assert broker.committed == start
    (message,) = await _deliver(consumer, start)
    consumer.release(message)
    assert consumer._filter_committable_offsets([_TP]) == {_TP: start + 1}


async def test_a_log_that_lost_its_end_is_committed_on_where_going_back_could_not_be(
    consumer: StageConsumer, broker: _Broker
) -> None:
    broker.committed, broker.end, broker.may_commit = 5000, 4990, False
    await consumer.perform_seek()
    (message,) = await _deliver(consumer, 4990)
    consumer.release(message)
    assert consumer._filter_committable_offsets([_TP]) == {_TP: 4991}


async def test_what_retention_took_before_a_start_is_counted(
    consumer: StageConsumer, broker: _Broker, app: StageApp
) -> None:
    broker.committed, broker.first, broker.end = 100, 140, 500
    await consumer.perform_seek()
    place = {"topic": _TP.topic, "partition": str(_TP.partition)}
    name = "platestream_stream_messages_expired_total"
    assert app.metrics.registry.get_sample_value(name, place) == 40


@pytest.mark.parametrize("committed", [100, None])
async def test_a_start_after_expired_records_is_committed(
    consumer: StageConsumer, broker: _Broker, committed: int | None
) -> None:
    broker.committed, broker.first, broker.end = committed, 140, 140
    await consumer.perform_seek()
    assert consumer._filter_committable_offsets([_TP]) == {_TP: 140}


def _leave_gap(app: StageApp) -> None:
    """Give the stage a gap from record 90 to record 110."""
    gap = FrameGap(begin=90, end=110, end_ms=0)
    kept = encode(OpenGap(partition=_TP.partition, gap=gap, next_offset=90, next_ms=0))
    gaps = Backlog(DurableTable(SimpleNamespace(data={b"gap": kept})))
    gaps.restore({_TP.partition})
    app.gaps = GapRule(
        gaps,
        _TP.topic,
        after_ms=20_000,
        offset_since=app.offset_since,
        end_offset=app.end_offset,
        now_ms=lambda: 0,
    )


async def test_a_gap_that_ends_past_a_log_that_lost_its_end_is_passed_as_far_as_the_log_goes(
    consumer: StageConsumer, broker: _Broker, app: StageApp
) -> None:
    _leave_gap(app)
    broker.committed, broker.end = 90, 100
    await consumer.perform_seek()
    broker.sought.clear()
    for end in (100, 100, 105, 120):
        broker.end = end
        await consumer._getmany({_TP}, 1.0)
    assert broker.sought == [{_TP: 100}, {}, {_TP: 105}, {_TP: 110}]
    assert consumer._filter_committable_offsets([_TP]) == {_TP: 110}


async def test_a_gap_is_not_passed_where_a_rebalance_has_sought_meanwhile(
    consumer: StageConsumer, broker: _Broker, app: StageApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    _leave_gap(app)
    broker.committed, broker.end = 90, 120
    await consumer.perform_seek()

    async def seek(_: dict[TP, int]) -> None:
        app.consumer_generation_id = 2

    monkeypatch.setattr(consumer._thread, "seek_wait", seek)
    await consumer._getmany({_TP}, 1.0)
    assert consumer._filter_committable_offsets([_TP]) == {}


@pytest.mark.parametrize("error", [KafkaTimeoutError(), TimeoutError()], ids=repr)
async def test_where_kafka_does_not_answer_a_place_is_asked_for_again(
    app: StageApp, consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def fail(*_: Any) -> None:
        raise error

    app._consumer = consumer
    for name in ("highwaters", "offset_since", "committed"):
        monkeypatch.setattr(consumer._thread, name, fail)
    for look in (app.end_offset(_TP), app.offset_since(_TP, 0), app.committed_offset(_TP)):
        with pytest.raises(TransientError):
            await look
    app._consumer = None


@pytest.mark.parametrize(("in_flight", "done"), [((), 500), ((100,), 100)])
async def test_what_retention_takes_unread_is_done_unless_something_is_in_flight(
    consumer: StageConsumer, broker: _Broker, in_flight: tuple[int, ...], done: int
) -> None:
    broker.committed, broker.end = 100, 500
    await consumer.perform_seek()
    await _deliver(consumer, *in_flight)
    broker.first = 500
    assert await consumer.positions() == {_TP: Position(done=done, end=500)}


class _EndedError(Exception):
    """The process has exited."""


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise _EndedError(status)

    monkeypatch.setattr(consumer_module, "end_process", end)


@pytest.mark.usefixtures("ended")
async def test_a_log_that_loses_its_end_while_it_is_read_ends_the_process(
    consumer: StageConsumer, broker: _Broker
) -> None:
    await _deliver(consumer, 4999)
    broker.committed, broker.end, broker.found = 5000, 4991, {_TP: [_message(0)]}
    with pytest.raises(_EndedError, match="75"):
        await consumer._getmany({_TP}, 1.0)
    assert broker.committed == 4991


@pytest.mark.usefixtures("ended")
async def test_records_from_before_a_rebalance_are_no_sign_of_a_lost_end(
    consumer: StageConsumer, broker: _Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _deliver(consumer, 4999)

    async def fetch(*_: Any) -> dict[TP, list[ConsumerMessage]]:
        consumer.app.consumer_generation_id = 2
        return {_TP: [_message(10)]}

    monkeypatch.setattr(consumer._thread, "getmany", fetch)
    assert await consumer._getmany({_TP}, 1.0)


async def test_a_worker_that_has_not_heard_of_its_group_for_a_session_sends_nothing(
    app: StageApp, consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(consumer_module, "_seconds", lambda: now)
    app._consumer = consumer
    topic = raw_topic(app, RECOGNITIONS)
    # Before this worker has joined, no other worker can have taken its partitions.
    app.require_membership()
    consumer._thread.heard_seconds = 100.0
    now += app.conf.broker_session_timeout - 0.1
    app.require_membership()
    now += 0.2
    with pytest.raises(TransientError):
        await topic.send(key=b"key", value=b"value")
    with pytest.raises(TransientError):
        await app.batch_producer()
    assert await try_to_send(topic, [OutgoingMessage(b"key", b"value")]) == [False]
    consumer._thread.heard_seconds = now
    app.require_membership()
    app._consumer = None


@pytest.mark.parametrize("is_member", [True, False])
async def test_what_the_group_answers_to_a_heartbeat_is_noted(
    consumer: StageConsumer, monkeypatch: pytest.MonkeyPatch, is_member: bool
) -> None:
    async def beat() -> bool:
        return is_member

    async def start(_: object) -> None:
        return

    coordinator = SimpleNamespace(_do_heartbeat=beat)
    thread = consumer._thread
    monkeypatch.setattr(driver.AIOKafkaConsumerThread, "on_start", start)
    fetcher = SimpleNamespace(_get_actions_per_node=lambda _: None)
    ours = SimpleNamespace(_coordinator=coordinator, _fetcher=fetcher)
    monkeypatch.setattr(thread, "_ensure_consumer", lambda: ours)
    await thread.on_start()
    assert await coordinator._do_heartbeat() is is_member
    assert (thread.heard_seconds is not None) is is_member
