"""Defines fragments of settings. A process's settings class inherits the fragments it needs.

Values come from the environment only, under the prefix ``PLATESTREAM_``: the field
``kafka_topic_prefix`` is ``PLATESTREAM_KAFKA_TOPIC_PREFIX``.
"""

import ssl
import sys
from enum import StrEnum
from typing import Annotated, Final, NoReturn, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from common.errors import EXIT_MISCONFIGURED, MisconfiguredError
from common.networks import NetworkList as NetworkList
from common.tls import tls_context

SETTING_PREFIX: Final = "PLATESTREAM_"


class Fragment(BaseSettings):
    """Base class of all settings: environment only, one prefix, immutable."""

    model_config = SettingsConfigDict(
        env_prefix=SETTING_PREFIX, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    @classmethod
    def environment_names(cls) -> dict[str, str]:
        """Return the variables that the class reads, each with the name of its field."""
        return {SETTING_PREFIX + name.upper(): name for name in cls.model_fields}


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http:// or https:// URL")
    return value.rstrip("/")


HttpUrlText = Annotated[str, AfterValidator(_http_url)]
Port = Annotated[int, Field(ge=0, le=65535)]


class LogFormat(StrEnum):
    """The format of log lines."""

    JSON = "json"
    CONSOLE = "console"


class ProcessSettings(Fragment):
    """The settings of every process."""

    log_level: str = Field(
        "info",
        pattern="^(debug|info|warning|error)$",
        description="Minimum log level. Plates are masked except at `debug`.",
    )
    log_format: LogFormat = Field(LogFormat.JSON, description="Log format: `json` or `console`.")


class KafkaProtocol(StrEnum):
    """Kafka's security protocols, under their Kafka names."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def is_encrypted(self) -> bool:
        """Whether connections use TLS."""
        return self in (KafkaProtocol.SSL, KafkaProtocol.SASL_SSL)

    @property
    def has_login(self) -> bool:
        """Whether clients authenticate."""
        return self in (KafkaProtocol.SASL_PLAINTEXT, KafkaProtocol.SASL_SSL)


class SaslMechanism(StrEnum):
    """SASL mechanisms, under their Kafka names."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


class KafkaSecuritySettings(Fragment):
    """TLS and authentication between Kafka's brokers and clients."""

    kafka_security_protocol: KafkaProtocol = Field(
        KafkaProtocol.PLAINTEXT,
        description="Security protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. Anyone who can "
        "write to Kafka can open gates: use PLAINTEXT only on a network that is closed to others.",
    )
    kafka_ca_file: str = Field(
        "",
        description="PEM file with CA certificates for Kafka; empty: the system's.",
    )
    kafka_client_certificate_file: str = Field(
        "",
        description="PEM file with the client certificate for Kafka and its key, without a "
        "passphrase.",
    )
    kafka_sasl_mechanism: SaslMechanism | None = Field(
        None, description="SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."
    )
    kafka_sasl_username: str = Field("", description="SASL user name.")
    kafka_sasl_password: SecretStr = Field(SecretStr(""), description="SASL password.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        faults = [*self._login_faults(), *self._tls_faults()]
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _login_faults(self) -> list[str]:
        protocol, password = self.kafka_security_protocol, self.kafka_sasl_password
        given = {
            "PLATESTREAM_KAFKA_SASL_MECHANISM": self.kafka_sasl_mechanism is not None,
            "PLATESTREAM_KAFKA_SASL_USERNAME": bool(self.kafka_sasl_username),
            "PLATESTREAM_KAFKA_SASL_PASSWORD": bool(password.get_secret_value()),
        }
        if protocol.has_login:
            return [
                f"{name}: is required with PLATESTREAM_KAFKA_SECURITY_PROTOCOL={protocol}"
                for name, is_given in given.items()
                if not is_given
            ]
        return [
            f"{name}: must not be set with PLATESTREAM_KAFKA_SECURITY_PROTOCOL={protocol}, "
            "which has no authentication"
            for name, is_given in given.items()
            if is_given
        ]

    def _tls_faults(self) -> list[str]:
        protocol = self.kafka_security_protocol
        given = {
            "PLATESTREAM_KAFKA_CA_FILE": self.kafka_ca_file,
            "PLATESTREAM_KAFKA_CLIENT_CERTIFICATE_FILE": self.kafka_client_certificate_file,
        }
        if not protocol.is_encrypted:
            return [
                f"{name}: must not be set with PLATESTREAM_KAFKA_SECURITY_PROTOCOL={protocol}, "
                "which has no encryption"
                for name, file in given.items()
                if file
            ]
        try:
            self.kafka_tls()
        except MisconfiguredError as error:
            return [str(error)]
        return []

    def kafka_tls(self) -> ssl.SSLContext | None:
        """Return the TLS context for brokers, read from the files, or None without TLS.

        Raises:
            MisconfiguredError: a file cannot be used.
        """
        if not self.kafka_security_protocol.is_encrypted:
            return None
        return tls_context(self.kafka_ca_file, self.kafka_client_certificate_file)


class KafkaSettings(KafkaSecuritySettings):
    """Kafka's address and the configuration of its topics."""

    kafka_bootstrap_servers: str = Field(
        "127.0.0.1:19092",
        min_length=3,
        description="Comma-separated host:port list of Kafka brokers.",
    )
    kafka_topic_prefix: str = Field(
        "",
        pattern=r"^[A-Za-z0-9._-]*$",
        description="Prefix of all topic and consumer group names, for sharing a cluster between "
        "installations.",
    )
    kafka_partitions: int = Field(
        8,
        ge=1,
        le=512,
        description="Number of partitions of each topic at creation. Limits the number of "
        "workers per stage.",
    )
    kafka_replication_factor: int | None = Field(
        None,
        ge=1,
        le=7,
        description="Replication factor of new topics. Unset: the number of brokers, up to three.",
    )
    kafka_max_message_bytes: int = Field(
        8_388_608,
        ge=1_048_576,
        description="Maximum record size, applied to producers, topics and consumers. External "
        "brokers must allow it.",
    )


class S3Settings(Fragment):
    """The S3 service in which images are stored."""

    s3_endpoint: HttpUrlText = Field(
        "http://127.0.0.1:19000", description="S3 endpoint URL, as seen by the processes."
    )
    s3_public_endpoint: HttpUrlText | None = Field(
        None,
        description="S3 endpoint URL, as seen by API clients; presigned URLs use it. Unset: "
        "same as PLATESTREAM_S3_ENDPOINT.",
    )
    s3_region: str = Field("us-east-1", description="S3 region.")
    s3_bucket: str = Field("platestream", min_length=3, description="S3 bucket for images.")
    s3_access_key: str = Field("platestream", description="S3 access key ID.")
    s3_secret_key: SecretStr = Field(description="S3 secret access key.")


class ClickHouseLoginSettings(Fragment):
    """The ClickHouse user of the service."""

    clickhouse_user: str = Field("platestream", min_length=1, description="ClickHouse user name.")
    clickhouse_password: SecretStr = Field(description="ClickHouse password.")


class ClickHouseSettings(ClickHouseLoginSettings):
    """The ClickHouse server that stores recognitions."""

    clickhouse_url: HttpUrlText = Field(
        "http://127.0.0.1:18123", description="HTTP URL of the ClickHouse server."
    )
    clickhouse_database: str = Field(
        "platestream", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="ClickHouse database name."
    )
    clickhouse_cluster: str = Field(
        "",
        pattern=r"^([A-Za-z_][A-Za-z0-9_-]*)?$",
        description="Name of the ClickHouse cluster, as in the server configuration, on which "
        "the schema is created. Empty: single server. Cannot be changed later.",
    )


class DatabaseSettings(Fragment):
    """The database that stores the configuration."""

    database_url: SecretStr = Field(
        description="PostgreSQL URL, postgresql://user:password@host:port/database."
    )


class MqttLoginSettings(Fragment):
    """Port and login of the MQTT broker."""

    mqtt_port: Port = Field(1883, description="Port of the MQTT broker; usually 8883 with TLS.")
    mqtt_tls: bool = Field(False, description="Use TLS for the MQTT connection.")
    mqtt_user: str = Field(
        "", description="User name for the MQTT broker; empty: no authentication."
    )
    mqtt_password: SecretStr = Field(SecretStr(""), description="Password for the MQTT broker.")


class EncryptionSettings(Fragment):
    """The keys that encrypt stream URLs and signing secrets in the database and on topics."""

    secret_key: SecretStr = Field(
        description="Fernet key (32 bytes, URL-safe base64) that encrypts stored secrets. For "
        "rotation, give several, separated by commas: the first encrypts, all "
        "decrypt."
    )


class SampleRateSettings(Fragment):
    """The sampling rate of cameras."""

    ingest_sample_fps: float = Field(
        5.0,
        gt=0,
        le=60,
        description="Default sampling rate of cameras, in frames per second.",
    )


class CameraOfflineSettings(Fragment):
    """The time after which a camera is offline."""

    camera_offline_seconds: float = Field(
        15.0, ge=1, le=3600, description="Time without a frame after which a camera is offline."
    )


class WebhookAddressSettings(Fragment):
    """Private networks to which deliveries can be sent (see common.urls.outbound)."""

    webhook_allowed_networks: NetworkList = Field(
        (),
        description="Comma-separated CIDR ranges of private networks to which webhooks can be "
        "sent, for example 10.0.0.0/8.",
    )


_S = TypeVar("_S", bound=BaseSettings)


def load_settings(settings_type: type[_S]) -> _S:
    """Return a process's settings from the environment, or exit.

    All errors are written to standard error, one line each, without values. The exit status is 78
    (EX_CONFIG of sysexits.h).
    """
    try:
        return settings_type()
    except ValidationError as error:
        _exit_with_faults(error)


def _exit_with_faults(error: ValidationError) -> NoReturn:
    for fault in error.errors(include_input=False, include_url=False):
        name = SETTING_PREFIX + "_".join(str(part) for part in fault["loc"]).upper()
        # Errors about combinations of settings begin with their names.
        sentences = fault["msg"].removeprefix("Value error, ")
        for line in (f"{name}: {fault['msg']}",) if fault["loc"] else sentences.splitlines():
            sys.stderr.write(f"setting {line}\n")
    raise SystemExit(EXIT_MISCONFIGURED) from error
