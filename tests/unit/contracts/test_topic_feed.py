"""What a feed tells over several readings; the thread that reads is tested with a real Kafka."""

import asyncio
from collections.abc import Callable, Iterable
from typing import cast
from uuid import UUID

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord

from contracts.alerts import AlertConfig
from contracts.records import encode
from contracts.settings import KafkaSettings
from contracts.topic_feed import Found, KeyMemory, News, Place, TopicFeed
from contracts.topics import CONFIG_ALERTS
from tests.records import alert

A, B, C = (UUID(int=number) for number in range(3))


class _Topic:
    """A log of one partition."""

    def __init__(self) -> None:
        self.log: list[Found[AlertConfig]] = []

    def put(self, key: UUID, revision: int | None, *, timestamp_ms: int = 5) -> Found[AlertConfig]:
        record = None if revision is None else alert(1, revision=revision)
        self.log.append(Found(key, record, Place(0, len(self.log), timestamp_ms)))
        return self.log[-1]

    def compact(self) -> None:
        """Drop what is superseded, deletions too."""
        last = {each.key: each for each in self.log}
        self.log = [each for each in last.values() if each.record is not None]


def _told(news: Iterable[News[AlertConfig]]) -> list[tuple[UUID, int | None]]:
    return [(key, None if record is None else record.revision) for key, record in news]


def _read_anew(keys: KeyMemory[AlertConfig], topic: _Topic) -> list[tuple[UUID, int | None]]:
    keys.begin()
    # As polls do it: a few at a time.
    for each in topic.log:
        assert not keys.read([each])
    return _told(keys.end())


def test_the_first_reading_tells_the_last_record_of_each_key() -> None:
    keys, topic = KeyMemory[AlertConfig](), _Topic()
    for key, revision in ((A, 1), (B, 1), (A, 2), (C, 1), (C, None)):
        topic.put(key, revision)
    assert _read_anew(keys, topic) == [(B, 1), (A, 2), (C, None)]


def test_reading_anew_tells_only_what_has_changed_and_nothing_old() -> None:
    keys, topic = KeyMemory[AlertConfig](), _Topic()
    for key, revision in ((A, 1), (A, 2), (B, 1)):
        topic.put(key, revision)
    _read_anew(keys, topic)
    assert _told(keys.read([topic.put(B, 2)])) == [(B, 2)]
    assert _read_anew(keys, topic) == []
    topic.put(A, 3)
    topic.put(A, 4)
    topic.put(C, 1)
    assert _read_anew(keys, topic) == [(A, 4), (C, 1)]
    assert _told(keys.read([topic.put(A, 5)])) == [(A, 5)]


def test_a_deletion_during_the_outage_is_told() -> None:
    keys, topic = KeyMemory[AlertConfig](), _Topic()
    for key in (A, B, C):
        topic.put(key, 1)
    _read_anew(keys, topic)
    topic.put(A, None)
    topic.put(B, None)
    topic.put(B, 2)
    assert _read_anew(keys, topic) == [(A, None), (B, 2)]


def test_a_key_that_is_no_longer_on_the_topic_is_gone_once() -> None:
    keys, topic = KeyMemory[AlertConfig](), _Topic()
    topic.put(A, 1)
    topic.put(B, 1)
    _read_anew(keys, topic)
    topic.put(A, None)
    topic.compact()
    assert _read_anew(keys, topic) == [(A, None)]
    assert _read_anew(keys, topic) == []


def test_a_reading_that_was_cut_off_tells_and_forgets_nothing() -> None:
    keys, topic = KeyMemory[AlertConfig](), _Topic()
    for key, revision in ((A, 1), (B, 1), (A, 2)):
        topic.put(key, revision)
    _read_anew(keys, topic)
    keys.begin()
    assert not keys.read(topic.log[:1])
    assert _read_anew(keys, topic) == []
    topic.compact()
    topic.log = [each for each in topic.log if each.key == B]
    assert _read_anew(keys, topic) == [(A, None)]


