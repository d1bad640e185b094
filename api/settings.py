"""Settings of the API process."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from analytics_sql.settings import RecognitionRetentionSettings
from api.installation_settings import InstallationSettings
from api.oidc_settings import OidcSettings
from common.mail_settings import EmailSettings
from common.owner_limits import DeliveryLimitSettings
from common.settings import (
    CameraOfflineSettings,
    ClickHouseSettings,
    DatabaseSettings,
    EncryptionSettings,
    KafkaSettings,
    NetworkList,
    Port,
    ProcessSettings,
    S3Settings,
    SampleRateSettings,
    WebhookAddressSettings,
)
from common.telemetry.settings import TraceSettings
from common.urls.camera_settings import CameraAddressSettings
from recognition.settings import RecognizerPoolSettings, all_processors_but_one

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+")


def _origins(value: object) -> object:
    """Split a comma-separated list of origins."""
    if not isinstance(value, str):
        return value
    origins = tuple(part.strip() for part in value.split(",") if part.strip())
    if any(origin != "*" and not _ORIGIN.fullmatch(origin) for origin in origins):
        raise ValueError("must be origins, for example https://app.example.com, or *")
    return origins


class OwnerLimitSettings(DeliveryLimitSettings):
    """Default limits of accounts. ``platestream owner limits`` overrides them for an account."""

    cameras_per_owner: int = Field(1000, ge=1, description="Maximum number of cameras per account.")
    frames_per_second_per_owner: int = Field(
        5000,
        ge=1,
        description="Maximum total sampling rate of an account's enabled cameras, in frames per "
        "second (sum of sampleFps).",
    )
    requests_per_minute_per_owner: int = Field(
        1000,
        ge=1,
        description="Maximum number of requests per account and minute, over all API keys and "
        "sessions. Not applied if rate limits for keys are disabled.",
    )
    image_calls_per_minute_per_owner: int = Field(
        300,
        ge=1,
        description="Maximum number of image calls per account and minute, over all API keys and "
        "sessions. Not applied if rate limits for keys are disabled.",
    )


class ApiSettings(
    OwnerLimitSettings,
    ProcessSettings,
    TraceSettings,
    DatabaseSettings,
    KafkaSettings,
    InstallationSettings,
    S3Settings,
    ClickHouseSettings,
    EncryptionSettings,
    CameraAddressSettings,
    WebhookAddressSettings,
    EmailSettings,
    OidcSettings,
    RecognitionRetentionSettings,
    SampleRateSettings,
    CameraOfflineSettings,
    RecognizerPoolSettings,
):
    """The settings of the API process."""

    api_host: str = Field("127.0.0.1", description="Address on which the API listens.")
    api_port: Port = Field(8000, description="Port on which the API listens.")
    api_cors_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = Field(
        (),
        description="Comma-separated origins whose pages may call the API with an API key, for "
        "example https://app.example.com; * allows all. Sessions are limited to the "
        "API's own pages.",
    )
    api_max_connections: int = Field(
        2000,
        ge=0,
        description="Maximum number of open client connections per API process, including event "
        "streams. Further connections get 503. One IP address can use a quarter of the "
        "limit. 0: unlimited.",
    )
    api_database_connections: int = Field(
        8, ge=2, le=200, description="Maximum number of PostgreSQL connections per API process."
    )
    api_recognition_workers: int | None = Field(
        None,
        ge=0,
        le=256,
        description="Number of inference workers per API process, for image calls. Unset: same as "
        "PLATESTREAM_RECOGNITION_WORKERS. 0: number of CPUs minus one.",
    )
    camera_subscription_credits: int = Field(
        0, ge=0, description="Credits charged per camera for 30 days; 0: free."
    )
    image_retention_days: int = Field(
        0,
        ge=0,
        description="Days to keep images. After this, they are no longer linked and are deleted "
        "from S3 one whole day (UTC) at a time. 0: keep forever.",
    )
    audit_retention_days: int = Field(
        365,
        ge=30,
        le=36_500,
        description="Days to keep audit log entries. Older ones are deleted within an hour.",
    )
    session_hours: int = Field(
        168, ge=1, le=8760, description="Hours after which a session expires."
    )
    login_attempts_per_minute: int = Field(
        5,
        ge=0,
        description="Failed logins per IP address, account and minute; 0: unlimited. The limit is "
        "six times as high per IP address over all accounts, and 20 times as high per account "
        "and hour.",
    )
    trusted_proxies: NetworkList = Field(
        (),
        description="Comma-separated CIDR ranges of reverse proxies whose X-Forwarded-For and "
        "X-Forwarded-Proto headers are trusted.",
    )
    rate_limit_per_minute: int = Field(
        100,
        ge=0,
        description="Requests per API key and minute; 0: unlimited. Image downloads are counted "
        "separately, with a limit 30 times as high.",
    )
    rate_limit_recognize_per_minute: int = Field(
        30,
        ge=0,
        description="Image calls per API key and minute; they also count as requests. 0: "
        "unlimited.",
    )
    rate_limit_store_url: SecretStr | None = Field(
        None,
        description="Redis-compatible store (redis:// or rediss://, with user and password) for "
        "shared rate limits across several API processes. Empty: each process "
        "counts separately.",
    )
    demo_enabled: bool = Field(
        True,
        description="Enable /api/demo, which reads images without an API key, at most five "
        "per minute and IP address. If false, it returns 404.",
    )

    @property
    def worker_count(self) -> int:
        """Number of inference workers of one API process."""
        if self.api_recognition_workers is None:
            return super().worker_count
        return self.api_recognition_workers or all_processors_but_one()

    @field_validator("rate_limit_store_url")
    @classmethod
    def _store_address(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("redis://", "rediss://")):
            raise ValueError("must begin with redis:// or rediss://")
        return url
