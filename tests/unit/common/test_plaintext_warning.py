"""Warnings about logins that are sent over a network without encryption."""

import pytest

from common.plaintext_warning import kafka_servers_in_clear, mqtt_server_in_clear
from common.settings import KafkaSettings, MqttLoginSettings

_PASSWORD = {"mqtt_password": "hunter2"}
_LOGIN = {
    "kafka_sasl_mechanism": "PLAIN",
    "kafka_sasl_username": "platestream",
    "kafka_sasl_password": "hunter2",
}


@pytest.mark.parametrize(
    ("host", "given", "expected"),
    [
        ("broker.example", _PASSWORD, "broker.example:1883"),
        ("10.0.0.7", {**_PASSWORD, "mqtt_port": 1884}, "10.0.0.7:1884"),
        ("broker.example", {**_PASSWORD, "mqtt_tls": True}, None),
        ("broker.example", {}, None),
        ("127.0.0.1", _PASSWORD, None),
        ("::1", _PASSWORD, None),
        ("localhost", _PASSWORD, None),
        ("broker.LOCALHOST", _PASSWORD, None),
        ("::ffff:127.0.0.1", _PASSWORD, None),
        ("", _PASSWORD, None),
    ],
)
def test_a_plaintext_password_at_the_mqtt_broker_is_found(
    host: str, given: dict[str, object], expected: str | None
) -> None:
    assert mqtt_server_in_clear(host, MqttLoginSettings.model_validate(given)) == expected


@pytest.mark.parametrize(
    ("protocol", "login", "expected"),
    [
        ("SASL_PLAINTEXT", _LOGIN, ["10.0.0.7:9092"]),
        ("SASL_SSL", _LOGIN, []),
        ("PLAINTEXT", {}, []),
    ],
)
def test_a_plaintext_login_at_kafka_is_found(
    protocol: str, login: dict[str, str], expected: list[str]
) -> None:
    settings = KafkaSettings.model_validate(
        {
            "kafka_bootstrap_servers": "10.0.0.7:9092,[::1]:9092",
            "kafka_security_protocol": protocol,
            **login,
        }
    )
    assert kafka_servers_in_clear(settings) == expected
