"""What a Kafka client needs to be let in, as kafka-python takes it."""

import ipaddress
from functools import cache
from typing import Any

import structlog

from contracts.settings import KafkaProtocol, KafkaSettings

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
    if settings.kafka_security_protocol is KafkaProtocol.SASL_PLAINTEXT:
        _warn_of_clear_text(settings.kafka_bootstrap_servers)


@cache
def _warn_of_clear_text(servers: str) -> None:
    away = [server for server, host, _ in broker_addresses(servers) if not _is_loopback(host)]
    if away:
        log.warning(
            "kafka_login_not_encrypted",
            servers=away,
            hint="whoever listens can read and change it: SASL_SSL encrypts",
        )


def broker_addresses(servers: str) -> list[tuple[str, str, int]]:
    """Return each broker of a comma-separated list: as it stands there, its host and its port."""
    found = []
    for server in (part.strip() for part in servers.split(",")):
        host, _, port = server.rpartition(":")
        found.append((server, host.strip("[]"), int(port)))
    return found


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
