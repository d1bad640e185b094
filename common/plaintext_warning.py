"""Logins that cross a network in the clear, where anybody may listen to them."""

from common.networks import is_own_machine
from common.settings import KafkaProtocol, KafkaSettings, MqttLoginSettings


def kafka_servers_in_clear(settings: KafkaSettings) -> list[str]:
    """Return the brokers, as the settings name them, that get a login unencrypted from afar."""
    if settings.kafka_security_protocol is not KafkaProtocol.SASL_PLAINTEXT:
        return []
    servers = broker_addresses(settings.kafka_bootstrap_servers)
    return [server for server, host, _ in servers if not is_own_machine(host.lower())]


def mqtt_server_in_clear(host: str, settings: MqttLoginSettings) -> str | None:
    """Return the MQTT broker as host:port if it gets a password unencrypted from afar.

    ``host`` is empty where there is no broker.
    """
    if not host or settings.mqtt_tls or is_own_machine(host.lower()):
        return None
    if not settings.mqtt_password.get_secret_value():
        return None
    return f"{host}:{settings.mqtt_port}"


def broker_addresses(servers: str) -> list[tuple[str, str, int]]:
    """Return each broker of a comma-separated list: as it stands there, its host and its port."""
    found = []
    for server in (part.strip() for part in servers.split(",")):
        host, _, port = server.rpartition(":")
        found.append((server, host.strip("[]"), int(port)))
    return found
