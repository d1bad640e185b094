"""Changes the number of partitions by recreating the topics, once all records are processed.

The partition of a key depends on the number of partitions, and a stage's state (tables, offsets) is
stored in the partition of the key, so adding partitions would separate cameras and alerts from
their state. No topic is recreated while a stage is running or has unfinished work.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from common.errors import TransientError
from common.kafka.clients import (
    TopicPartition,
    create_topics,
    group_name,
    open_admin,
    open_consumer,
    topic_name,
)
from common.records.topics import TOPICS, CleanupPolicy
from common.settings import KafkaSettings

_CLIENT: Final = "partitions"
_DEAD_LETTERS: Final = "-dead-letters"
# Tables of pending work. All other tables only store the results of completed work.
_WORK: Final = (
    "-pending-deliveries-changelog",
    "-pending-images-changelog",
    "-gaps-changelog",
)
_GONE_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.2
_POLL_MS: Final = 1_000


@dataclass(frozen=True)
class TopicState:
    """Partition counts of our topics, active groups, and unfinished work.

    ``numbers`` has several counts if topics were created at different times. ``waiting`` counts
    records by topic and entries by table.
    """

    numbers: frozenset[int]
    running: tuple[str, ...]
    waiting: Mapping[str, int]


def partition_numbers(settings: KafkaSettings, **options: Any) -> frozenset[int]:
    """Return the partition counts of our topics.

    Raises:
        MisconfiguredError: Kafka denied access.
        TransientError: no broker is responding.
        kafka.errors.KafkaError: a broker stopped responding.
    """
    with closing(open_admin(settings, _CLIENT, **options)) as admin:
        return frozenset(map(len, _partitions(admin, _our_names(settings)).values()))


def topic_state(settings: KafkaSettings) -> TopicState:
    """Return the state of Kafka. Raises the same errors as :func:`partition_numbers`."""
    with closing(open_admin(settings, _CLIENT)) as admin:
        partitions = _partitions(admin, None)
        groups = _groups(admin, settings)
        described = admin.describe_groups(groups) if groups else {}
        offsets = admin.list_group_offsets(groups) if groups else {}
    ours = _our_names(settings)
    running = tuple(sorted(name for name, each in described.items() if each["members"]))
    waiting = {
        **_unread(settings, partitions, offsets),
        **{
            name: count
            for name, numbers in sorted(partitions.items())
            if name.startswith(group_name(settings, "")) and name.endswith(_WORK)
            if (count := _entries(settings, name, numbers))
        },
    }
    numbers = frozenset(len(each) for name, each in partitions.items() if name in ours)
    return TopicState(numbers, running, waiting)


def recreate_topics(settings: KafkaSettings) -> None:
    """Delete all topics and groups of the service, and recreate the topics as configured.

    Call this again after an interruption. The errors include those of :func:`partition_numbers`.

    Raises:
        TransientError: topics were not deleted in time.
    """
    with closing(open_admin(settings, _CLIENT)) as admin:
        there = _ours_of_all(settings, admin.list_topics())
        if there:
            admin.delete_topics(there)
        end = time.monotonic() + _GONE_SECONDS
        while left := _ours_of_all(settings, admin.list_topics()):
            if time.monotonic() > end:
                raise TransientError(f"Kafka has not yet deleted {', '.join(left)}; try again")
            time.sleep(_LOOK_SECONDS)
        if groups := _groups(admin, settings):
            admin.delete_groups(groups)
    create_topics(settings)


def _our_names(settings: KafkaSettings) -> frozenset[str]:
    return frozenset(topic_name(settings, topic) for topic in TOPICS)


def _ours_of_all(settings: KafkaSettings, names: Collection[str]) -> list[str]:
    """Return our topics, and the topics that Faust created for our stages."""
    ours, made_by_faust = _our_names(settings), group_name(settings, "")
    return sorted(name for name in names if name in ours or name.startswith(made_by_faust))


def _partitions(admin: Any, names: Collection[str] | None) -> dict[str, list[int]]:
    found = admin.describe_topics(None if names is None else sorted(names))
    return {
        topic["name"]: [each["partition_index"] for each in topic["partitions"]]
        for topic in found
        if topic["partitions"]
    }


def _groups(admin: Any, settings: KafkaSettings) -> list[str]:
    prefix = group_name(settings, "")
    names = (group["group_id"] for group in admin.list_groups())
    return sorted(name for name in names if name.startswith(prefix))


def _unread(
    settings: KafkaSettings,
    partitions: Mapping[str, list[int]],
    offsets: Mapping[str, Mapping[TopicPartition, Any]],
) -> dict[str, int]:
    """Return the number of records of each topic that at least one group has not processed.

    Dead letters and compacted topics, whose latest records are published again, do not count.
    """
    found: dict[str, int] = {}
    done: defaultdict[TopicPartition, list[int]] = defaultdict(list)
    for of_group in offsets.values():
        for tp, offset in of_group.items():
            done[tp].append(offset.offset)
    with closing(open_consumer(settings, _CLIENT)) as consumer:
        for topic in TOPICS:
            name = topic_name(settings, topic)
            if topic.cleanup is CleanupPolicy.COMPACT or topic.name.endswith(_DEAD_LETTERS):
                continue
            tps = [TopicPartition(name, number) for number in partitions.get(name, ())]
            firsts, ends = consumer.beginning_offsets(tps), consumer.end_offsets(tps)
            count = sum(max(0, ends[tp] - max(min(done[tp], default=0), firsts[tp])) for tp in tps)
            if count:
                found[name] = count
    return found


def _entries(settings: KafkaSettings, name: str, numbers: Collection[int]) -> int:
    """Return the number of keys of a table's changelog that have a value."""
    tps = [TopicPartition(name, number) for number in numbers]
    values: dict[bytes | None, bool] = {}
    with closing(open_consumer(settings, _CLIENT)) as consumer:
        consumer.assign(tps)
        consumer.seek_to_beginning(*tps)
        ends = consumer.end_offsets(tps)
        while any(consumer.position(tp) < ends[tp] for tp in tps):
            for records in consumer.poll(timeout_ms=_POLL_MS).values():
                values.update((record.key, record.value is not None) for record in records)
    return sum(values.values())
