"""What the API counts, for Prometheus."""

from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


class MetricName(StrEnum):
    """The names of the metrics, with what a rise means."""

    REQUESTS = "platestream_api_requests"
    """Requests by route, method and status; more 5xx: a dependency fails."""
    REQUEST_SECONDS = "platestream_api_request_seconds"
    """Seconds from the request's head to the last byte of its answer; a rise: slower answers."""


_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ApiMetrics:
    """The counters of one application."""

    def __init__(self) -> None:
        """Make a registry of its own, so that several applications in one process do not mix."""
        self._registry = CollectorRegistry()
        self._requests = Counter(
            MetricName.REQUESTS,
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            MetricName.REQUEST_SECONDS,
            "Time to answer a request.",
            ("method", "route"),
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        known = method if method in _METHODS else "OTHER"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(known, route).observe(seconds)

    def exposition(self) -> bytes:
        """Return all values in Prometheus's text format."""
        return generate_latest(self._registry)


_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
