"""Every private name of Faust, mode and aiokafka that the stages use is still there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import faust
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from faust.transport.drivers import aiokafka as driver
from faust.worker import Worker

from common.errors import MisconfiguredError
from common.kafka import checked_releases
from streams.runtime.app import build_app
from streams.runtime.settings import StreamSettings
from tests.library_insides import calls, defines, private_names

_ROOT: Final = Path(__file__).resolve().parents[4]
_REPLACED: Final[Mapping[type, tuple[str, ...]]] = {
    driver.AIOKafkaConsumerThread: ("_verify_aiokafka_event_path",),
    driver.Consumer: (
        "_filter_tps_with_pending_acks",
        "_getmany",
        "_new_consumer_thread",
        "_new_offset",
        "verify_event_path",
    ),
    driver.Producer: ("_new_producer",),
    Fetcher: ("_get_actions_per_node",),
    GroupCoordinator: ("_do_heartbeat",),
    faust.App: ("_create_directories", "_new_transport"),
    Worker: ("_schedule_shutdown", "carp"),
}
"""What is overridden: it must be called, or it does nothing."""
_USED: Final[Mapping[type, tuple[str, ...]]] = {
    driver.AIOKafkaConsumerThread: ("_ensure_consumer", "call_thread"),
    driver.Consumer: (
        "_acked",
        "_acked_index",
        "_commit",
        "_committed_offset",
        "_gap",
        "_is_changelog_tp",
        "_thread",
    ),
    driver.Producer: ("_ensure_producer",),
    faust.App: ("_consumer",),
    Worker: ("spinner",),
    AIOKafkaClient: ("_conns",),
    AIOKafkaConnection: ("_writer",),
    AIOKafkaConsumer: ("_coordinator", "_fetcher"),
    Fetcher: ("_fetch_max_wait_ms", "_records"),
}


def _pairs(names_of: Mapping[type, tuple[str, ...]]) -> list[Any]:
    return [
        pytest.param(owner, name, id=f"{owner.__name__}.{name}")
        for owner, names in names_of.items()
        for name in names
    ]


@pytest.mark.parametrize(("owner", "name"), _pairs(_REPLACED))
def test_what_is_replaced_is_there_and_called(owner: type, name: str) -> None:
    assert defines(owner, name)
    assert calls(owner, name)


@pytest.mark.parametrize(("owner", "name"), _pairs(_USED))
def test_what_is_used_is_there(owner: type, name: str) -> None:
    assert defines(owner, name)


@pytest.mark.parametrize(
    ("module", "of_class", "owners"),
    [
        ("consumer.py", "", (driver.AIOKafkaConsumerThread, driver.Consumer, AIOKafkaConsumer)),
        ("app.py", "StageApp", (faust.App, driver.Producer)),
        ("app.py", "StageTopic", (faust.Topic,)),
        ("worker.py", "StageWorker", (Worker,)),
    ],
)
def test_no_other_private_name_is_used_nor_taken_by_chance(
    module: str, of_class: str, owners: tuple[type, ...]
) -> None:
    used = private_names(_ROOT / "streams/runtime" / module, of_class)
    tables = (*_REPLACED.values(), *_USED.values())
    known = {name for names in tables for name in names}
    found = {name for name in used if any(defines(owner, name) for owner in owners)}
    assert found <= known


def test_a_stage_is_not_built_on_a_faust_that_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_releases, "version", lambda _: "0.15.99")
    with pytest.raises(MisconfiguredError, match=r"faust-streaming 0\.15\.99 was not checked"):
        build_app(StreamSettings.model_validate({}), "testing")
