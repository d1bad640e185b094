"""Configures access to Kafka, and checks this access before a client is created.

If a certificate is not trusted or a password is wrong, kafka-python and aiokafka retry forever, and
the reason is hard to find in their logs. kafka-python 3.0.12 also leaks a thread and sockets when a
client cannot be created.
"""

import socket
import ssl
import struct
from functools import cache
from typing import Any

import structlog
from kafka.errors import (
    IllegalSaslStateError,
    NoError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    for_code,
)
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from common.errors import MisconfiguredError, PlatestreamError, TransientError
from common.plaintext_warning import broker_addresses, kafka_servers_in_clear
from common.settings import KafkaProtocol, KafkaSettings

log = structlog.get_logger()


def security_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options for encryption and login.

    Raises:
        MisconfiguredError: a certificate file has become unusable.
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


def warn_unencrypted_login(settings: KafkaSettings) -> None:
    """Log a warning once per process if a login is sent over an unencrypted connection."""
    if servers := kafka_servers_in_clear(settings):
        _warn_of_clear_text(tuple(servers))


@cache
def _warn_of_clear_text(servers: tuple[str, ...]) -> None:
    log.warning(
        "kafka_login_unencrypted",
        servers=list(servers),
        hint="the connection can be read and modified in transit; use SASL_SSL",
    )


_REACHABLE_SECONDS = 2.0
_ANSWER_SECONDS = 5.0
_MAX_ANSWER_BYTES = 1024 * 1024


def require_reachable(settings: KafkaSettings) -> None:
    """Return once a broker has accepted a connection, and the TLS handshake or login if required.

    Raises:
        TransientError: no broker accepted a connection.
        MisconfiguredError: no broker accepted a connection, and at least one denied access for a
            reason that a retry does not fix.
    """
    warn_unencrypted_login(settings)
    faults: list[PlatestreamError] = []
    for server, host, port in broker_addresses(settings.kafka_bootstrap_servers):
        try:
            return _knock(settings, server, host, port)
        except PlatestreamError as error:
            faults.append(error)
    refusals = [fault for fault in faults if isinstance(fault, MisconfiguredError)]
    raise (refusals or faults)[0]


def _knock(settings: KafkaSettings, server: str, host: str, port: int) -> None:
    try:
        connection = socket.create_connection((host, port), _REACHABLE_SECONDS)
    except OSError as error:
        raise TransientError("no Kafka broker is responding") from error
    with connection:
        if settings.kafka_security_protocol is KafkaProtocol.PLAINTEXT:
            return
        connection.settimeout(_ANSWER_SECONDS)
        try:
            _enter(settings, server, connection, host)
        except ssl.SSLCertVerificationError as error:
            raise MisconfiguredError(
                f"the certificate of the Kafka broker at {server} is not trusted: "
                f"{error.verify_message}"
            ) from error
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError, TimeoutError) as error:
            raise TransientError(
                f"Kafka at {server} closed the connection or is not responding: it may be "
                f"starting, or require a security protocol other than "
                f"{settings.kafka_security_protocol}, or a client certificate"
            ) from error
        except ssl.SSLError as error:
            raise _no_tls(server, error.reason) from error
        except OSError as error:
            raise TransientError(f"Kafka at {server} cannot be reached: {error}") from error


def _no_tls(server: str, reason: str) -> MisconfiguredError:
    if "ALERT" in reason and "CERTIFICATE" in reason:
        # Kafka sends the same TLS alert if it received no certificate.
        return MisconfiguredError(
            f"Kafka at {server} rejected the certificate in "
            f"PLATESTREAM_KAFKA_CLIENT_CERTIFICATE_FILE: {reason}"
        )
    return MisconfiguredError(f"TLS connection to Kafka at {server} failed: {reason}")


def _enter(settings: KafkaSettings, server: str, connection: socket.socket, host: str) -> None:
    options = security_options(settings)
    context: ssl.SSLContext | None = options.get("ssl_context")
    if context is None:
        _greet(settings, connection, server, options)
    else:
        with context.wrap_socket(connection, server_hostname=host) as encrypted:
            _greet(settings, encrypted, server, options)


