"""The buffer for Kafka has a limit in bytes, and every lost record is counted."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError

from common.kafka.clients import producer_options
from common.records.cameras import CameraState, CameraStatus
from common.records.codec import decode
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from common.settings import KafkaSettings
from ingest.frames import producer
from ingest.frames.producer import FrameProducer, SerialWorker
from ingest.metrics import IngestMetrics
from ingest.settings import IngestSettings
from tests.recorded_spans import recorded_spans

META = FrameMeta(
    kind=FrameKind.FRAME,
    camera_id=UUID(int=1),
    owner_id=UUID(int=2),
    camera_name="gate",
    captured_ms=1_800_000_000_000,
)
STATUS = CameraStatus(
    camera_id=UUID(int=1),
    owner_id=UUID(int=2),
    state=CameraState.ONLINE,
    revision=1,
    worker="w",
    at_ms=1_800_000_000_000,
)
JPEG = b"j" * 1_000_000


@dataclass
class FakeFuture:
    callbacks: list[Callable[[Any], None]] = field(default_factory=list)
    errbacks: list[Callable[[BaseException], None]] = field(default_factory=list)

    def add_callback(self, callback: Callable[[Any], None]) -> None:
        self.callbacks.append(callback)

    def add_errback(self, errback: Callable[[BaseException], None]) -> None:
        self.errbacks.append(errback)


@dataclass
class FakeProducer:
    """Accepts records, and responds when a test releases the records."""

    options: dict[str, Any]
    sent: list[tuple[str, dict[str, Any], FakeFuture]] = field(default_factory=list)
    refuses: list[Exception] = field(default_factory=list)
    knows_topics: threading.Event = field(default_factory=threading.Event)
    closed_within: list[float] = field(default_factory=list)

    def send(self, topic: str, **record: Any) -> FakeFuture:
        assert self.knows_topics.wait(10)
        if self.refuses:
            raise self.refuses.pop()
        self.sent.append((topic, record, FakeFuture()))
        return self.sent[-1][2]

    def close(self, timeout: float) -> None:
        self.closed_within.append(timeout)
        raise KafkaTimeoutError


class AtOnce:
    """An executor that runs its calls immediately."""

    def __init__(self, name: str, hand_on: Callable[[Any], None]) -> None:
        self.put = hand_on

    def end(self) -> None:
        pass

    def join(self, timeout_seconds: float) -> bool:
        return True


class Kafka:
    """A frame producer, and its Kafka client."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.metrics = IngestMetrics()
        made: list[FakeProducer] = []

        def make(settings: KafkaSettings, client: str, **options: Any) -> FakeProducer:
            made.append(FakeProducer(producer_options(settings, client) | options))
            return made[0]

        monkeypatch.setattr(producer, "open_producer", make)
        monkeypatch.setattr(producer, "BUFFER_BYTES", 8_388_608)
        settings = IngestSettings.model_validate({"s3_secret_key": "x", "secret_key": "x"})
        self.producer = FrameProducer(settings, self.metrics)
        self.client = made[0]
        self.client.knows_topics.set()

    def dropped(self, reason: str) -> float:
        name = "platestream_ingest_frames_dropped_total"
        return self.metrics.registry.get_sample_value(name, {"reason": reason}) or 0.0


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    monkeypatch.setattr(producer, "SerialWorker", AtOnce)
    return Kafka(monkeypatch)


