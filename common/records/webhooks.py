"""Record of a webhook's configuration, and the rules for its headers."""

import re
from enum import StrEnum
from typing import Final
from uuid import UUID

from common.errors import InvalidInputError
from common.records.codec import Record


class EventName(StrEnum):
    """Events to which webhooks can subscribe."""

    RECOGNITION_CREATED = "recognition.created"
    ALERT_TRIGGERED = "alert.triggered"
    ALERT_CONFIRMED = "alert.confirmed"
    ALERT_CORRECTED = "alert.corrected"
    """Sent to subscribers of alert.triggered. Clients cannot subscribe to it separately."""
    CAMERA_ONLINE = "camera.online"
    CAMERA_OFFLINE = "camera.offline"


ALERT_EVENTS: Final = frozenset(
    {EventName.ALERT_TRIGGERED, EventName.ALERT_CONFIRMED, EventName.ALERT_CORRECTED}
)
"""The events about alerts."""


class WebhookConfig(Record, frozen=True, kw_only=True):
    """Record on config-webhooks (compacted, key = webhook ID; an empty value deletes the webhook).

    The encrypted fields are decrypted by :class:`common.secrets.SecretBox`. ``headers`` is a JSON
    object of strings. ``revision`` increases with each change. Until ``previous_secret_until_ms``,
    events are signed with both the previous and the new secret. Events from before ``created_ms``
    are not sent to this webhook. Times are Unix ms, UTC.
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


MAX_HEADERS: Final = 50
MAX_HEADER_NAME_CHARACTERS: Final = 128
MAX_HEADER_VALUE_CHARACTERS: Final = 2048

SIGNATURE_HEADER: Final = "X-Signature-256"
PREVIOUS_SIGNATURE_HEADER: Final = "X-Signature-256-Previous"
EVENT_ID_HEADER: Final = "X-Event-Id"
EVENT_TYPE_HEADER: Final = "X-Event-Type"
WEBHOOK_ID_HEADER: Final = "X-Webhook-Id"
ATTEMPT_HEADER: Final = "X-Delivery-Attempt"
STANDARD_HEADERS: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")
"""Message ID, timestamp, signatures. **Source:** the Standard Webhooks specification."""

_OURS: Final = frozenset({
    SIGNATURE_HEADER.lower(), PREVIOUS_SIGNATURE_HEADER.lower(), EVENT_ID_HEADER.lower(),
    EVENT_TYPE_HEADER.lower(), WEBHOOK_ID_HEADER.lower(), ATTEMPT_HEADER.lower(), "user-agent",
    *STANDARD_HEADERS,
})  # fmt: skip
# Message framing and connection headers. **Source:** RFC 9110, 7.6.1; RFC 9112, 6.
_OF_THE_PROTOCOL: Final = frozenset({
    "host", "content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive",
    "expect", "te", "trailer", "upgrade", "http2-settings",
})  # fmt: skip
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE: Final = re.compile(r"[\x20-\x7e]*\Z")


def check_header_name(name: str) -> None:
    """Reject a header name that is invalid or reserved for the service.

    Raises:
        InvalidInputError: the name is rejected (code ``webhook_header``).
    """
    if not 0 < len(name) <= MAX_HEADER_NAME_CHARACTERS or not _TOKEN.match(name):
        raise _invalid("is not a valid header name")
    lower = name.lower()
    if lower in _OURS or lower in _OF_THE_PROTOCOL or lower.startswith("proxy-"):
        raise _invalid("is a reserved header")


def check_header_value(value: str) -> None:
    """Reject a value that would not reach the receiver unchanged.

    Raises:
        InvalidInputError: the value is rejected (code ``webhook_header``).
    """
    if len(value) > MAX_HEADER_VALUE_CHARACTERS:
        raise _invalid(f"must have at most {MAX_HEADER_VALUE_CHARACTERS} characters")
    if not _VALUE.match(value) or value != value.strip():
        raise _invalid(
            "must consist of visible ASCII characters, without leading or trailing spaces"
        )


def _invalid(message: str) -> InvalidInputError:
    return InvalidInputError(message, code="webhook_header")
