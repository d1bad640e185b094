"""Releases of Kafka's libraries: guarded, and each private name that is used is still there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.net.compat import KafkaNetClient
from kafka.producer.sender import Sender
from kafka.protocol.schemas.fields.struct import StructField

from common.errors import MisconfiguredError
from common.kafka import checked_releases
from common.kafka.checked_releases import require_checked_release
from common.kafka.clients import client_options
from common.settings import KafkaSettings
from tests.library_insides import calls, defines, private_names

_ROOT: Final = Path(__file__).resolve().parents[4]
_USED: Final[Mapping[type, tuple[str, ...]]] = {
    KafkaConsumer: ("_coordinator", "_poll_once"),
    ConsumerCoordinator: (
        "_do_join_and_sync_async",
        "_generation",
        "request_rejoin",
        "state",
    ),
    CooperativeStickyAssignor: ("member_assignment", "generation", "metadata", "assign"),
    ClusterMetadata: ("_future", "need_update", "request_update"),
    KafkaNetClient: ("connection_delay",),
    KafkaProducer: ("_metadata", "_sender"),
    Sender: ("_client",),
    StructField: ("compiled_decode_from",),
}


def _pairs() -> list[Any]:
    return [
        pytest.param(owner, name, id=f"{owner.__name__}.{name}")
        for owner, names in _USED.items()
        for name in names
    ]


@pytest.mark.parametrize(("owner", "name"), _pairs())
def test_what_is_replaced_in_kafka_python_is_there(owner: type, name: str) -> None:
    assert defines(owner, name)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(KafkaConsumer, "_poll_once"), (ConsumerCoordinator, "_do_join_and_sync_async")],
)
def test_kafka_python_goes_through_what_is_replaced(owner: type, name: str) -> None:
    assert calls(owner, name)


def test_no_other_private_name_of_kafka_python_is_used() -> None:
    workarounds = sorted((_ROOT / "common/kafka/workarounds").glob("*.py"))
    used = {name for path in workarounds for name in private_names(path)}
    known = {name for names in _USED.values() for name in names}
    found = {name for name in used if any(defines(owner, name) for owner in _USED)}
    assert found <= known


@pytest.mark.parametrize(
    "library", ["aiokafka", "faust-streaming", "kafka-python", "mode-streaming"]
)
def test_a_release_that_was_not_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    require_checked_release(library)
    monkeypatch.setattr(checked_releases, "version", lambda _: "9.9")
    with pytest.raises(MisconfiguredError, match=f"{library} 9.9 was not checked with"):
        require_checked_release(library)


def test_no_client_is_made_with_a_kafka_python_that_was_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checked_releases, "version", lambda _: "3.0.99")
    with pytest.raises(MisconfiguredError, match=r"kafka-python 3\.0\.99 was not checked"):
        client_options(KafkaSettings.model_validate({}), "test")
