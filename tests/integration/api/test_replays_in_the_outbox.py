"""Replays leave the outbox last, accounts take turns, and configuration is never delayed."""

from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from api.db.engine import in_transaction, plain_database_url
from api.outbox.outbox import enqueue_replay, waiting_replays
from api.outbox.publisher import KafkaPublisher, OutboxRow
from api.outbox.relay import Relay
from common.errors import TransientError
from common.records.deliveries import Delivery
from common.records.topics import CONFIG_CAMERAS, DELIVERIES
from common.settings import DatabaseSettings
from tests.integration.api.cameras import add_camera, insert_owner
from tests.unit.streams.webhooks.builders import delivery

pytestmark = pytest.mark.integration


class Recorder(KafkaPublisher):
    """Publishes to a list, and stops the relay once all expected records have arrived."""

    def __init__(self, database: DatabaseSettings, expected: int) -> None:
        self.batches: list[list[OutboxRow]] = []
        self.registry = CollectorRegistry()
        self.relay = Relay(
            plain_database_url(database),
            lambda: self,
            poll_seconds=0.1,
            batch_rows=500,
            registry=self.registry,
        )
        self._expected = expected

    def publish(self, rows: Sequence[OutboxRow]) -> Mapping[int, str]:
        self.batches.append(list(rows))
        if len(self.rows()) >= self._expected:
            self.relay.stop()
        return {}

    def close(self) -> None:
        pass

    def rows(self) -> list[OutboxRow]:
        return [row for batch in self.batches for row in batch]

    def sent_keys(self) -> list[str]:
        return [row.key for row in self.rows()]


def replay(engine: Engine, owner_id: UUID, name: str, count: int) -> None:
    """Add a replay of ``count`` deliveries to the outbox; ``name`` and a number form the keys."""
    records: list[tuple[str, Delivery]] = [
        (f"{name} {number}", delivery(number)) for number in range(count)
    ]
    in_transaction(engine, lambda session: enqueue_replay(session, DELIVERIES, owner_id, records))


def test_configuration_does_not_wait_for_a_replay(
    api_database: DatabaseSettings, engine: Engine
) -> None:
    replay(engine, uuid4(), "event", 5_000)
    other = insert_owner(engine)
    before = str(add_camera(engine, other))
    recorder = Recorder(api_database, expected=5_002)
    meanwhile: list[str] = []
    publish = recorder.publish

    def publish_and_change(rows: Sequence[OutboxRow]) -> Mapping[int, str]:
        if len(recorder.batches) == 3:
            meanwhile.append(str(add_camera(engine, other, "made meanwhile")))
        return publish(rows)

    recorder.publish = publish_and_change  # type: ignore[method-assign]
    recorder.relay.run()

    assert recorder.sent_keys()[0] == before
    # The record arrived during the fourth batch.
    assert [row.key for row in recorder.batches[4]] == meanwhile
    assert [row.topic for row in recorder.rows()].count(CONFIG_CAMERAS.name) == 2
    replayed = [key for key in recorder.sent_keys() if key.startswith("event")]
    assert replayed == [f"event {number}" for number in range(5_000)]


def test_owners_take_turns_and_one_replay_of_an_owner_follows_the_other(
    api_database: DatabaseSettings, engine: Engine
) -> None:
    one, other = uuid4(), uuid4()
    replay(engine, one, "first", 3)
    replay(engine, one, "second", 2)
    replay(engine, other, "other", 2)
    recorder = Recorder(api_database, expected=7)
    recorder.relay.run()

    assert recorder.sent_keys() == [
        *("first 0", "other 0"),
        *("first 1", "other 1"),
        *("first 2", "second 0", "second 1"),
    ]


def test_a_replay_waits_until_all_of_it_is_published(
    api_database: DatabaseSettings, engine: Engine
) -> None:
    owner_id = uuid4()
    replay(engine, owner_id, "first", 150)
    replay(engine, owner_id, "second", 1)
    recorder = Recorder(api_database, expected=10**6)
    publish = recorder.publish

    def publish_once(rows: Sequence[OutboxRow]) -> Mapping[int, str]:
        if recorder.batches:
            recorder.relay.stop()
            raise TransientError("Kafka does not answer")
        return publish(rows)

    recorder.publish = publish_once  # type: ignore[method-assign]
    recorder.relay.run()

    with Session(engine) as session:
        waiting = waiting_replays(session, owner_id)
        assert (waiting.count, waiting.next_position) == (2, 151)
        assert waiting_replays(session, uuid4()).count == 0
    assert recorder.registry.get_sample_value("platestream_relay_pending_replay_rows") == 51

    again = Recorder(api_database, expected=51)
    again.relay.run()
    assert again.sent_keys() == [*(f"first {number}" for number in range(100, 150)), "second 0"]
    assert again.registry.get_sample_value("platestream_relay_pending_replay_rows") == 0
