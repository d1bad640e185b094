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
    """Limits of accounts that have none of their own (``platestream owner limits``)."""

    cameras_per_owner: int = Field(1000, ge=1, description="Cameras that one owner may have.")
    frames_per_second_per_owner: int = Field(
        5000,
        ge=1,
        description="Frames a second that one owner's enabled cameras may ask for in all: the sum "
        "of their sampleFps.",
    )
    requests_per_minute_per_owner: int = Field(
        1000,
        ge=1,
        description="Requests that one owner may make in a minute, with all keys and sessions "
        "together, unless keys have no limit.",
    )
    image_calls_per_minute_per_owner: int = Field(
        300,
        ge=1,
        description="Image calls that one owner may make in a minute, with all keys and sessions "
        "together, unless keys have no limit.",
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
        description="Comma-separated origins (https://app.example.com) whose pages may call the "
        "API with a key, or * for all; sessions stay with the API's own pages.",
    )
    api_max_connections: int = Field(
        2000,
        ge=0,
        description="Connections of callers that one API process has at once, streams included; "
        "what is beyond is answered with 503 and closed; 0: any number.",
    )
    api_database_connections: int = Field(
        8, ge=2, le=200, description="PostgreSQL connections of one API process, at most."
    )
    api_recognition_workers: int | None = Field(
        None,
        ge=0,
        le=256,
        description="Recogniser processes of one API process, for image calls; unset: as "
        "PLATESTREAM_RECOGNITION_WORKERS says; 0: one less than there are processors.",
    )
    camera_subscription_credits: int = Field(
        0, ge=0, description="Credits that each camera costs for 30 days; 0: nothing."
    )
    image_retention_days: int = Field(
        0,
        ge=0,
        description="Days after which images are no longer linked; they are deleted from S3 at the "
        "end of the day (UTC) on which the last of their day is so old. 0: never.",
    )
    audit_retention_days: int = Field(
        365,
        ge=30,
        le=36_500,
        description="Days for which the audit log is kept; older entries are deleted within an "
        "hour.",
    )
    session_hours: int = Field(
        168, ge=1, le=8760, description="How long a session lasts after logging in."
    )
    login_attempts_per_minute: int = Field(
        5,
        ge=0,
        description="Attempts by one address for one account that may fail; 0: any number.",
    )
    trusted_proxies: NetworkList = Field(
        (),
        description="Comma-separated CIDR ranges of the proxies whose X-Forwarded-For and "
        "X-Forwarded-Proto are used.",
    )
    rate_limit_per_minute: int = Field(
        100, ge=0, description="Requests that one key may make in a minute; 0: any number."
    )
    rate_limit_recognize_per_minute: int = Field(
        30,
        ge=0,
        description="Image calls that one key may make in a minute; they count in the limit of "
        "all requests as well; 0: any number.",
    )
    rate_limit_store_url: SecretStr | None = Field(
        None,
        description="Redis-compatible store (redis:// or rediss://, with user and password) in "
        "which several API processes count together, failed attempts to log in and refused keys "
        "included; without it each counts in its memory.",
    )
    demo_enabled: bool = Field(
        True, description="Whether /api/demo reads images for anybody; off, it answers 404."
    )

    @property
    def worker_count(self) -> int:
        """Recogniser processes of one API process."""
        if self.api_recognition_workers is None:
            return super().worker_count
        return self.api_recognition_workers or all_processors_but_one()

    @field_validator("rate_limit_store_url")
    @classmethod
    def _store_address(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("redis://", "rediss://")):
            raise ValueError("must begin with redis:// or rediss://")
        return url
