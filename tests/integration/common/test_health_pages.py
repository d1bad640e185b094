"""The pages of a process for its metrics, liveness and readiness."""

import json
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry

from common.errors import MisconfiguredError
from common.metrics import HealthPageSettings, HealthServer, gauge, serve_health
from deploy.local.ports import free_ports

pytestmark = pytest.mark.integration


def _answer(address: str) -> tuple[int, str]:
    try:
        with urlopen(address, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


@pytest.mark.parametrize(
    ("host", "reached_at"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.2"), ("::1", "[::1]")],
)
def test_its_pages_are_where_the_setting_says(host: str, reached_at: str) -> None:
    registry = CollectorRegistry()
    gauge("platestream_webhooks_pending_deliveries", registry).set(3)
    (port,) = free_ports(1)
    server = serve_health(HealthPageSettings(metrics_host=host, metrics_port=port), port, registry)
    assert server is not None
    try:
        status, page = _answer(f"http://{reached_at}:{port}/metrics")

        assert (status, "platestream_webhooks_pending_deliveries 3.0" in page) == (200, True)
        assert _answer(f"http://{reached_at}:{port}/healthz") == (200, "ok\n")
        ready = _answer(f"http://{reached_at}:{port}/readyz")
        assert ready == (200, '{"status": "ready"}')
        assert _answer(f"http://{reached_at}:{port}/") == (404, "not found\n")
    finally:
        server.stop()


def test_who_hangs_says_so() -> None:
    server = HealthServer("127.0.0.1", 0, CollectorRegistry(), lambda: False, lambda: {"n": 2})
    try:
        assert _answer(f"http://127.0.0.1:{server.port}/healthz") == (503, "stuck\n")
        status, page = _answer(f"http://127.0.0.1:{server.port}/readyz")
        assert (status, json.loads(page)) == (503, {"status": "stuck", "n": 2})
    finally:
        server.stop()


def test_no_port_is_no_page() -> None:
    assert serve_health(HealthPageSettings.model_validate({}), 0, CollectorRegistry()) is None


def test_a_port_that_is_taken_is_a_fault_with_its_name() -> None:
    server = HealthServer("127.0.0.1", 0, CollectorRegistry(), lambda: True)
    try:
        with pytest.raises(MisconfiguredError, match=f"127.0.0.1, port {server.port}: "):
            serve_health(HealthPageSettings.model_validate({}), server.port, CollectorRegistry())
    finally:
        server.stop()
