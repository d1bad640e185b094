"""The relay process: its metric of failed rows, and its liveness."""

import time
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from api.outbox import __main__ as process
from api.outbox.publisher import KafkaPublisher
from api.outbox.relay import Relay
from api.outbox.settings import RelaySettings


def test_it_shows_how_many_rows_are_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    served: dict[int, CollectorRegistry] = {}
    alive: list[bool] = []

    def serve(
        _: RelaySettings, port: int, registry: CollectorRegistry, is_alive: Callable[[], bool]
    ) -> None:
        served[port] = registry
        alive.append(is_alive())

    monkeypatch.setattr(process, "serve_health", serve)
    monkeypatch.setattr(Relay, "run", lambda _: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    process._relay(
        RelaySettings.model_validate(
            {"database_url": "postgresql://a:b@127.0.0.1/c", "metrics_port": 9107}
        )
    )

    assert served[9107].get_sample_value("platestream_relay_failed_rows") == 0
    assert alive == [True]


def test_a_relay_that_no_longer_turns_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    relay = Relay("postgresql://a:b@127.0.0.1/c", _no_publisher, poll_seconds=1, batch_rows=1)
    assert relay.is_alive()

    later = time.monotonic() + 181
    monkeypatch.setattr("time.monotonic", lambda: later)

    assert not relay.is_alive()


def _no_publisher() -> KafkaPublisher:
    raise AssertionError("nothing is published")
