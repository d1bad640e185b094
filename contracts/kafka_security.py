"""What a Kafka client needs to be let in, as kafka-python takes it."""

from functools import cache
from typing import Any

import structlog

from contracts.clear_text import kafka_servers_in_clear
from contracts.settings import KafkaSettings

log = structlog.get_logger()


def security_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options that encrypt and log in.

    Raises:
        MisconfiguredError: a certificate file can no longer be used.
    """
    protocol = settings.kafka_security_protocol
    options: dict[str, Any] = {"security_protocol": protocol.value}
    if protocol.is_encrypted:
        options["ssl_context"] = settings.kafka_tls()
    if protocol.has_login and settings.kafka_sasl_mechanism is not None:
        options["sasl_mechanism"] = settings.kafka_sasl_mechanism.value
        options["sasl_plain_username"] = settings.kafka_sasl_username
        options["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
    return options


def warn_of_clear_text(settings: KafkaSettings) -> None:
    """Say, once in a process, where a login crosses a network that anybody may listen to."""
    if away := kafka_servers_in_clear(settings):
        _warn_of_clear_text(tuple(away))


@cache
def _warn_of_clear_text(servers: tuple[str, ...]) -> None:
    log.warning(
        "kafka_login_not_encrypted",
        servers=list(servers),
        hint="whoever listens can read and change it: SASL_SSL encrypts",
    )
