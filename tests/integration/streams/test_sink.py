"""The sink with a real Kafka and a real ClickHouse."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from clickhouse_connect.driver.client import Client

from analytics_sql.client import ClickHouseClient
from analytics_sql.erasure import Erasure, erase_recognitions, insert_erasure
from common.records.codec import encode
from common.records.recognitions import Recognition
from common.records.topics import (
    ALERTS,
    ATTEMPTS,
    CAMERA_COUNTS,
    CONFIG_ALERTS,
    CONFIG_CAMERAS,
    LOST_IMAGES,
    OUTCOMES,
    RECOGNITIONS,
    SINK_DEAD_LETTERS,
    Topic,
)
from common.settings import KafkaSettings
from tests.integration.streams.recognitions import migrated, stored_ids
from tests.integration.streams.stages import Feeder, environment_of, lag, running, stage
from tests.records import alert, alert_trigger, messages, recognition, recognitions
from tests.services.clickhouse import ClickHouseAddress, ClickHouseService, create_database
from tests.services.process import ChildProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

StartSink = Callable[..., ChildProcess]


@pytest.fixture(scope="module")
def needed_topics() -> tuple[Topic, ...]:
    return (
        RECOGNITIONS,
        LOST_IMAGES,
        ALERTS,
        ATTEMPTS,
        OUTCOMES,
        CAMERA_COUNTS,
        CONFIG_CAMERAS,
        CONFIG_ALERTS,
        SINK_DEAD_LETTERS,
    )


@pytest.fixture
def start_sink(kafka_topics: KafkaSettings, tmp_path: Path) -> Iterator[StartSink]:
    """A function that starts sinks. They stop at the end of the test."""
    started: list[ChildProcess] = []

    def start(clickhouse: ClickHouseAddress, **settings: str) -> ChildProcess:
        environment = _environment(kafka_topics, clickhouse, tmp_path, settings)
        process = stage("streams.sink", "sink", tmp_path / f"sink-{len(started)}.log", environment)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


def _environment(
    kafka: KafkaSettings,
    clickhouse: ClickHouseAddress,
    folder: Path,
    settings: Mapping[str, str],
) -> dict[str, str]:
    given = clickhouse.settings()
    return environment_of(
        kafka,
        folder / "sink",
        clickhouse_url=given.clickhouse_url,
        clickhouse_user=given.clickhouse_user,
        clickhouse_password=given.clickhouse_password.get_secret_value(),
        clickhouse_database=given.clickhouse_database,
        **{"streams.runtime.app.SESSION_TIMEOUT_SECONDS": "6", **settings},
    )


@pytest.fixture(scope="module")
def running_sink(
    module_kafka_topics: KafkaSettings,
    clickhouse_server: ClickHouseAddress,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator["RunningSink"]:
    """A sink for the tests that only send their own records through it."""
    folder, clickhouse = tmp_path_factory.mktemp("sink"), create_database(clickhouse_server)
    environment = _environment(module_kafka_topics, clickhouse, folder, {})
    feeder = Feeder(module_kafka_topics, RECOGNITIONS)
    with (
        migrated(clickhouse) as client,
        running(stage("streams.sink", "sink", folder / "sink.log", environment)),
    ):
        yield RunningSink(module_kafka_topics, clickhouse, client, feeder)
    feeder.close()


@dataclass(frozen=True)
class RunningSink:
    """A sink with its Kafka and its ClickHouse."""

    kafka: KafkaSettings
    clickhouse: ClickHouseAddress
    client: Client
    feeder: Feeder

    def wait_until_committed(self, topic: Topic = RECOGNITIONS) -> None:
        """Return once the sink has committed the whole topic."""
        wait_until("all is committed", lambda: lag(self.kafka, "sink", topic) == 0)


@pytest.fixture
def feeder(kafka_topics: KafkaSettings) -> Iterator[Feeder]:
    feeder = Feeder(kafka_topics, RECOGNITIONS)
    yield feeder
    feeder.close()


@pytest.fixture
def database(clickhouse_address: ClickHouseAddress) -> Iterator[Client]:
    """A client of a database with the schema of this release."""
    with migrated(clickhouse_address) as client:
        yield client


def _send(feeder: Feeder, records: list[Recognition]) -> set[UUID]:
    feeder.send_pairs(messages(records))
    return {record.id for record in records}


def _has_all(client: Client, ids: set[UUID]) -> Callable[[], bool]:
    return lambda: ids <= set(stored_ids(client))


def _has_more(client: Client, count: int, done: threading.Event) -> Callable[[], bool]:
    return lambda: done.is_set() or len(stored_ids(client)) > count


def test_every_field_arrives_and_a_replay_is_the_same_row(running_sink: RunningSink) -> None:
    feeder, database = running_sink.feeder, running_sink.client
    ids = _send(feeder, recognitions(range(500)))
    wait_until("500 rows", _has_all(database, ids))
    _send(feeder, recognitions(range(500)))
    ids |= _send(feeder, recognitions(range(500, 510)))
    wait_until("10 more rows", _has_all(database, ids))
    running_sink.wait_until_committed()
    assert sorted(each for each in stored_ids(database) if each in ids) == sorted(ids)
    row = database.query(
        "SELECT user_id, camera_name, plate, confidence, readings_count, photo_key, box_width"
        " FROM recognitions FINAL WHERE id = {id:UUID}",
        parameters={"id": recognition(7).id},
    ).result_rows[0]
    assert row == (
        recognition(7).owner_id,
        "camera 7",
        "AB00007",
        0.93,
        5,
        "recognitions/7/photo.jpg",
        100.0,
    )


def test_triggers_are_stored_once_with_recognitions(running_sink: RunningSink) -> None:
    feeder, database = running_sink.feeder, running_sink.client
    rule = alert(1)
    triggers = [alert_trigger(rule, recognition(number)) for number in range(200)]
    alerts_feeder = Feeder(running_sink.kafka, ALERTS)
    for _ in range(2):
        alerts_feeder.send(*map(encode, triggers), key=str(rule.alert_id).encode())
    alerts_feeder.close()
    ids = _send(feeder, recognitions(range(600, 610)))
    wait_until("recognitions", _has_all(database, ids))
    running_sink.wait_until_committed(ALERTS)
    rows = database.query(
        "SELECT id, alert_id, recognition_id, plate, toUnixTimestamp64Milli(ts)"
        " FROM alert_triggers FINAL ORDER BY ts"
    ).result_rows
    assert rows == [
        (
            trigger.id,
            rule.alert_id,
            trigger.recognition.id,
            trigger.recognition.plate,
            trigger.recognition.captured_ms,
        )
        for trigger in triggers
    ]


def test_what_was_erased_stays_erased(running_sink: RunningSink) -> None:
    feeder, database = running_sink.feeder, running_sink.client
    records = recognitions(range(1000, 1040))
    ids = _send(feeder, records)
    wait_until("40 rows", _has_all(database, ids))
    # Uncommitted records can be redelivered and inserted again.
    running_sink.wait_until_committed()
    erased = Erasure(records[0].owner_id, records[7].plate)

    async def erase() -> int:
        client = ClickHouseClient(running_sink.clickhouse.settings())
        await insert_erasure(client, erased)
        count = await erase_recognitions(client, erased)
        await client.close()
        return count

    assert asyncio.run(erase()) == 1
    _send(feeder, records)
    ids |= _send(feeder, recognitions(range(1040, 1045)))
    wait_until("5 more rows", _has_all(database, ids - {records[7].id}))
    running_sink.wait_until_committed()
    every_copy = database.query("SELECT DISTINCT id FROM recognitions").result_rows
    assert ids - {row[0] for row in every_copy} == {records[7].id}
    # The image is listed twice: by the erasure, and because the replay inserted the row again.
    noted = database.query("SELECT id, photo_key FROM erased_images").result_rows
    assert noted == [(records[7].id, records[7].photo_key)] * 2


def test_an_outage_of_clickhouse_is_waited_for(
    start_sink: StartSink, feeder: Feeder, tmp_path: Path, kafka_topics: KafkaSettings
) -> None:
    with ClickHouseService(tmp_path) as clickhouse:
        with migrated(clickhouse.address) as client:
            sink = start_sink(
                clickhouse.address, **{"streams.runtime.stage_runner.RETRY_SECONDS": "1"}
            )
            ids = _send(feeder, recognitions(range(1000)))
            wait_until("rows before", _has_all(client, ids))
            wait_until("committed", lambda: lag(kafka_topics, "sink", RECOGNITIONS) == 0)
        clickhouse.kill()
        more = _send(feeder, recognitions(range(1000, 3000)))
        wait_until("the sink waits", lambda: sink.log.read_text().count("transient_failure") >= 3)
        assert lag(kafka_topics, "sink", RECOGNITIONS) == 2000
        clickhouse.start()
        client = clickhouse.address.client()
        wait_until("rows after", _has_all(client, ids | more))
        assert len(stored_ids(client)) == 3000
        client.close()
        assert sink.is_running()
        wait_until("committed", lambda: lag(kafka_topics, "sink", RECOGNITIONS) == 0)


def test_rows_wait_for_a_schema_that_is_late(
    start_sink: StartSink, feeder: Feeder, clickhouse_address: ClickHouseAddress
) -> None:
    sink = start_sink(clickhouse_address)
    ids = _send(feeder, recognitions(range(10)))
    wait_until("the sink waits", lambda: "clickhouse_misconfigured" in sink.log.read_text())
    with migrated(clickhouse_address) as client:
        wait_until("rows", _has_all(client, ids))


@pytest.mark.long
def test_a_stop_is_quick_also_in_an_outage(
    start_sink: StartSink, feeder: Feeder, database: Client, clickhouse_address: ClickHouseAddress
) -> None:
    nobody = ClickHouseAddress("127.0.0.1", 9, "tester", "none")
    ids = _send(feeder, recognitions(range(100)))
    sink = start_sink(nobody)
    wait_until("the sink waits", lambda: "transient_failure" in sink.log.read_text())
    assert _seconds_to_stop(sink) < 5
    sink = start_sink(clickhouse_address)
    wait_until("rows", _has_all(database, ids))
    assert _seconds_to_stop(sink) < 5
    assert "stop_timeout_exceeded" not in sink.log.read_text()


def _seconds_to_stop(sink: ChildProcess) -> float:
    began = time.monotonic()
    sink.stop()
    assert sink.exit_status == 0
    return time.monotonic() - began


@pytest.mark.fault
def test_killed_again_and_again_under_load_every_row_is_there_once(
    start_sink: StartSink,
    feeder: Feeder,
    database: Client,
    clickhouse_address: ClickHouseAddress,
    kafka_topics: KafkaSettings,
) -> None:
    sent: set[UUID] = set()
    done = threading.Event()

    def feed() -> None:
        for first in range(0, 4000, 40):
            sent.update(_send(feeder, recognitions(range(first, first + 40))))
            done.wait(0.1)
        done.set()

    thread = threading.Thread(target=feed)
    thread.start()
    while not done.is_set():
        sink = start_sink(clickhouse_address, **{"streams.sink.app.BATCH_ROWS": "200"})
        stored = len(stored_ids(database))
        wait_until("it writes", _has_more(database, stored + 400, done))
        sink.kill()
    thread.join()
    start_sink(clickhouse_address)
    wait_until("all rows", _has_all(database, sent))
    wait_until("all is committed", lambda: lag(kafka_topics, "sink", RECOGNITIONS) == 0)
    assert sorted(stored_ids(database)) == sorted(sent)
