"""Finds logins that are sent unencrypted over a network."""

from common.networks import is_own_machine
from common.settings import KafkaProtocol, KafkaSettings, MqttLoginSettings


def kafka_servers_in_clear(settings: KafkaSettings) -> list[str]:
    """Return the remote brokers, as in the settings, that receive an unencrypted login."""
    if settings.kafka_security_protocol is not KafkaProtocol.SASL_PLAINTEXT:
        return []
    servers = broker_addresses(settings.kafka_bootstrap_servers)
    return [server for server, host, _ in servers if not is_own_machine(host.lower())]


def mqtt_server_in_clear(host: str, settings: MqttLoginSettings) -> str | None:
    """Return host:port of the MQTT broker if a password is sent to it unencrypted, otherwise None.

    A broker on this machine does not count. ``host`` is empty if there is no broker.
    """
    if not host or settings.mqtt_tls or is_own_machine(host.lower()):
        return None
    if not settings.mqtt_password.get_secret_value():
        return None
    return f"{host}:{settings.mqtt_port}"


def broker_addresses(servers: str) -> list[tuple[str, str, int]]:
    """Return each broker of a comma-separated list as text, with its host and port."""
    found = []
    for server in (part.strip() for part in servers.split(",")):
        host, _, port = server.rpartition(":")
        found.append((server, host.strip("[]"), int(port)))
    return found
