"""Settings of the webhooks stage."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from common.mail_settings import EmailSettings
from common.owner_limits import DeliveryLimitSettings
from common.settings import (
    CameraOfflineSettings,
    EncryptionSettings,
    S3Settings,
    WebhookAddressSettings,
)
from streams.runtime.settings import StreamSettings


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
    CameraOfflineSettings,
    DeliveryLimitSettings,
):
    """Settings of one worker of the webhooks stage."""

    webhook_timeout_seconds: float = Field(
        10.0, gt=0, le=60, description="Timeout of a delivery attempt, including the response."
    )
    webhook_retry_seconds: PauseList = Field(
        (5, 30, 120, 600, 3600, 10_800, 28_800, 86_400),
        description="Comma-separated pauses between delivery attempts, in seconds, with 20 % "
        "jitter. After the last attempt, the delivery has failed.",
    )
