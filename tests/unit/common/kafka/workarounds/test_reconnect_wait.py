from types import SimpleNamespace
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.net.manager import KafkaConnectionManager
from kafka.producer.sender import Sender

from common.kafka.workarounds.reconnect_wait import ReconnectWaitProducer
from tests.library_insides import calls


class _Wakeup:
    """Counts how often the metadata refresh is woken."""

    def __init__(self) -> None:
        self.times = 0

    def notify(self) -> None:
        self.times += 1


@pytest.fixture
def delays() -> dict[str, float]:
    """Return the seconds until the producer's client can connect to a node again."""
    return {"away": 0.25, "connecting": 0.0}


@pytest.fixture
def wakeup() -> _Wakeup:
    return _Wakeup()


@pytest.fixture
def metadata(wakeup: _Wakeup) -> Any:
    """Metadata that has never been refreshed."""
    metadata = ClusterMetadata(bootstrap_servers="localhost:9")
    metadata._manager, metadata._wakeup = SimpleNamespace(), wakeup
    metadata.start_refresh_loop = lambda: None
    return metadata


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, delays: dict[str, float], metadata: Any) -> Any:
    """The client of a producer that uses this metadata."""

    def made(producer: Any, **_: Any) -> None:
        client = SimpleNamespace(connection_delay=delays.__getitem__)
        producer._sender, producer._metadata = SimpleNamespace(_client=client), metadata

    monkeypatch.setattr(KafkaProducer, "__init__", made)
    monkeypatch.setattr(KafkaProducer, "__del__", lambda _: None)
    return ReconnectWaitProducer()._sender._client


@pytest.mark.parametrize(("node", "milliseconds"), [("away", 250.0), ("connecting", 20.0)])
def test_the_sender_gets_milliseconds(client: Any, node: str, milliseconds: float) -> None:
    assert client.connection_delay(node) == milliseconds


@pytest.mark.usefixtures("client")
def test_metadata_are_asked_for_once_until_an_answer_comes(metadata: Any, wakeup: _Wakeup) -> None:
    first = metadata.request_update()
    assert metadata.request_update() is first
    assert metadata.need_update
    assert wakeup.times == 1
    metadata.failed_update(TimeoutError())
    assert first.is_done
    assert metadata.request_update() is not first
    assert wakeup.times == 2


def test_kafka_python_goes_through_what_is_replaced() -> None:
    assert calls(Sender, "_client.connection_delay")
    assert calls(Sender, "_metadata.request_update")
    assert "delay in seconds" in str(KafkaConnectionManager.connection_delay.__doc__)
