"""The replication factor of new topics, by the number of brokers and the settings."""

from types import SimpleNamespace

import pytest
from kafka.errors import KafkaTimeoutError

from common.errors import MisconfiguredError, TransientError
from common.kafka import clients
from common.kafka.clients import Replication, replication, replication_at
from common.settings import KafkaSettings


def _settings(replicas: int | None = None) -> KafkaSettings:
    return KafkaSettings.model_validate({"kafka_replication_factor": replicas})


@pytest.mark.parametrize(
    ("brokers", "expected"), [(1, (1, 1)), (2, (2, 1)), (3, (3, 2)), (5, (3, 2))]
)
def test_it_follows_the_number_of_brokers(brokers: int, expected: tuple[int, int]) -> None:
    assert replication(_settings(), brokers) == Replication(*expected)


@pytest.mark.parametrize(("replicas", "expected"), [(1, (1, 1)), (2, (2, 1)), (5, (5, 2))])
def test_what_is_set_wins(replicas: int, expected: tuple[int, int]) -> None:
    assert replication(_settings(replicas), 5) == Replication(*expected)


def _admin(brokers: int, *topics: str) -> SimpleNamespace:
    return SimpleNamespace(
        describe_cluster=lambda: {"brokers": [{}] * brokers},
        list_topics=lambda: list(topics),
        close=lambda: None,
    )


def test_new_topics_take_no_more_brokers_than_there_are() -> None:
    with pytest.raises(MisconfiguredError, match="REPLICATION_FACTOR is 3, but Kafka has only 2"):
        replication_at(_admin(2), _settings(3))
    found = replication_at(_admin(3), _settings())
    assert found.topic_options == {"min.insync.replicas": "2"}
    assert found.replicas == 3


@pytest.mark.parametrize(("given", "expected"), [(3, (3, 2)), (None, (2, 1))])
def test_a_table_takes_as_many_brokers_as_are_wanted_or_there(
    given: int | None, expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "open_admin", lambda *_: _admin(2))
    assert clients.table_replication(_settings(given), "table") == Replication(*expected)


def test_of_a_table_that_is_there_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "open_admin", lambda *_: _admin(1, "table"))
    assert clients.table_replication(_settings(3), "table") is None
    assert clients.table_replication(_settings(3), "another") == Replication(3, 2)


@pytest.mark.parametrize("question", ["list_topics", "describe_cluster"])
def test_without_an_answer_there_is_no_count(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_answer() -> None:
        raise KafkaTimeoutError

    admin = _admin(1)
    setattr(admin, question, no_answer)
    monkeypatch.setattr(clients, "open_admin", lambda *_: admin)
    with pytest.raises(TransientError):
        clients.table_replication(_settings(), "table")
