"""The stage warns of a password that anybody may read, without telling it."""

import structlog

from streams.mqtt.broker import warn_of_clear_text
from streams.mqtt.settings import MqttBrokerSettings


def _warnings(**given: object) -> list[str]:
    settings = MqttBrokerSettings.model_validate({"mqtt_password": "hunter2", **given})
    with structlog.testing.capture_logs() as logs:
        warn_of_clear_text(settings)
    assert "hunter2" not in str(logs)
    return [f"{line['event']} {line['server']}" for line in logs]


def test_a_broker_on_another_machine() -> None:
    assert _warnings(mqtt_host="broker.example") == ["mqtt_login_not_encrypted broker.example:1883"]


def test_a_broker_that_nobody_listens_to() -> None:
    assert _warnings(mqtt_host="broker.example", mqtt_tls=True) == []
    assert _warnings(mqtt_host="127.0.0.1") == []
