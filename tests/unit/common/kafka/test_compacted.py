"""Reports of a reader over several reads of a topic. Other tests cover the thread with Kafka."""

import asyncio
from collections.abc import Callable, Iterable
from typing import cast
from uuid import UUID

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord

from common.kafka.compacted import (
    CompactedTopicReader,
    KeyedRecord,
    LatestByKey,
    RecordPosition,
    Update,
)
from common.records.alerts import AlertConfig
from common.records.codec import encode
from common.records.topics import CONFIG_ALERTS
from common.settings import KafkaSettings
from tests.records import alert

A, B, C = (UUID(int=number) for number in range(3))


class _Topic:
    def __init__(self) -> None:
        self.log: list[KeyedRecord[AlertConfig]] = []

    def put(
        self, key: UUID, revision: int | None, *, timestamp_ms: int = 5
    ) -> KeyedRecord[AlertConfig]:
        record = None if revision is None else alert(1, revision=revision)
        self.log.append(KeyedRecord(key, record, RecordPosition(0, len(self.log), timestamp_ms)))
        return self.log[-1]

    def compact(self) -> None:
        """Drop superseded records, including deletions."""
        last = {each.key: each for each in self.log}
        self.log = [each for each in last.values() if each.record is not None]


def _revisions(updates: Iterable[Update[AlertConfig]]) -> list[tuple[UUID, int | None]]:
    return [(key, None if record is None else record.revision) for key, record in updates]


def _read_again(keys: LatestByKey[AlertConfig], topic: _Topic) -> list[tuple[UUID, int | None]]:
    keys.begin_read()
    # Records are added one at a time, as separate polls may return them.
    for each in topic.log:
        assert not keys.add([each])
    return _revisions(keys.end_read())


def test_the_first_reading_reports_the_last_record_of_each_key() -> None:
    keys, topic = LatestByKey[AlertConfig](), _Topic()
    for key, revision in ((A, 1), (B, 1), (A, 2), (C, 1), (C, None)):
        topic.put(key, revision)
    assert _read_again(keys, topic) == [(B, 1), (A, 2), (C, None)]


def test_reading_again_reports_only_what_has_changed_and_nothing_old() -> None:
    keys, topic = LatestByKey[AlertConfig](), _Topic()
    for key, revision in ((A, 1), (A, 2), (B, 1)):
        topic.put(key, revision)
    _read_again(keys, topic)
    assert _revisions(keys.add([topic.put(B, 2)])) == [(B, 2)]
    assert _read_again(keys, topic) == []
    topic.put(A, 3)
    topic.put(A, 4)
    topic.put(C, 1)
    assert _read_again(keys, topic) == [(A, 4), (C, 1)]
    assert _revisions(keys.add([topic.put(A, 5)])) == [(A, 5)]


def test_a_deletion_during_the_outage_is_reported() -> None:
    keys, topic = LatestByKey[AlertConfig](), _Topic()
    for key in (A, B, C):
        topic.put(key, 1)
    _read_again(keys, topic)
    topic.put(A, None)
    topic.put(B, None)
    topic.put(B, 2)
    assert _read_again(keys, topic) == [(A, None), (B, 2)]


def test_a_key_that_is_no_longer_on_the_topic_is_gone_once() -> None:
    keys, topic = LatestByKey[AlertConfig](), _Topic()
    topic.put(A, 1)
    topic.put(B, 1)
    _read_again(keys, topic)
    topic.put(A, None)
    topic.compact()
    assert _read_again(keys, topic) == [(A, None)]
    assert _read_again(keys, topic) == []


def test_a_reading_that_was_cut_off_reports_and_forgets_nothing() -> None:
    keys, topic = LatestByKey[AlertConfig](), _Topic()
    for key, revision in ((A, 1), (B, 1), (A, 2)):
        topic.put(key, revision)
    _read_again(keys, topic)
    keys.begin_read()
    assert not keys.add(topic.log[:1])
    assert _read_again(keys, topic) == []
    topic.compact()
    topic.log = [each for each in topic.log if each.key == B]
    assert _read_again(keys, topic) == [(A, None)]