def test_a_deletion_that_was_read_is_not_told_again() -> None:
    keys, topic = KeyMemory[AlertConfig](), _Topic()
    topic.put(A, 1)
    _read_anew(keys, topic)
    assert _told(keys.read([topic.put(A, None)])) == [(A, None)]
    topic.compact()
    assert _read_anew(keys, topic) == []


def test_a_topic_that_was_made_anew_is_told_though_its_places_are_the_same() -> None:
    keys, topic = KeyMemory[AlertConfig](), _Topic()
    topic.put(A, 1)
    _read_anew(keys, topic)
    topic.log.clear()
    topic.put(A, 1, timestamp_ms=6)
    assert _read_anew(keys, topic) == [(A, 1)]


class _Consumer:
    """Is told where to begin."""

    def seek_to_beginning(self, *partitions: object) -> None:
        assert not partitions


class _Feed(TopicFeed[AlertConfig]):
    """Tells at once, without a thread."""

    def on_loop(self, call: Callable[[], None]) -> None:
        call()

    def connect(self) -> None:
        """Begin to read anew."""
        self.place(cast(KafkaConsumer, _Consumer()), [])


def _kafka_record(offset: int, key: UUID, value: bytes | None) -> ConsumerRecord:
    known = {"partition": 0, "offset": offset, "timestamp": 5, "key": str(key).encode()}
    return ConsumerRecord(**(dict.fromkeys(ConsumerRecord._fields) | known | {"value": value}))


def test_a_reader_never_sees_an_older_record_after_a_newer_one() -> None:
    seen: list[tuple[UUID, int | None]] = []
    feed = _Feed(
        KafkaSettings.model_validate({}),
        CONFIG_ALERTS,
        AlertConfig,
        lambda news: seen.extend(_told(news)),
        client="x",
    )
    log = [_kafka_record(at, A, encode(alert(1, revision=at))) for at in range(3)]
    log.append(_kafka_record(3, B, encode(alert(1, revision=0))))
    feed.connect()
    feed.take(log)
    feed.arrive()
    feed.take([_kafka_record(4, A, encode(alert(1, revision=4)))])
    assert seen == [(A, 2), (B, 0), (A, 4)]
    feed.connect()
    feed.take(log[:2])
    feed.take([*log[2:], _kafka_record(4, A, encode(alert(1, revision=4)))])
    feed.take([_kafka_record(5, B, None), _kafka_record(6, C, b"{")])
    feed.arrive()
    assert seen[3:] == [(B, None)]


async def test_a_long_topic_leaves_the_loop_time_for_other_things() -> None:
    done: list[object] = []
    loop, last = asyncio.get_running_loop(), asyncio.Event()

    def look() -> None:
        # As a probe would: each turn of the loop.
        if not last.is_set():
            done.append("probe")
            loop.call_soon(look)

    feed = TopicFeed(
        KafkaSettings.model_validate({}),
        CONFIG_ALERTS,
        AlertConfig,
        lambda news: done.extend(_told(news)),
        client="x",
    )
    feed._loop = loop
    feed.place(cast(KafkaConsumer, _Consumer()), [])
    feed.take([_kafka_record(n, UUID(int=n), encode(alert(1, revision=n))) for n in range(50)])
    loop.call_soon(look)
    feed.arrive()
    feed.on_loop(last.set)
    await last.wait()
    told = [each for each in done if each != "probe"]
    assert told == [(UUID(int=n), n) for n in range(50)]
    assert done.count("probe") >= 9


async def test_what_fails_on_the_loop_does_not_hold_up_what_comes_after_it() -> None:
    done: list[object] = []
    loop, last = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(lambda _, context: done.append(context["exception"]))

    def post(news: Iterable[News[AlertConfig]]) -> None:
        raise LookupError

    feed = TopicFeed(KafkaSettings.model_validate({}), CONFIG_ALERTS, AlertConfig, post, client="x")
    feed._loop = loop
    feed.take([_kafka_record(0, A, None)])
    feed.on_loop(last.set)
    await last.wait()
    assert isinstance(done[0], LookupError)