def _greet(
    settings: KafkaSettings, connection: socket.socket, server: str, options: dict[str, Any]
) -> None:
    dialogue = _Dialogue(connection, server)
    if settings.kafka_security_protocol.has_login:
        dialogue.log_in(options)
    else:
        dialogue.enter_without_login()


class _Dialogue:
    """Exchanges requests and responses, one at a time.

    **Source:** Kafka protocol guide, "SASL authentication sequence": ApiVersions may come first. A
    listener without a login responds to SaslHandshake with ILLEGAL_SASL_STATE.
    """

    def __init__(self, connection: socket.socket, server: str) -> None:
        self._connection = connection
        self._server = server

    def enter_without_login(self) -> None:
        # With TLS 1.3, only a response shows that the client certificate was accepted.
        self._ask(ApiVersionsRequest(), ApiVersionsResponse, version=0)
        try:
            answer = self._ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 1)
        except OSError:
            return  # Unlike Apache Kafka, some brokers disconnect if no login is required.
        if for_code(answer.error_code) is not IllegalSaslStateError:
            raise MisconfiguredError(
                f"Kafka at {self._server} requires authentication; set "
                "PLATESTREAM_KAFKA_SECURITY_PROTOCOL=SASL_SSL"
            )

    def log_in(self, options: dict[str, Any]) -> None:
        wanted = options["sasl_mechanism"]
        self._agree(wanted)
        mechanism = get_sasl_mechanism(wanted)(host=None, **options)
        while not mechanism.is_done():
            request = SaslAuthenticateRequest(mechanism.auth_bytes())
            answer = self._ask(request, SaslAuthenticateResponse, version=0)
            self._require_login(for_code(answer.error_code))
            try:
                mechanism.receive(answer.auth_bytes)
            except (ValueError, KeyError) as error:
                raise MisconfiguredError(
                    f"Kafka at {self._server} could not prove that it knows the password"
                ) from error

    def _agree(self, wanted: str) -> None:
        answer = self._ask(SaslHandshakeRequest(mechanism=wanted), SaslHandshakeResponse, 1)
        error = for_code(answer.error_code)
        if error is UnsupportedSaslMechanismError:
            raise MisconfiguredError(
                f"Kafka at {self._server} does not support {wanted}, only "
                f"{', '.join(answer.mechanisms)}; set PLATESTREAM_KAFKA_SASL_MECHANISM"
            )
        if error is IllegalSaslStateError:
            raise MisconfiguredError(
                f"Kafka at {self._server} does not support authentication; check "
                "PLATESTREAM_KAFKA_SECURITY_PROTOCOL"
            )
        self._require_login(error)

    def _require_login(self, error: type[Exception]) -> None:
        if error is SaslAuthenticationFailedError:
            raise MisconfiguredError(
                f"Kafka at {self._server} rejected PLATESTREAM_KAFKA_SASL_USERNAME and "
                "PLATESTREAM_KAFKA_SASL_PASSWORD"
            )
        if error is not NoError:
            raise TransientError(
                f"authentication with Kafka at {self._server} failed: {error.__name__}"
            )

    def _ask(self, request: Any, response: Any, version: int) -> Any:
        request.API_VERSION = version
        request.with_header(client_id="platestream-probe")
        self._connection.sendall(request.encode(version=version, header=True, framed=True))
        (size_bytes,) = struct.unpack(">i", self._receive(4))
        if not 0 < size_bytes <= _MAX_ANSWER_BYTES:
            raise MisconfiguredError(
                f"the server at {self._server} is not Kafka, or requires a different "
                "PLATESTREAM_KAFKA_SECURITY_PROTOCOL"
            )
        return response.decode(self._receive(size_bytes), version=version, header=True)

    def _receive(self, size_bytes: int) -> bytes:
        received = b""
        while len(received) < size_bytes:
            part = self._connection.recv(size_bytes - len(received))
            if not part:
                raise ConnectionResetError("the connection was closed in the middle of a response")
            received += part
        return received
