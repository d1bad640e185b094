"""On how many brokers new topics lie, by their number and the settings."""

from types import SimpleNamespace

import pytest

from common.errors import MisconfiguredError
from common.kafka.replication import Replication, replication, replication_at
from common.settings import KafkaSettings


def _settings(replicas: int | None = None, in_sync: int | None = None) -> KafkaSettings:
    given = {"kafka_replication_factor": replicas, "kafka_min_insync_replicas": in_sync}
    return KafkaSettings.model_validate(given)


@pytest.mark.parametrize(
    ("brokers", "expected"), [(1, (1, 1)), (2, (2, 1)), (3, (3, 2)), (5, (3, 2))]
)
def test_it_follows_the_number_of_brokers(brokers: int, expected: tuple[int, int]) -> None:
    assert replication(_settings(), brokers) == Replication(*expected)


@pytest.mark.parametrize(
    ("replicas", "in_sync", "expected"),
    [(1, None, (1, 1)), (2, 2, (2, 2)), (None, 1, (3, 1)), (5, None, (5, 2)), (5, 3, (5, 3))],
)
def test_what_is_set_wins(
    replicas: int | None, in_sync: int | None, expected: tuple[int, int]
) -> None:
    assert replication(_settings(replicas, in_sync), 5) == Replication(*expected)


@pytest.mark.parametrize(
    ("replicas", "in_sync", "said"),
    [(1, 2, "MIN_INSYNC_REPLICAS is 2"), (3, None, "REPLICATION_FACTOR is 3, .*names 2")],
)
def test_what_could_not_be_written_is_refused(
    replicas: int, in_sync: int | None, said: str
) -> None:
    with pytest.raises(MisconfiguredError, match=said):
        replication(_settings(replicas, in_sync), 2)


def test_kafka_is_asked_for_its_brokers() -> None:
    admin = SimpleNamespace(describe_cluster=lambda: {"brokers": [{}, {}, {}]})
    found = replication_at(admin, _settings())
    assert found.topic_options == {"min.insync.replicas": "2"}
    assert found.replicas == 3
