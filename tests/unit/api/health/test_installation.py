"""The state of an installation as server administrators see it."""

import threading
from collections.abc import Sequence

from api.health.routes import installation_body
from api.health.service import DiskUsage, InstallationStatus, Readiness
from common.errors import TransientError
from common.kafka.stage_progress import StageProgress

STAGES = (StageProgress("recognition", 2, 7, 1_000), StageProgress("sink", 0, 0))
READINESS = Readiness({"kafka": None, "s3": "no response within 2 s"}, ("nearly full",))
DISKS = (DiskUsage("kafka", 0.5, 1 << 30),)


async def test_kafka_is_asked_once_for_all_who_look() -> None:
    asked: list[int] = []

    def stages() -> Sequence[StageProgress]:
        asked.append(threading.get_ident())
        return STAGES

    watch = InstallationStatus(stages, lambda: DISKS)
    found = [await watch.get() for _ in range(3)]

    assert {each.stages for each in found} == {STAGES}
    assert len(asked) == 1
    assert asked[0] != threading.get_ident()


async def test_disks_are_reported_without_an_answer_from_kafka() -> None:
    def stages() -> Sequence[StageProgress]:
        raise TransientError("Kafka is not responding")

    found = await InstallationStatus(stages, lambda: DISKS).get()

    assert (found.stages, found.disks) == (None, DISKS)
    assert installation_body(found, READINESS, 0).stages is None


async def test_the_status_has_the_lag_of_each_stage() -> None:
    found = await InstallationStatus(lambda: STAGES, lambda: DISKS).get()
    body = installation_body(found, READINESS, 3_500).model_dump(by_alias=True)

    assert body["version"]
    assert body["checks"] == {"kafka": "ok", "s3": "no response within 2 s"}
    assert body["warnings"] == ["nearly full"]
    assert body["stages"] == [
        {"name": "recognition", "workers": 2, "waiting": 7, "behindSeconds": 2.5},
        {"name": "sink", "workers": 0, "waiting": 0, "behindSeconds": None},
    ]
    assert body["disks"] == [{"name": "kafka", "usedRatio": 0.5, "freeBytes": 1 << 30}]
    # The clock of the process can be slower than the broker's clock.
    assert installation_body(found, READINESS, 0).stages[0].behind_seconds == 0  # type: ignore[index]
