"""Settings of the webhooks stage."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from contracts.settings import (
    EncryptionSettings,
    Fragment,
    Port,
    S3Settings,
    WebhookAddressSettings,
)
from streams.common.settings import PresenceSettings, StreamSettings


def _seconds(value: Any) -> Any:
    return tuple(float(part) for part in value.split(",")) if isinstance(value, str) else value


PauseList = Annotated[tuple[float, ...], NoDecode, BeforeValidator(_seconds)]
"""Comma-separated seconds."""


class MailEncryption(StrEnum):
    """How the connection to the SMTP server is protected."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class MailSettings(Fragment):
    """The SMTP server that e-mail of alerts goes through."""

    smtp_host: str = Field("", description="SMTP server for e-mail of alerts; empty: none is sent.")
    smtp_port: Port = Field(587, description="Port of the SMTP server.")
    smtp_encryption: MailEncryption = Field(
        MailEncryption.STARTTLS,
        description="starttls, tls (from the first byte, usually port 465) or none.",
    )
    smtp_user: str = Field("", description="User at the SMTP server; empty: without logging in.")
    smtp_password: SecretStr = Field(SecretStr(""), description="Password at the SMTP server.")
    smtp_from: str = Field(
        "Platestream <platestream@localhost>", description="Sender of e-mail of alerts."
    )
    smtp_ca_file: str = Field(
        "",
        description="File of certificates (PEM) to trust at the SMTP server; empty: the system's.",
    )
    mail_per_address_per_hour: int = Field(
        20,
        ge=1,
        description="E-mails that one address gets in an hour; further alerts are recorded as not "
        "sent.",
    )
    mail_per_owner_per_hour: int = Field(
        500,
        ge=0,
        description="E-mails that one worker sends for one owner in an hour, to all addresses "
        "together; further ones are recorded as not sent and can be sent again. Counted are those "
        "that the server took, until the worker starts anew. 0: any number.",
    )
    public_url: str = Field(
        "http://127.0.0.1:8000",
        description="Address of the API as people reach it, for links in e-mail.",
    )


class WebhooksSettings(
    StreamSettings,
    EncryptionSettings,
    WebhookAddressSettings,
    S3Settings,
    MailSettings,
    PresenceSettings,
):
    """Settings of one worker of the webhooks stage."""

    webhook_timeout_seconds: float = Field(
        10.0, gt=0, le=60, description="How long a receiver may take for one delivery, all in all."
    )
    webhook_retry_seconds: PauseList = Field(
        (5, 30, 120, 600, 3600, 10_800, 28_800, 86_400),
        description="Comma-separated pauses in seconds between the attempts of a delivery, each "
        "taken with 20 % jitter; after the last one it is given up.",
    )
    webhook_attempts_at_once: int = Field(
        512, ge=1, le=10_000, description="Most deliveries that one worker tries at once."
    )
    webhook_attempts_per_endpoint: int = Field(
        16,
        ge=1,
        le=256,
        description="Most deliveries to one endpoint at once, while it is behind; one that keeps "
        "up gets them one by one, in order.",
    )
    webhook_pending_per_endpoint: int = Field(
        100_000,
        ge=1,
        description="Most deliveries that wait for one endpoint; further ones are given up at once "
        "and can be sent again.",
    )
    webhook_pending_in_all: int = Field(
        200_000,
        ge=2,
        description="Most deliveries that wait in the memory of one worker (about 2 kB each, an "
        "alert with a list of 1,000 plates 12 kB). From half of it on each endpoint that is away "
        "gets an equal share; past that its deliveries are given up at once and can be sent again.",
    )
    webhook_switch_off_failures: int = Field(
        20,
        ge=1,
        description="After so many failed attempts in a row a webhook is switched off,"
        " if they span webhook_switch_off_seconds.",
    )
    webhook_switch_off_seconds: float = Field(
        86_400.0, ge=0, description="How long a webhook must have failed to be switched off."
    )
    webhooks_metrics_port: Port = Field(
        0, description="Local port of the webhooks stage's Prometheus metrics; 0: none."
    )
