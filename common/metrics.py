"""Defines the metrics of all processes, and serves their monitoring endpoints.

``metrics.toml`` describes each metric. The endpoints are ``/metrics`` for Prometheus, ``/healthz``
for health checks and ``/readyz`` for people.
"""

import json
import socket
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Final
from uuid import UUID

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from pydantic import Field

from common.errors import MisconfiguredError
from common.settings import Fragment, Port


class MetricKind(StrEnum):
    """The kind of a metric: a number that only increases, any number, or a distribution."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    """One metric. ``rise`` is the help text: what the metric measures, and why it rises."""

    kind: MetricKind
    name: str
    unit: str
    rise: str
    labels: tuple[str, ...] = ()


METRICS: Final = {
    name: Metric(
        MetricKind(row["kind"]), name, row["unit"], row["rise"], tuple(row.get("labels", ()))
    )
    for name, row in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
"""The catalogue of metrics, by name."""


def counter(name: str, registry: CollectorRegistry) -> Counter:
    """Return a counter with the labels from the catalogue."""
    metric = _described(name, MetricKind.COUNTER)
    return Counter(metric.name, metric.rise, metric.labels, registry=registry)


def gauge(name: str, registry: CollectorRegistry) -> Gauge:
    """Return a gauge with the labels from the catalogue."""
    metric = _described(name, MetricKind.GAUGE)
    return Gauge(metric.name, metric.rise, metric.labels, registry=registry)


def histogram(name: str, registry: CollectorRegistry, *, buckets: Sequence[float]) -> Histogram:
    """Return a histogram. ``buckets`` are upper bounds in the unit from the catalogue."""
    metric = _described(name, MetricKind.HISTOGRAM)
    return Histogram(metric.name, metric.rise, metric.labels, registry=registry, buckets=buckets)


def _described(name: str, kind: MetricKind) -> Metric:
    metric = METRICS[name]
    assert metric.kind is kind, f"{name} is a {metric.kind}"
    return metric


class HealthPageSettings(Fragment):
    """The address of a process's monitoring endpoints."""

    metrics_port: Port = Field(
        0,
        description="Port for /metrics, /healthz and /readyz; 0: disabled.",
    )
    metrics_host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address on which processes serve /metrics, /healthz and /readyz. No "
        "authentication. Use 0.0.0.0 or :: for all addresses.",
    )


LABELLED_CAMERAS: Final = 100
"""Number of cameras per process with their own label. All others are counted as ``other``."""
OTHER_CAMERAS: Final = "other"
_UNUSED_SECONDS: Final = 3600.0


class CameraLabels:
    """The labels of cameras: IDs, up to the limit, and otherwise ``other``. Not thread-safe.

    The label of a camera is freed if the camera was not counted for an hour.
    """

    def __init__(
        self, limit: int, forget: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``forget`` drops the metrics of a label. ``clock`` must be monotonic, in seconds."""
        self._limit = limit
        self._forget = forget
        self._clock = clock
        self._used: dict[UUID, float] = {}

    def of(self, camera_id: UUID) -> str:
        """Return the label of a camera that is being counted."""
        now = self._clock()
        if camera_id not in self._used and len(self._used) >= self._limit:
            oldest = min(self._used, key=self._used.__getitem__, default=None)
            if oldest is None or now - self._used[oldest] < _UNUSED_SECONDS:
                return OTHER_CAMERAS
            self.drop(oldest)
        self._used[camera_id] = now
        return str(camera_id)

    def drop(self, camera_id: UUID) -> None:
        """Drop the label of a removed camera, if the camera has a label."""
        if self._used.pop(camera_id, None) is not None:
            self._forget(str(camera_id))


Details = Callable[[], Mapping[str, object]]
"""Returns details of a process as JSON values, in another thread. If the details contain a
``status`` other than ``ready``, ``/readyz`` responds with 503.
"""


class HealthServer:
    """Serves ``/metrics``, ``/healthz`` and ``/readyz`` in separate threads."""

    def __init__(
        self,
        host: str,
        port: int,
        registry: CollectorRegistry,
        is_alive: Callable[[], bool],
        details: Details = dict,
    ) -> None:
        """Start listening. ``details`` are added to ``/readyz``.

        Raises:
            MisconfiguredError: the port is in use, or the address does not belong to this machine.
        """
        try:
            self._server = _server(host, port, _handler(registry, is_alive, details))
        except OSError as error:
            raise MisconfiguredError(
                f"cannot serve health checks on {host}, port {port}: {error}"
            ) from error
        # The interval (a day) only matters for a stop, which wakes the thread.
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(86_400,), name="health", daemon=True).start()

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return self._server.server_port

    def stop(self) -> None:
        """Stop listening."""
        self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._server.server_close()


def serve_health(
    settings: HealthPageSettings,
    port: int,
    registry: CollectorRegistry,
    is_alive: Callable[[], bool] = lambda: True,
    details: Details = dict,
) -> HealthServer | None:
    """Serve the monitoring endpoints on ``port``. Do nothing and return None if it is 0.

    By default, a process that responds is considered alive.

    Raises:
        MisconfiguredError: the port is in use, or the address does not belong to this machine.
    """
    if not port:
        return None
    return HealthServer(settings.metrics_host, port, registry, is_alive, details)


def _server(host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

        def server_bind(self) -> None:
            """Bind without resolving the address to a name, which HTTPServer would do first."""
            TCPServer.server_bind(self)
            self.server_name, self.server_port = host, self.socket.getsockname()[1]

    return Server((host, port), handler)


def _handler(
    registry: CollectorRegistry, is_alive: Callable[[], bool], details: Details
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif self.path == "/healthz":
                status, word = (200, b"ok\n") if is_alive() else (503, b"stuck\n")
                self._answer(status, "text/plain", word)
            elif self.path == "/readyz":
                alive = is_alive()
                body = {"status": "ready" if alive else "stuck", **details()}
                status = 200 if body["status"] == "ready" else 503
                self._answer(status, "application/json", json.dumps(body).encode())
            else:
                self._answer(404, "text/plain", b"not found\n")

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing, because health checks come every few seconds."""

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
