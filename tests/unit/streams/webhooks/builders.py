"""Made-up deliveries."""

from uuid import UUID

from cryptography.fernet import Fernet

from contracts.deliveries import Delivery, WebhookTarget
from contracts.secrets import SecretBox
from contracts.webhooks import WebhookConfig
from streams.webhooks.fan_out import recognition_deliveries
from tests.records import OWNER, recognition

BOX = SecretBox(Fernet.generate_key().decode())
WEBHOOK = UUID("11111111-2222-4333-8444-555555555555")


def webhook(number: int = 0, **changed: object) -> WebhookConfig:
    """Return a webhook of the owner."""
    fields: dict[str, object] = {
        "webhook_id": UUID(int=WEBHOOK.int + number),
        "owner_id": OWNER,
        "name": f"webhook {number}",
        "url_encrypted": BOX.encrypt(f"https://receiver.example.com/{number}"),
        "secret_encrypted": BOX.encrypt("a secret"),
        "headers_encrypted": BOX.encrypt('{"X-Tenant":"north"}'),
        "events": ("recognition.created", "camera.online", "camera.offline", "alert.triggered"),
        "enabled": True,
        "revision": 1,
    }
    return WebhookConfig(**(fields | changed))  # type: ignore[arg-type]


def delivery(number: int, endpoint: int = 0) -> Delivery:
    """Return the delivery of a recognition to a webhook."""
    made = recognition(number)
    (only,) = recognition_deliveries(made, [webhook(endpoint)], published_ms=made.captured_ms + 9)
    assert isinstance(only.target, WebhookTarget)
    return only
