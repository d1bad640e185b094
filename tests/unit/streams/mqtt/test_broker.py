"""The MQTT stage warns about a password that is sent unencrypted, without logging the password."""

import structlog

from streams.mqtt.broker import warn_of_plaintext_login
from streams.mqtt.settings import MqttBrokerSettings


def _warnings(**given: object) -> list[str]:
    settings = MqttBrokerSettings.model_validate({"mqtt_password": "hunter2", **given})
    with structlog.testing.capture_logs() as logs:
        warn_of_plaintext_login(settings)
    assert "hunter2" not in str(logs)
    return [f"{line['event']} {line['server']}" for line in logs]


def test_a_plaintext_password_to_another_machine_is_warned_of() -> None:
    assert _warnings(mqtt_host="broker.example") == ["mqtt_login_unencrypted broker.example:1883"]


def test_a_local_or_encrypted_broker_is_not_warned_of() -> None:
    assert _warnings(mqtt_host="broker.example", mqtt_tls=True) == []
    assert _warnings(mqtt_host="127.0.0.1") == []
