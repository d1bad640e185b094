"""Kafka that also listens with TLS and with logins, for clients with credentials."""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from common.kafka.clients import open_admin
from common.settings import KafkaSettings
from deploy.local.ports import free_ports
from deploy.local.servers.base import PortUse
from deploy.local.servers.kafka import KafkaServer
from tests.services.authority import Authority
from tests.services.process import ServerProcess

USER, PASSWORD = "platestream", "for-tests,only="
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_PARTITIONS = 4


@dataclass(frozen=True, kw_only=True)
class SecureKafkaServer(KafkaServer):
    """The embedded broker with more listeners. ``listeners`` maps a listener's name to its port.

    ``MUTUAL`` is TLS with a client certificate; the other names are protocols.
    """

    authority: Authority
    listeners: dict[str, int]

    def ports(self) -> tuple[PortUse, ...]:
        return (*super().ports(), *(PortUse(port, "none") for port in self.listeners.values()))

    def initialise(self) -> None:
        """Set the user's SCRAM password. The configuration contains the PLAIN password."""
        # A real server sets this password when it formats its folder; here, an administrator does.
        clear = KafkaSettings.model_validate({"kafka_bootstrap_servers": self.bootstrap_servers})
        admin = open_admin(clear, "users")
        for name in _SCRAM_MECHANISMS:
            mechanism = ScramMechanism[name.replace("-", "_")]
            login = UserScramCredentialUpsertion(USER, mechanism, PASSWORD, iterations=4096)
            answer = admin.alter_user_scram_credentials([login])
            assert answer == {USER: None}, answer
        admin.close()

    def _write_properties(self, name: str, data: Path) -> Path:
        path = super()._write_properties(name, data)
        # Java uses the last value of a property that is set twice.
        path.write_text("\n".join((path.read_text(), *self._security(), "")))
        return path

    def _security(self) -> list[str]:
        listeners = {"PLAINTEXT": self.port} | self.listeners
        clients = [f"{name}://127.0.0.1:{port}" for name, port in listeners.items()]
        protocols = {name: name for name in listeners} | {"MUTUAL": "SSL"}
        return [
            f"listeners={','.join(clients)},CONTROLLER://127.0.0.1:{self.controller_port}",
            f"advertised.listeners={','.join(clients)}",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,"
            + ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={self.authority.server_file}",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self.authority.ca_file}",
            "listener.name.mutual.ssl.client.auth=required",
            f"sasl.enabled.mechanisms={','.join(('PLAIN', *_SCRAM_MECHANISMS))}",
            *(line for name in ("sasl_ssl", "sasl_plaintext") for line in _logins(name)),
        ]


def _logins(listener: str) -> list[str]:
    begin = f"listener.name.{listener}"
    return [
        f'{begin}.plain.sasl.jaas.config={_PLAIN} required user_{USER}="{PASSWORD}";',
        *(
            f"{begin}.{mechanism.lower()}.sasl.jaas.config={_SCRAM} required;"
            for mechanism in _SCRAM_MECHANISMS
        ),
    ]


class SecureKafka(ServerProcess):
    """A running :class:`SecureKafkaServer`, as a context manager."""

    def __init__(self, directory: Path) -> None:
        """Choose ports, and create a certificate authority in ``directory``."""
        directory.mkdir(parents=True, exist_ok=True)
        port, controller_port, *ports = free_ports(6)
        self.authority = Authority.make(directory)
        self.listeners = dict(
            zip(("SSL", "MUTUAL", "SASL_SSL", "SASL_PLAINTEXT"), ports, strict=True)
        )
        server = SecureKafkaServer(
            directory=directory / "kafka",
            port=port,
            controller_port=controller_port,
            authority=self.authority,
            listeners=self.listeners,
        )
        super().__init__(server, directory / "logs")
        self.plaintext_port = port

    def settings(self, listener: str, *, host: str = "127.0.0.1", **more: Any) -> KafkaSettings:
        """Return the settings of a client for a listener, with a separate topic prefix.

        ``more`` are settings without the prefix ``kafka_``. They override defaults, and None
        removes a setting.
        """
        given: dict[str, Any] = {"security_protocol": "SSL" if listener == "MUTUAL" else listener}
        if not listener.endswith("PLAINTEXT"):
            given["ca_file"] = str(self.authority.ca_file)
        if listener == "MUTUAL":
            given["client_certificate_file"] = str(self.authority.server_file)
        if listener.startswith("SASL"):
            given |= {"sasl_username": USER, "sasl_password": PASSWORD}
            given["sasl_mechanism"] = "SCRAM-SHA-512"
        port = {"PLAINTEXT": self.plaintext_port, **self.listeners}[listener]
        given |= {
            "bootstrap_servers": f"{host}:{port}",
            "topic_prefix": f"test-{uuid.uuid4().hex[:12]}-",
            "partitions": _PARTITIONS,
        }
        given |= more
        return KafkaSettings.model_validate(
            {f"kafka_{name}": value for name, value in given.items() if value is not None}
        )
