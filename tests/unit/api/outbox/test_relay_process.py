"""The relay as a process."""

import pytest
from prometheus_client import CollectorRegistry

from api.outbox import __main__ as process
from api.outbox.relay import Relay
from api.outbox.settings import RelaySettings


def test_it_shows_how_many_rows_are_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    served: dict[int, CollectorRegistry] = {}
    monkeypatch.setattr(process, "serve_metrics", served.__setitem__)
    monkeypatch.setattr(Relay, "run", lambda _: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    process._relay(
        RelaySettings.model_validate(
            {"database_url": "postgresql://a:b@127.0.0.1/c", "relay_metrics_port": 9107}
        )
    )

    assert served[9107].get_sample_value("platestream_relay_rows_set_aside") == 0
