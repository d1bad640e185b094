"""Prometheus' side of every stage: what is counted."""

from collections.abc import Mapping

from faust.types import TP
from prometheus_client import CollectorRegistry, start_http_server

from contracts.instruments import counter, gauge
from streams.common.liveness import Position


class StageMetrics:
    """The counters of one stage. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Make the metrics in ``registry``, or in one of their own."""
        self.registry = registry or CollectorRegistry()
        self._released = counter("platestream_stream_messages_released_total", self.registry)
        self._dead_letters = counter("platestream_stream_dead_letters_total", self.registry)
        self._failures = counter("platestream_stream_transient_failures_total", self.registry)
        self._lag = gauge("platestream_stream_lag_messages", self.registry)

    def message_released(self) -> None:
        """Count a message that is done for good."""
        self._released.inc()

    def dead_letter(self, code: str) -> None:
        """Count a message that went to the dead-letter topic."""
        self._dead_letters.labels(code).inc()

    def transient_failure(self) -> None:
        """Count a try that failed because a neighbour is away."""
        self._failures.inc()

    def positions(self, positions: Mapping[TP, Position]) -> None:
        """Set the lag of each partition that this process owns; the others vanish."""
        self._lag.clear()
        for tp, position in positions.items():
            self._lag.labels(tp.topic, str(tp.partition)).set(position.lag)

    def serve(self, port: int) -> None:
        """Answer Prometheus on ``port`` of 127.0.0.1; 0 does nothing."""
        if port:
            start_http_server(port, addr="127.0.0.1", registry=self.registry)
