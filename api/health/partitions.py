"""Kafka's partitions as the operator's commands see and change them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from api.db.engine import check_nobody_works, in_transaction, open_engine
from api.outbox.outbox import republish_all
from common.errors import PlatestreamError, TransientError
from common.kafka.clients import KafkaError
from common.kafka.partitions import TopicState, make_topics_anew, topic_state
from common.settings import DatabaseSettings, KafkaSettings

_STEPS: Final = 'docs/deployment.md, "More partitions", has the steps'


class PartitionSettings(KafkaSettings, DatabaseSettings):
    """The settings of Kafka, and of the configuration that is published on it."""


class PartitionsRefusedError(PlatestreamError):
    """The topics are not made anew; the sentence says why."""


def partition_state(settings: PartitionSettings) -> TopicState:
    """Return what stands on Kafka.

    Raises:
        MisconfiguredError: Kafka does not let us in.
        TransientError: it does not answer.
    """
    with _kafka_errors():
        return topic_state(settings)


def make_partitions(settings: PartitionSettings) -> None:
    """Make the topics anew where they have another number of partitions than is set.

    All configuration is queued to be published on them.

    Raises:
        PartitionsRefusedError: a stage runs, or something has not been done yet.
        ServiceRunsError: another process runs.
        MisconfiguredError: Kafka does not let us in.
        TransientError: Kafka or PostgreSQL does not answer.
    """
    state = partition_state(settings)
    if state.running:
        raise PartitionsRefusedError(f"{', '.join(state.running)} still run; {_STEPS}")
    if state.waiting:
        left = ", ".join(f"{count} of {name}" for name, count in state.waiting.items())
        raise PartitionsRefusedError(f"not all is done yet ({left}); {_STEPS}")
    engine = open_engine(settings)
    try:
        check_nobody_works(engine)
        if state.numbers != {settings.kafka_partitions}:
            with _kafka_errors():
                make_topics_anew(settings)
        in_transaction(engine, republish_all)
    finally:
        engine.dispose()


@contextmanager
def _kafka_errors() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        raise TransientError(f"Kafka: {error!r}") from error
