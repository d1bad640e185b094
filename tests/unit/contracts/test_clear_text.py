"""Which logins cross a network in the clear."""

import pytest

from contracts.clear_text import kafka_servers_in_clear, mqtt_server_in_clear
from contracts.settings import KafkaSettings, MqttLoginSettings

_PASSWORD = {"mqtt_password": "hunter2"}
_LOGIN = {
    "kafka_sasl_mechanism": "PLAIN",
    "kafka_sasl_username": "platestream",
    "kafka_sasl_password": "hunter2",
}


@pytest.mark.parametrize(
    ("host", "given", "told"),
    [
        ("broker.example", _PASSWORD, "broker.example:1883"),
        ("10.0.0.7", {**_PASSWORD, "mqtt_port": 1884}, "10.0.0.7:1884"),
        ("broker.example", {**_PASSWORD, "mqtt_tls": True}, None),
        ("broker.example", {}, None),
        ("127.0.0.1", _PASSWORD, None),
        ("::1", _PASSWORD, None),
        ("localhost", _PASSWORD, None),
        ("", _PASSWORD, None),
    ],
)
def test_a_password_at_the_mqtt_broker(
    host: str, given: dict[str, object], told: str | None
) -> None:
    assert mqtt_server_in_clear(host, MqttLoginSettings.model_validate(given)) == told


@pytest.mark.parametrize(
    ("protocol", "login", "told"),
    [
        ("SASL_PLAINTEXT", _LOGIN, ["10.0.0.7:9092"]),
        ("SASL_SSL", _LOGIN, []),
        ("PLAINTEXT", {}, []),
    ],
)
def test_a_login_at_kafka(protocol: str, login: dict[str, str], told: list[str]) -> None:
    settings = KafkaSettings.model_validate(
        {
            "kafka_bootstrap_servers": "10.0.0.7:9092,[::1]:9092",
            "kafka_security_protocol": protocol,
            **login,
        }
    )
    assert kafka_servers_in_clear(settings) == told