@pytest.fixture
def threaded(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    return Kafka(monkeypatch)


def test_a_frame_is_keyed_by_its_camera_and_described_in_its_header(kafka: Kafka) -> None:
    assert kafka.producer.send_frame(META, JPEG)

    topic, record, _ = kafka.client.sent[0]
    assert topic == "frames"
    assert record["key"] == b"00000000-0000-0000-0000-000000000001"
    assert record["value"] is JPEG
    assert decode(FrameMeta, dict(record["headers"])[FRAME_META_HEADER]) == META


def test_a_sampled_frame_begins_a_trace_and_takes_it_along(kafka: Kafka) -> None:
    with recorded_spans() as tracer:
        kafka.producer.send_frame(META, JPEG)
        kafka.producer.send_tick(META)
    captured, sent = tracer.spans
    _, record, future = kafka.client.sent[0]

    assert (captured.name, captured.parent) == ("capture frame", None)
    assert captured.start_ns == META.captured_ms * 1_000_000
    assert captured.attributes == {"platestream.camera.id": str(META.camera_id)}
    assert (sent.name, sent.parent) == ("send frames", captured.context)
    assert dict(record["headers"])["traceparent"] == sent.context.traceparent.encode()
    assert len(kafka.client.sent[1][1]["headers"]) == 1
    assert (captured.ends, sent.ends) == (1, 0)
    for answer in future.callbacks:
        answer(None)
    assert (sent.ends, sent.error) == (1, "")


def test_a_frame_that_is_lost_fails_its_span(kafka: Kafka) -> None:
    with recorded_spans() as tracer:
        kafka.producer.send_frame(META, JPEG)
        kafka.client.sent[0][2].errbacks[0](KafkaTimeoutError())
        kafka.producer.send_frame(META, b"j" * 9_000_000)
        while kafka.producer.send_frame(META, JPEG):
            pass
    errors = [span.error for span in tracer.spans if span.name == "send frames" and span.ends]

    assert errors == ["KafkaTimeoutError", "too_large", "buffer_full"]


def test_the_end_of_a_cameras_frames_has_room_where_frames_have_none(kafka: Kafka) -> None:
    # Small frames fill the remaining capacity.
    while kafka.producer.send_frame(META, JPEG) or kafka.producer.send_frame(META, b""):
        pass
    sent = len(kafka.client.sent)

    kafka.producer.send_end(META)

    assert len(kafka.client.sent) == sent + 1
    assert kafka.client.sent[-1][1]["value"] == b""


def test_only_a_deleted_camera_is_a_tombstone(kafka: Kafka) -> None:
    kafka.producer.send_tick(META)
    kafka.producer.delete_status(UUID(int=1))

    sent = [(topic, record["value"]) for topic, record, _ in kafka.client.sent]
    assert sent == [("frames", b""), ("camera-status", None)]


def test_frames_beyond_the_buffer_are_dropped_and_counted(kafka: Kafka) -> None:
    captured = [kafka.producer.send_frame(META, JPEG) for _ in range(10)]

    assert captured == [True] * 8 + [False] * 2
    assert kafka.dropped("buffer") == 2


def test_room_returns_as_kafka_answers(kafka: Kafka) -> None:
    while kafka.producer.send_frame(META, JPEG):
        pass

    for _, _, future in kafka.client.sent:
        for callback in future.callbacks:
            callback(None)

    assert kafka.producer.send_frame(META, JPEG)
    assert kafka.producer.has_capacity()


def test_a_refused_record_is_counted_and_its_room_returns(kafka: Kafka) -> None:
    kafka.producer.send_frame(META, JPEG)
    for errback in kafka.client.sent[0][2].errbacks:
        errback(MessageSizeTooLargeError())

    assert kafka.dropped("kafka") == 1
    assert kafka.metrics.registry.get_sample_value("platestream_ingest_send_buffer_bytes") == 0


def test_a_send_that_kafka_cannot_take_leaves_no_trace_in_the_buffer(kafka: Kafka) -> None:
    kafka.client.refuses = [MessageSizeTooLargeError()]

    kafka.producer.send_frame(META, JPEG)

    assert kafka.client.sent == []
    assert kafka.dropped("kafka") == 1
    assert kafka.metrics.registry.get_sample_value("platestream_ingest_send_buffer_bytes") == 0


def test_a_waiting_producer_delays_no_caller_and_retains_the_order(threaded: Kafka) -> None:
    threaded.client.knows_topics.clear()

    threaded.producer.send_status(STATUS)
    threaded.producer.delete_status(STATUS.camera_id)
    threaded.producer.send_tick(META)

    assert threaded.client.sent == []
    threaded.client.knows_topics.set()
    threaded.producer.close(10)
    sent = [(topic, record["value"]) for topic, record, _ in threaded.client.sent]
    assert sorted(topic for topic, _ in sent) == ["camera-status", "camera-status", "frames"]
    logged = [value for topic, value in sent if topic == "camera-status"]
    assert logged[0] is not None
    assert logged[1] is None


@pytest.mark.parametrize("error", [KafkaTimeoutError(), ValueError()])
def test_a_worker_that_ends_does_not_wait_for_a_topic_that_is_not_named(
    threaded: Kafka, error: Exception
) -> None:
    threaded.client.refuses = [error] * 100_000
    threaded.producer.send_status(STATUS)

    threaded.producer.close(30)

    assert threaded.client.sent == []
    assert len(threaded.client.refuses) > 99_000
    assert threaded.client.closed_within[0] > 0
    waiting = threaded.metrics.registry.get_sample_value("platestream_ingest_send_buffer_bytes")
    assert waiting == 0


def test_status_is_bounded_too(kafka: Kafka) -> None:
    for _ in range(50_000):
        kafka.producer.send_status(STATUS)

    assert len(kafka.client.sent) < 25_000


def test_a_frame_that_is_too_large_is_not_taken(kafka: Kafka) -> None:
    assert not kafka.producer.send_frame(META, b"j" * 8_388_608)

    assert kafka.client.sent == []
    assert kafka.dropped("kafka") == 1


def test_what_kafkas_client_stumbles_over_is_tried_again(kafka: Kafka) -> None:
    # kafka-python raises these errors if it learns at this moment that the topic does not exist.
    kafka.client.refuses = [ValueError("None is no partition"), KeyError(), KafkaTimeoutError()]

    kafka.producer.send_end(META)

    assert [topic for topic, _, _ in kafka.client.sent] == ["frames"]


def test_what_is_wrong_itself_is_not_tried_for_ever(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer, "_MAX_CLIENT_ERRORS_SECONDS", 0.1)
    kafka.client.refuses = [TypeError() for _ in range(1_000)]

    kafka.producer.send_frame(META, JPEG)

    assert kafka.client.sent == []
    assert kafka.dropped("kafka") == 1
    assert kafka.metrics.registry.get_sample_value("platestream_ingest_send_buffer_bytes") == 0


def test_frames_that_waited_too_long_give_way_to_later_ones(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer, "_MAX_IMAGE_WAIT_SECONDS", 0.1)
    kafka.client.refuses = [KafkaTimeoutError() for _ in range(1_000)]
    kafka.producer.send_frame(META, JPEG)
    kafka.client.refuses = [KafkaTimeoutError() for _ in range(20)]
    kafka.producer.send_tick(META)
    kafka.producer.send_frame(META, b"later")

    assert [record["value"] for _, record, _ in kafka.client.sent] == [b"", b"later"]
    assert kafka.dropped("kafka") == 1


def test_an_odd_record_holds_up_none_that_follows() -> None:
    handed: list[int] = []

    def hand_on(number: int) -> None:
        if number == 1:
            raise ValueError(number)
        handed.append(number)

    line: SerialWorker[int] = SerialWorker("test", hand_on)
    for number in range(3):
        line.put(number)

    line.end()
    assert line.join(10)
    assert handed == [0, 2]