def test_a_deletion_that_was_read_is_not_reported_again() -> None:
    keys, topic = LatestByKey[AlertConfig](), _Topic()
    topic.put(A, 1)
    _read_again(keys, topic)
    assert _revisions(keys.add([topic.put(A, None)])) == [(A, None)]
    topic.compact()
    assert _read_again(keys, topic) == []


def test_a_topic_that_was_made_again_is_reported_though_its_offsets_are_the_same() -> None:
    keys, topic = LatestByKey[AlertConfig](), _Topic()
    topic.put(A, 1)
    _read_again(keys, topic)
    topic.log.clear()
    topic.put(A, 1, timestamp_ms=6)
    assert _read_again(keys, topic) == [(A, 1)]


class _Consumer:
    """A consumer that can only be set to the beginning of all its partitions."""

    def seek_to_beginning(self, *partitions: object) -> None:
        assert not partitions


class _Reader(CompactedTopicReader[AlertConfig]):
    """A reader that reports immediately, without a thread."""

    def call_on_loop(self, call: Callable[[], None]) -> None:
        call()

    def connect(self) -> None:
        """Start reading again."""
        self.seek(cast(KafkaConsumer, _Consumer()), [])


def _kafka_record(offset: int, key: UUID, value: bytes | None) -> ConsumerRecord:
    known = {"partition": 0, "offset": offset, "timestamp": 5, "key": str(key).encode()}
    return ConsumerRecord(**(dict.fromkeys(ConsumerRecord._fields) | known | {"value": value}))


def test_a_reader_never_sees_an_older_record_after_a_newer_one() -> None:
    seen: list[tuple[UUID, int | None]] = []
    reader = _Reader(
        KafkaSettings.model_validate({}),
        CONFIG_ALERTS,
        AlertConfig,
        lambda updates: seen.extend(_revisions(updates)),
        client="x",
    )
    log = [_kafka_record(at, A, encode(alert(1, revision=at))) for at in range(3)]
    log.append(_kafka_record(3, B, encode(alert(1, revision=0))))
    reader.connect()
    reader.handle_records(log)
    reader.on_caught_up()
    reader.handle_records([_kafka_record(4, A, encode(alert(1, revision=4)))])
    assert seen == [(A, 2), (B, 0), (A, 4)]
    reader.connect()
    reader.handle_records(log[:2])
    reader.handle_records([*log[2:], _kafka_record(4, A, encode(alert(1, revision=4)))])
    reader.handle_records([_kafka_record(5, B, None), _kafka_record(6, C, b"{")])
    reader.on_caught_up()
    assert seen[3:] == [(B, None)]


async def test_a_long_topic_leaves_the_loop_time_for_other_things() -> None:
    done: list[object] = []
    loop, last = asyncio.get_running_loop(), asyncio.Event()

    def look() -> None:
        # The probe runs in each turn of the event loop.
        if not last.is_set():
            done.append("probe")
            loop.call_soon(look)

    reader = CompactedTopicReader(
        KafkaSettings.model_validate({}),
        CONFIG_ALERTS,
        AlertConfig,
        lambda updates: done.extend(_revisions(updates)),
        client="x",
    )
    reader._loop = loop
    reader.seek(cast(KafkaConsumer, _Consumer()), [])
    reader.handle_records(
        [_kafka_record(n, UUID(int=n), encode(alert(1, revision=n))) for n in range(50)]
    )
    loop.call_soon(look)
    reader.on_caught_up()
    reader.call_on_loop(last.set)
    await last.wait()
    reported = [each for each in done if each != "probe"]
    assert reported == [(UUID(int=n), n) for n in range(50)]
    assert done.count("probe") >= 9


async def test_what_fails_on_the_loop_does_not_hold_up_what_comes_after_it() -> None:
    done: list[object] = []
    loop, last = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(lambda _, context: done.append(context["exception"]))

    def post(updates: Iterable[Update[AlertConfig]]) -> None:
        raise LookupError

    reader = CompactedTopicReader(
        KafkaSettings.model_validate({}), CONFIG_ALERTS, AlertConfig, post, client="x"
    )
    reader._loop = loop
    reader.handle_records([_kafka_record(0, A, None)])
    reader.call_on_loop(last.set)
    await last.wait()
    assert isinstance(done[0], LookupError)
