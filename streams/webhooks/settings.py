"""Settings of the webhooks stage."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from common.mail_settings import EmailSettings
from common.owner_limits import DeliveryLimitSettings
from common.settings import (
    EncryptionSettings,
    Port,
    S3Settings,
    WebhookAddressSettings,
)
from streams.runtime.settings import PresenceSettings, StreamSettings


def _seconds(value: Any) -> Any:
    return tuple(float(part) for part in value.split(",")) if isinstance(value, str) else value


PauseList = Annotated[tuple[float, ...], NoDecode, BeforeValidator(_seconds)]
"""Comma-separated seconds."""


class WebhooksSettings(
    StreamSettings,
    EncryptionSettings,
    WebhookAddressSettings,
    S3Settings,
    EmailSettings,
    PresenceSettings,
    DeliveryLimitSettings,
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
    service_messages_per_address_per_hour: int = Field(
        60,
        ge=0,
        description="Messages (push, chat, SMS) that one Apprise address gets in an hour; further "
        "alerts are recorded as not sent, and told with the next message. 0: any number.",
    )
    service_messages_per_owner_per_hour: int = Field(
        500,
        ge=0,
        description="Messages by services that one process sends for one owner in an hour, to all "
        "addresses together. Counted are those that a service took, until the process starts "
        "again. 0: any number.",
    )
    webhook_attempts_at_once: int = Field(
        512, ge=1, le=10_000, description="Maximum deliveries that one worker attempts at once."
    )
    webhook_attempts_per_endpoint: int = Field(
        16,
        ge=1,
        le=256,
        description="Maximum deliveries to one endpoint at once, while it is behind; one that "
        "keeps up gets them one by one, in order.",
    )
    webhook_pending_per_endpoint: int = Field(
        100_000,
        ge=1,
        description="Maximum deliveries that wait for one endpoint; further ones are given up at "
        "once and can be sent again.",
    )
    webhook_pending_in_all: int = Field(
        200_000,
        ge=2,
        description="Maximum deliveries that wait in the memory of one worker (about 2 kB each). "
        "From half of it on each unavailable endpoint gets an equal share; past that its "
        "deliveries are given up at once and can be sent again.",
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
        0, description="Port of the webhooks stage's /metrics and /healthz; 0: none."
    )
