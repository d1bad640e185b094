"""A webhook as the delivering stage is to serve it."""

from enum import StrEnum
from uuid import UUID

from contracts.records import Record


class EventName(StrEnum):
    """The events that webhooks can be told of."""

    RECOGNITION_CREATED = "recognition.created"
    ALERT_TRIGGERED = "alert.triggered"
    ALERT_CONFIRMED = "alert.confirmed"
    ALERT_CORRECTED = "alert.corrected"
    """Goes to whom alert.triggered goes, and is not subscribed to by itself."""
    CAMERA_ONLINE = "camera.online"
    CAMERA_OFFLINE = "camera.offline"


class WebhookConfig(Record, frozen=True, kw_only=True):
    """On config-webhooks (compacted, key = webhook id; an empty value deletes the webhook).

    The encrypted fields open with :class:`contracts.secrets.SecretBox`; that of ``headers``
    holds a JSON object of strings. ``revision`` grows with each change. The previous secret signs
    beside the new one until ``previous_secret_until_ms``. Events from before ``created_ms`` are not
    meant for this webhook. Times are Unix ms, UTC.
    """

    webhook_id: UUID
    owner_id: UUID
    name: str
    url_encrypted: str
    secret_encrypted: str
    headers_encrypted: str
    events: tuple[EventName, ...]
    enabled: bool
    revision: int
    created_ms: int = 0
    previous_secret_encrypted: str | None = None
    previous_secret_until_ms: int | None = None
