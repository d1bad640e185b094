"""Stages as child processes, and helpers for their topics."""

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
)

from common.kafka.clients import (
    client_options,
    consumer_options,
    group_name,
    producer_options,
    topic_name,
)
from common.records.topics import Topic
from common.settings import KafkaSettings
from deploy.local.servers.base import Program
from tests.services.process import ChildProcess
from tests.services.tuned import VARIABLE


def environment_of(kafka: KafkaSettings, folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a stage that uses this Kafka.

    ``more`` are settings without their prefix, and constants by their full names.
    """
    constants = " ".join(f"{name}={value}" for name, value in more.items() if "." in name)
    settings = {name: value for name, value in more.items() if "." not in name}
    fields = kafka.model_dump(mode="json", exclude_none=True)
    fields["kafka_sasl_password"] = kafka.kafka_sasl_password.get_secret_value()
    fields |= {"stream_data_directory": str(folder)} | settings
    environment = {f"PLATESTREAM_{name.upper()}": str(value) for name, value in fields.items()}
    return environment | {VARIABLE: constants}


def stage(module: str, name: str, log: Path, environment: Mapping[str, str]) -> ChildProcess:
    """Return a stage that has not been started."""
    command = (sys.executable, "-m", "tests.services.tuned", module)
    program = Program(name=name, command=command, environment=environment)
    return ChildProcess(program, log)


def copying_stage(
    kafka: KafkaSettings, folder: Path, agent: str, *, worker: str = "worker", **more: str
) -> ChildProcess:
    """Return a worker of the copying stage. It fails while ``folder`` has a file ``outage``."""
    environment = environment_of(kafka, folder / worker, **more) | {
        "COPYING_WORKER": worker,
        "COPYING_AGENT": agent,
        "COPYING_OUTAGE": str(folder / "outage"),
    }
    module = "tests.integration.streams.copying"
    return stage(module, f"copying-{worker}", folder / f"{worker}.log", environment)


@contextmanager
def running(process: ChildProcess) -> Iterator[ChildProcess]:
    """Start and yield the process, and kill it at the end of the block."""
    process.start()
    try:
        yield process
    finally:
        process.kill()


class Feeder:
    """Sends messages to one topic."""

    def __init__(self, settings: KafkaSettings, topic: Topic) -> None:
        self._producer = KafkaProducer(**producer_options(settings, "feeder"))
        self._topic = topic_name(settings, topic)

    def send(self, *values: bytes, key: bytes | None = None) -> None:
        """Send values and wait for acknowledgements. Without ``key``, 20 keys are used in turn."""
        self.send_pairs(
            (key if key is not None else b"key-%d" % (number % 20), value)
            for number, value in enumerate(values)
        )

    def send_pairs(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Send keys with values, and wait for Kafka's acknowledgement."""
        for key, value in pairs:
            self._producer.send(self._topic, key=key, value=value)
        self._producer.flush(30)

    def close(self) -> None:
        """Close the producer."""
        self._producer.close(10)


class Feeders:
    """Sends to any topic, with a producer for each topic."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._feeders: dict[str, Feeder] = {}

    def of(self, topic: Topic) -> Feeder:
        if topic.name not in self._feeders:
            self._feeders[topic.name] = Feeder(self._settings, topic)
        return self._feeders[topic.name]

    def close(self) -> None:
        """Close all producers."""
        for feeder in self._feeders.values():
            feeder.close()


class SteadyFeed(threading.Thread):
    """Sends numbers, 20 at a time and number n with key n modulo 20, until asked to stop.

    The rate is below what a worker can copy, because a backlog would only delay the tests.
    """

    def __init__(self, feeder: Feeder) -> None:
        super().__init__(daemon=True)
        self._feeder = feeder
        self._stop_now = threading.Event()
        self.sent: list[bytes] = []

    def run(self) -> None:
        """Send about 25 numbers per second."""
        while not self._stop_now.wait(0.8):
            values = [b"%d" % (len(self.sent) + number) for number in range(20)]
            self._feeder.send(*values)
            self.sent.extend(values)

    def stop(self) -> set[bytes]:
        """Stop sending, and return the sent numbers."""
        self._stop_now.set()
        self.join(30)
        return set(self.sent)


class Reader:
    """Collects all messages of a topic, from the start."""

    def __init__(self, settings: KafkaSettings, topic: Topic) -> None:
        self._consumer = KafkaConsumer(
            topic_name(settings, topic), **consumer_options(settings, "reader")
        )
        self.values: list[bytes] = []

    def poll(self) -> list[bytes]:
        """Read new messages, and return all values so far."""
        for messages in self._consumer.poll(timeout_ms=100).values():
            self.values.extend(message.value for message in messages)
        return self.values

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()


def lag(settings: KafkaSettings, stage_name: str, topic: Topic) -> int:
    """Return the number of messages in the topic that the stage has not committed."""
    admin = KafkaAdminClient(**client_options(settings, "lag"))
    consumer = KafkaConsumer(**consumer_options(settings, "lag"))
    try:
        group, name = group_name(settings, stage_name), topic_name(settings, topic)
        committed = _committed(admin, group)
        numbers = consumer.partitions_for_topic(name) or ()
        ends = consumer.end_offsets([TopicPartition(name, number) for number in numbers])
        return sum(end - max(0, committed.get(tp, 0)) for tp, end in ends.items())
    finally:
        consumer.close()
        admin.close()


def _committed(admin: KafkaAdminClient, group: str) -> dict[TopicPartition, int]:
    try:
        offsets = admin.list_group_offsets(group)[group]
    except (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError):
        # A restarted broker does not know its groups immediately.
        return {}
    return {tp: meta.offset for tp, meta in offsets.items()}
