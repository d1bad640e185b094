"""The Prometheus metrics of the MQTT stage."""

from prometheus_client import CollectorRegistry

from common.metrics import counter, gauge, histogram
from streams.mqtt.messages import MessageKind

_AGE_BUCKETS_SECONDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0, 60.0, 600.0, 3600.0)


class MqttMetrics:
    """The counters of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Make the metrics in ``registry``, or in one of their own."""
        registry = registry or CollectorRegistry()
        self._connected = gauge("platestream_mqtt_connected", registry)
        self._messages = counter("platestream_mqtt_messages_total", registry)
        self._refused = counter("platestream_mqtt_refused_total", registry)
        self._age = histogram(
            "platestream_mqtt_event_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )

    def connected(self, is_there: bool) -> None:
        """Show whether the broker is connected."""
        self._connected.set(1 if is_there else 0)

    def acknowledged(self, kind: MessageKind) -> None:
        """Count a message that the broker has."""
        self._messages.labels(kind.value).inc()

    def refused(self) -> None:
        """Count a message that the broker refused."""
        self._refused.inc()

    def delivered(self, age_ms: int) -> None:
        """Observe the age of an event, since its publication on Kafka, when the broker has it."""
        self._age.observe(max(0, age_ms) / 1000)
