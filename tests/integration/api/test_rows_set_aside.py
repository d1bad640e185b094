"""Rows in the outbox that can never be published."""

from uuid import UUID

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine, text

from common.records.topics import CONFIG_CAMERAS
from common.settings import KafkaSettings
from tests.integration.api.cameras import add_camera, insert_owner, rename_camera
from tests.integration.api.relays import Relaying
from tests.integration.api.topic_reader import ConfigReader

pytestmark = pytest.mark.integration

_GAUGE = "platestream_relay_failed_rows"


def test_rows_that_can_never_be_published_hold_up_no_other(
    relaying: Relaying, kafka_topics: KafkaSettings, engine: Engine, reader: ConfigReader
) -> None:
    owner_id, registry = insert_owner(engine), CollectorRegistry()
    _enqueue(engine, "of-a-later-release", "key", b"{}")
    _enqueue(engine, CONFIG_CAMERAS.name, "large", bytes(kafka_topics.kafka_max_message_bytes))
    camera_id = add_camera(engine, owner_id)
    with relaying(registry=registry):
        reader.read(1)
        rename_camera(engine, owner_id, camera_id, "another name")
        reader.read(2)

    revisions = [config.revision for config in reader.of(camera_id) if config is not None]
    assert revisions == [1, 2]
    unknown, large = _waiting(engine)
    assert "topic of-a-later-release is unknown" in unknown
    assert "larger than" in large
    assert registry.get_sample_value(_GAUGE) == 2


def test_a_later_state_makes_up_for_one_that_was_set_aside(
    relaying: Relaying, kafka_topics: KafkaSettings, engine: Engine, reader: ConfigReader
) -> None:
    owner_id, registry = insert_owner(engine), CollectorRegistry()
    camera_id = add_camera(engine, owner_id)
    _spoil_what_waits(engine, camera_id, kafka_topics.kafka_max_message_bytes)
    other_id = add_camera(engine, owner_id)
    with relaying(registry=registry):
        reader.read(1)
        assert len(reader.of(other_id)) == 1
        rename_camera(engine, owner_id, camera_id, "another name")
        reader.read(2)

    assert [config.revision for config in reader.of(camera_id) if config is not None] == [2]
    assert _waiting(engine) == []
    assert registry.get_sample_value(_GAUGE) == 0


def test_what_was_set_aside_is_published_once_a_relay_takes_it(
    relaying: Relaying, engine: Engine, reader: ConfigReader
) -> None:
    owner_id = insert_owner(engine)
    camera_id = add_camera(engine, owner_id)
    with engine.begin() as connection:
        connection.execute(text("UPDATE config_outbox SET topic = 'of-a-later-release'"))
    other_id = add_camera(engine, owner_id)
    with relaying():
        reader.read(1)
        assert len(reader.of(other_id)) == 1
    assert len(_waiting(engine)) == 1

    with engine.begin() as connection:
        topic = {"topic": CONFIG_CAMERAS.name}
        connection.execute(text("UPDATE config_outbox SET topic = :topic"), topic)
    with relaying():
        reader.read(2)

    assert len(reader.of(camera_id)) == 1
    assert _waiting(engine) == []


def _enqueue(engine: Engine, topic: str, key: str, value: bytes) -> None:
    row = {"topic": topic, "key": key, "value": value}
    with engine.begin() as connection:
        connection.execute(text(_INSERT), row)


def _spoil_what_waits(engine: Engine, camera_id: UUID, size: int) -> None:
    row = {"key": str(camera_id), "value": bytes(size)}
    with engine.begin() as connection:
        connection.execute(text("UPDATE config_outbox SET value = :value WHERE key = :key"), row)


def _waiting(engine: Engine) -> list[str]:
    """Return the error of each row that remains in the outbox, in order."""
    with engine.connect() as connection:
        return [str(why) for (why,) in connection.execute(text(_ERRORS))]


_INSERT = "INSERT INTO config_outbox (topic, key, value) VALUES (:topic, :key, :value)"
_ERRORS = "SELECT error FROM config_outbox ORDER BY id"
