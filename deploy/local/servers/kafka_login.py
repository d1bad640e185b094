"""Sets up the login to the embedded Kafka, whose ports other users of the machine can reach."""

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from common.errors import MisconfiguredError

if TYPE_CHECKING:
    from common.settings import KafkaSettings

LISTENER: Final = "SASL_PLAINTEXT"
MECHANISM: Final = "SCRAM-SHA-512"
"""The clients' mechanism. A process that occupies the broker's port does not get the password."""

ADMINISTRATOR: Final = "administrator"
_ADMINISTRATORS_MECHANISM: Final = "PLAIN"
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_ITERATIONS: Final = 4096
_KNOWN_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True)
class KafkaLogin:
    """The credentials of the service's user, and of an administrator who sets the user's password.

    Kafka stores SCRAM users in its data, so another login is needed to create the first user. The
    administrator's password is in the configuration and changes with each start.
    """

    user: str
    password: str = field(repr=False)
    administrators_password: str = field(
        default_factory=lambda: secrets.token_urlsafe(24), repr=False
    )

    def properties(self) -> str:
        """Return the part of the broker configuration that makes clients log in."""
        administrator = (
            f'{_PLAIN} username="{ADMINISTRATOR}" password="{self.administrators_password}"'
            f' user_{ADMINISTRATOR}="{self.administrators_password}";'
        )
        clients, controller = f"listener.name.{LISTENER.lower()}", "listener.name.controller"
        lines = (
            f"listener.security.protocol.map={LISTENER}:{LISTENER},CONTROLLER:{LISTENER}",
            f"inter.broker.listener.name={LISTENER}",
            f"sasl.mechanism.inter.broker.protocol={_ADMINISTRATORS_MECHANISM}",
            f"sasl.mechanism.controller.protocol={_ADMINISTRATORS_MECHANISM}",
            f"{clients}.sasl.enabled.mechanisms={_ADMINISTRATORS_MECHANISM},{MECHANISM}",
            f"{clients}.{MECHANISM.lower()}.sasl.jaas.config={_SCRAM};",
            f"{clients}.plain.sasl.jaas.config={administrator}",
            f"{controller}.sasl.enabled.mechanisms={_ADMINISTRATORS_MECHANISM}",
            f"{controller}.plain.sasl.jaas.config={administrator}",
        )
        return "\n".join(lines)

    def settings(self, bootstrap_servers: str) -> "KafkaSettings":
        """Return Kafka settings to log in as the service's user."""
        return _settings(bootstrap_servers, MECHANISM, self.user, self.password)

    def administrators_settings(self, bootstrap_servers: str) -> "KafkaSettings":
        """Return Kafka settings to log in as the administrator."""
        return _settings(
            bootstrap_servers,
            _ADMINISTRATORS_MECHANISM,
            ADMINISTRATOR,
            self.administrators_password,
        )

    def ensure(self, bootstrap_servers: str) -> None:
        """Set the service's password in the broker, unless the service can already log in.

        Raises:
            MisconfiguredError: Kafka still rejects the service's login after the password is set.
            TransientError: Kafka is not responding.
        """
        # Imported here because the import takes longer than the rest of a command such as `status`.
        from common.kafka.security import require_reachable

        service = self.settings(bootstrap_servers)
        try:
            require_reachable(service)
            return
        except MisconfiguredError:
            self._add_user(bootstrap_servers)
        deadline = time.monotonic() + _KNOWN_SECONDS
        while True:
            try:
                require_reachable(service)
                return
            except MisconfiguredError:
                if time.monotonic() > deadline:
                    raise
                # The controller has stored the user, but the broker may not know it yet.
                time.sleep(_POLL_SECONDS)

    def _add_user(self, bootstrap_servers: str) -> None:
        from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

        from common.kafka.clients import open_admin

        mechanism = ScramMechanism[MECHANISM.replace("-", "_")]
        user = UserScramCredentialUpsertion(
            self.user, mechanism, self.password, iterations=_ITERATIONS
        )
        admin = open_admin(self.administrators_settings(bootstrap_servers), "local-logins")
        try:
            admin.alter_user_scram_credentials([user])
        finally:
            admin.close()


def _settings(bootstrap_servers: str, mechanism: str, user: str, password: str) -> "KafkaSettings":
    from common.settings import KafkaSettings

    return KafkaSettings.model_validate(
        {
            "kafka_bootstrap_servers": bootstrap_servers,
            "kafka_security_protocol": LISTENER,
            "kafka_sasl_mechanism": mechanism,
            "kafka_sasl_username": user,
            "kafka_sasl_password": password,
        }
    )
