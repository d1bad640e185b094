"""How far the stages are: who works in each, and what it has not done yet."""

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
# A partition's oldest record is at most some hundred kilobytes; what is slower tells no age.
_LOOK_SECONDS: Final = 1.0
_POLL_MS: Final = 100


@dataclass(frozen=True)
class StageProgress:
    """How far a stage is.

    ``workers`` are the processes that share its work, ``waiting`` the messages that it has not
    done, ``oldest_ms`` when the oldest of these was put on its topic (Unix ms, UTC); None: nothing
    waits, or it is not known.
    """

    name: str
    workers: int
    waiting: int
    oldest_ms: int | None = None


def stage_progress(settings: KafkaSettings) -> tuple[StageProgress, ...]:
    """Return how far the stages are: those that are required first, then others that were seen.

    Raises:
        MisconfiguredError: Kafka does not let us in.
        TransientError: it does not answer.
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
        raise TransientError(f"Kafka does not answer: {error!r}") from error
    required = {name: StageProgress(name, 0, 0) for name in _REQUIRED}
    return tuple((required | seen).values())


def _done(
    settings: KafkaSettings, offsets: Mapping[TopicPartition, Any]
) -> dict[TopicPartition, int]:
    """Return how far a group is in the topics whose records are work."""
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
    """Return the offset of each place.

    Topic by topic: of several kafka-python leaves out in silence those whose leaders it has not
    heard of yet, and ends in a KeyError; of one it asks until it knows.
    """
    found: dict[TopicPartition, int] = {}
    for _, group in groupby(sorted(tps), attrgetter("topic")):
        try:
            found |= ask(list(group))
        except KeyError as error:
            raise TransientError(f"Kafka does not say who leads {error}") from error
    return found


def _oldest_ms(consumer: KafkaConsumer, nexts: Mapping[TopicPartition, int]) -> int | None:
    """Return when the oldest of the records at some places was put there, if all say so in time."""
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
