"""Reports the progress of each stage: its workers and its unprocessed messages."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from common.errors import TransientError
from common.kafka.clients import (
    KafkaConsumer,
    KafkaError,
    TopicPartition,
    group_name,
    open_admin,
    open_consumer,
    topic_name,
)
from common.records.topics import TOPICS, CleanupPolicy
from common.settings import KafkaSettings

_CLIENT: Final = "stage-progress"
_TIMEOUT_MS: Final = 5_000
_REQUIRED: Final = ("recognition", "sink", "alerts", "webhooks")
# Maximum time for reading one record of each partition (up to a few hundred kilobytes each).
_LOOK_SECONDS: Final = 1.0
_POLL_MS: Final = 100


@dataclass(frozen=True)
class StageProgress:
    """The progress of a stage.

    ``workers``: number of processes that share the work. ``waiting``: unprocessed messages.
    ``oldest_ms``: publication time of the oldest unprocessed message (Unix ms, UTC), or None if
    there is no such message or the time is unknown.
    """

    name: str
    workers: int
    waiting: int
    oldest_ms: int | None = None


def stage_progress(settings: KafkaSettings) -> tuple[StageProgress, ...]:
    """Return the progress of all stages: the required stages first, then any other stages found.

    Raises:
        MisconfiguredError: Kafka denied access.
        TransientError: Kafka is not responding.
    """
    try:
        with closing(open_admin(settings, _CLIENT, request_timeout_ms=_TIMEOUT_MS)) as admin:
            prefix = group_name(settings, "")
            groups = [found["group_id"] for found in admin.list_groups()]
            ours = sorted(group for group in groups if group.startswith(prefix))
            described = admin.describe_groups(ours) if ours else {}
            offsets = admin.list_group_offsets(ours) if ours else {}
        with closing(open_consumer(settings, _CLIENT, request_timeout_ms=_TIMEOUT_MS)) as consumer:
            seen = {
                (name := group.removeprefix(prefix)): _state(
                    consumer,
                    name,
                    len(described[group]["members"]),
                    _done(settings, offsets.get(group, {})),
                )
                for group in ours
            }
    except KafkaError as error:
        raise TransientError(f"Kafka is not responding: {error!r}") from error
    required = {name: StageProgress(name, 0, 0) for name in _REQUIRED}
    return tuple((required | seen).values())


def _done(
    settings: KafkaSettings, offsets: Mapping[TopicPartition, Any]
) -> dict[TopicPartition, int]:
    """Return a group's offsets in the topics that contain work for stages."""
    names = {
        topic_name(settings, topic)
        for topic in TOPICS
        if topic.cleanup is not CleanupPolicy.COMPACT
    }
    return {tp: each.offset for tp, each in offsets.items() if tp.topic in names}


def _state(
    consumer: KafkaConsumer, name: str, workers: int, done: Mapping[TopicPartition, int]
) -> StageProgress:
    firsts, ends = (
        _by_partition(consumer.beginning_offsets, done),
        _by_partition(consumer.end_offsets, done),
    )
    nexts = {tp: max(done[tp], firsts[tp]) for tp in done}
    left = {tp: at for tp, at in nexts.items() if at < ends[tp]}
    waiting = sum(ends[tp] - at for tp, at in left.items())
    return StageProgress(name, workers, waiting, _oldest_ms(consumer, left))


def _by_partition(
    ask: Callable[[list[TopicPartition]], dict[TopicPartition, int]],
    tps: Iterable[TopicPartition],
) -> dict[TopicPartition, int]:
    """Return the offset of each partition.

    Requests are per topic. For several topics, kafka-python skips partitions whose leaders it does
    not know yet, and raises KeyError. For a single topic, it retries until it knows all leaders.
    """
    found: dict[TopicPartition, int] = {}
    for _, group in groupby(sorted(tps), attrgetter("topic")):
        try:
            found |= ask(list(group))
        except KeyError as error:
            raise TransientError(f"Kafka did not return the leader of {error}") from error
    return found


def _oldest_ms(consumer: KafkaConsumer, nexts: Mapping[TopicPartition, int]) -> int | None:
    """Return the oldest timestamp (Unix ms) of the records at ``nexts``, or None if unknown."""
    consumer.assign(list(nexts))
    for tp, offset in nexts.items():
        consumer.seek(tp, offset)
    found: dict[TopicPartition, int] = {}
    end = time.monotonic() + _LOOK_SECONDS
    while len(found) < len(nexts):
        if time.monotonic() > end:
            return None
        for tp, records in consumer.poll(timeout_ms=_POLL_MS).items():
            found.setdefault(tp, records[0].timestamp)
            consumer.pause(tp)
    return min(found.values(), default=None)
