"""The path of a configuration change: transaction, outbox, relay, topic."""

import gc
import logging
import statistics
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from api.db.engine import AdvisoryLock, in_transaction
from api.outbox.outbox import republish_all
from common.kafka.clients import create_topics
from common.settings import DatabaseSettings
from deploy.local.servers.kafka import KafkaServer
from tests.integration.api.cameras import add_camera, insert_owner, remove_camera, rename_camera
from tests.integration.api.relays import Relaying, running_relay
from tests.integration.api.topic_reader import ConfigReader
from tests.services.kafka import fresh_kafka_settings, kafka_process

pytestmark = pytest.mark.integration


def test_changes_come_in_order_and_end_with_a_tombstone(
    relaying: Relaying, engine: Engine, reader: ConfigReader
) -> None:
    owner_id = insert_owner(engine)
    with relaying():
        camera_id = add_camera(engine, owner_id, "first name")
        for number in range(20):
            rename_camera(engine, owner_id, camera_id, f"name {number}")
        remove_camera(engine, owner_id, camera_id)
        reader.read(22)

    *configs, last = reader.of(camera_id)
    revisions = [config.revision for config in configs if config is not None]
    assert revisions == list(range(1, 22))
    assert last is None
    assert _outbox_rows(engine) == 0


def test_a_change_is_on_the_topic_well_within_a_second(
    relaying: Relaying, engine: Engine, reader: ConfigReader
) -> None:
    owner_id = insert_owner(engine)
    # The relay polls slowly here, so only the notification can wake the relay.
    with relaying(poll_seconds=30):
        camera_id = add_camera(engine, owner_id)
        reader.read(1)
        delays = []
        for number in range(20):
            started = time.monotonic()
            rename_camera(engine, owner_id, camera_id, f"name {number}")
            reader.read(2 + number)
            delays.append(time.monotonic() - started)

    # The median counts, because a stalled machine is not a stalled relay.
    assert statistics.median(delays) < 1.0, delays


def test_a_second_relay_waits_until_the_first_is_gone(
    relaying: Relaying, engine: Engine, reader: ConfigReader
) -> None:
    owner_id = insert_owner(engine)
    with relaying():
        with relaying():
            camera_id = add_camera(engine, owner_id)
            for number in range(50):
                rename_camera(engine, owner_id, camera_id, f"name {number}")
            reader.read(51)
            assert _holders_of_the_relay_lock(engine) == 1
        _terminate_the_lock_holder(engine)
        rename_camera(engine, owner_id, camera_id, "last")
        reader.read(52)

    revisions = [config.revision for config in reader.of(camera_id) if config is not None]
    assert revisions == list(range(1, 53))


@pytest.mark.long
def test_a_lost_database_connection_loses_no_change(
    relaying: Relaying, engine: Engine, reader: ConfigReader
) -> None:
    owner_id = insert_owner(engine)
    with relaying():
        camera_id = add_camera(engine, owner_id)
        reader.read(1)
        for number in range(5):
            _terminate_the_lock_holder(engine)
            rename_camera(engine, owner_id, camera_id, f"name {number}")
        reader.read_revision(camera_id, 6)

    # Records that were published but not yet marked as published are sent again.
    revisions = [config.revision for config in reader.of(camera_id) if config is not None]
    assert sorted(set(revisions)) == list(range(1, 7))
    assert revisions[-1] == 6


# kafka-python 3.0.12 leaves the sockets of refused connections to the garbage collector. Log
# records, which pytest stores, would keep the sockets alive.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_an_outage_of_kafka_loses_no_change(
    api_database: DatabaseSettings,
    engine: Engine,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, logger="kafka")
    broker = kafka_process(tmp_path)
    assert isinstance(broker.server, KafkaServer)
    settings = fresh_kafka_settings(broker.server.bootstrap_servers)
    owner_id = insert_owner(engine)
    with broker, running_relay(api_database, settings):
        create_topics(settings)
        camera_id = add_camera(engine, owner_id)
        reader = ConfigReader(settings)
        reader.read(1)
        reader.close()
        broker.kill()
        for number in range(5):
            rename_camera(engine, owner_id, camera_id, f"name {number}")
        # The broker may have been killed between the first change's record and its acknowledgement.
        assert _outbox_rows(engine) in (5, 6)
        broker.start()
        reader = ConfigReader(settings)
        reader.read_revision(camera_id, 6, seconds=60)
        reader.close()
    gc.collect()

    # Unacknowledged records are published again, so a change can appear twice, but in order.
    revisions = [config.revision for config in reader.of(camera_id) if config is not None]
    assert sorted(set(revisions)) == list(range(1, 7))
    assert revisions[-1] == 6


def test_republish_all_publishes_every_camera_again(
    relaying: Relaying, engine: Engine, reader: ConfigReader
) -> None:
    owner_id = insert_owner(engine)
    cameras = {add_camera(engine, owner_id, f"camera {number}") for number in range(7)}
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM config_outbox"))

    assert in_transaction(engine, republish_all) == 7
    with relaying():
        changes = reader.read(7)

    assert {change.camera_id for change in changes} == cameras


def _outbox_rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.scalar(text("SELECT count(*) FROM config_outbox")) or 0)


def _holders_of_the_relay_lock(engine: Engine) -> int:
    with engine.connect() as connection:
        return len(connection.execute(text(_HOLDERS), _KEY).all())


def _terminate_the_lock_holder(engine: Engine) -> None:
    """End the active relay's connection once there is an active relay."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with engine.connect() as connection:
            found = connection.execute(text(_TERMINATE), _KEY).all()
        if found:
            return
    raise AssertionError("no relay became active")


_KEY = {"key": int(AdvisoryLock.CONFIG_RELAY)}
_HOLDERS = (
    "SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database "
    "WHERE locktype = 'advisory' AND objid = :key AND granted AND datname = current_database()"
)
_TERMINATE = f"SELECT pg_terminate_backend(pid, 5000) FROM ({_HOLDERS}) holders"
