"""Library code of Faust, mode and aiokafka that the stages replace still exists and is called."""

from collections.abc import Mapping
from typing import Any, Final

import faust
import pytest
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from faust.transport.drivers import aiokafka as driver
from faust.worker import Worker

from common.errors import MisconfiguredError
from common.kafka import checked_releases
from streams.runtime.app import build_app
from streams.runtime.settings import StreamSettings
from tests.library_insides import calls, defines

_REPLACED: Final[Mapping[type, tuple[str, ...]]] = {
    driver.AIOKafkaConsumerThread: ("_verify_aiokafka_event_path",),
    driver.Consumer: (
        "_filter_tps_with_pending_acks",
        "_getmany",
        "_new_consumer_thread",
        "_new_offset",
        "verify_all_partitions_active",
    ),
    driver.Producer: ("_new_producer",),
    Fetcher: ("_get_actions_per_node",),
    GroupCoordinator: ("_do_heartbeat",),
    faust.App: ("_create_directories", "_new_transport"),
    Worker: ("_schedule_shutdown", "carp"),
}
"""Overridden methods. The libraries must call them, or the overrides have no effect."""


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


def test_a_stage_is_not_built_on_a_faust_that_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_releases, "version", lambda _: "0.15.99")
    with pytest.raises(
        MisconfiguredError, match=r"faust-streaming 0\.15\.99 has not been verified"
    ):
        build_app(StreamSettings.model_validate({}), "testing")
