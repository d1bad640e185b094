"""Prometheus metrics of the MQTT stage."""

from prometheus_client import CollectorRegistry

from common.metrics import counter, gauge, histogram

_AGE_BUCKETS_SECONDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0, 60.0, 600.0, 3600.0)


class MqttMetrics:
    """The metrics of one worker. Thread-safe."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Register the metrics in ``registry``, or in a new registry."""
        registry = registry or CollectorRegistry()
        self.connected = gauge("platestream_mqtt_connected", registry)
        self.messages = counter("platestream_mqtt_messages_total", registry)
        self.refused = counter("platestream_mqtt_messages_rejected_total", registry)
        self.event_age = histogram(
            "platestream_mqtt_event_age_seconds", registry, buckets=_AGE_BUCKETS_SECONDS
        )
        """Time from an event's publication on Kafka to the broker's acknowledgement."""
