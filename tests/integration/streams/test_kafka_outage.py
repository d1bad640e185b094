"""A stage during a Kafka outage and after the recovery."""

from pathlib import Path

import pytest

from common.kafka.clients import create_topics
from common.records.topics import READINGS, RECOGNITIONS
from common.settings import KafkaSettings
from deploy.local.servers.kafka import KafkaServer
from tests.integration.streams.stages import Feeder, Reader, copying_stage, lag, running
from tests.services.kafka import fresh_kafka_settings, kafka_process
from tests.services.process import ChildProcess
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.fault]


@pytest.mark.long
# The "events" agent is slower, so the broker dies with most values unread.
@pytest.mark.parametrize(
    ("agent", "count"),
    [pytest.param("events", 600, marks=pytest.mark.long), ("batches", 3000)],
)
def test_kafka_killed_under_load_loses_nothing(agent: str, count: int, tmp_path: Path) -> None:
    with kafka_process(tmp_path) as kafka:
        assert isinstance(kafka.server, KafkaServer)
        settings = fresh_kafka_settings(kafka.server.bootstrap_servers)
        create_topics(settings)
        values = [b"%d" % number for number in range(count)]
        # No client of the test is open during the outage: kafka-python leaves refused connections
        # to the garbage collector, which causes warnings.
        feeder = Feeder(settings, RECOGNITIONS)
        feeder.send(*values)
        feeder.close()
        with running(copying_stage(settings, tmp_path, agent)) as copying:
            wait_until("it copies", lambda: lag(settings, "copying", RECOGNITIONS) < count - 50)
            kafka.kill()
            kafka.start()
            _wait_for_copies(settings, set(values), copying)
            wait_until("all is committed", lambda: lag(settings, "copying", RECOGNITIONS) == 0)


def _wait_for_copies(settings: KafkaSettings, values: set[bytes], copying: ChildProcess) -> None:
    copies = Reader(settings, READINGS)

    def all_there() -> bool:
        if not copying.is_running():
            copying.start()  # The supervisor restarts a stage in the same way.
        return {value.split()[1] for value in copies.poll()} >= values

    wait_until("all is copied", all_there, seconds=120)
    copies.close()
