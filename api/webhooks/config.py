"""A webhook as the delivery stage is told of it."""

from datetime import datetime

from api.db.tables import Webhook
from api.moments import to_unix_ms
from contracts.webhooks import EventName, WebhookConfig


def webhook_config(webhook: Webhook) -> WebhookConfig:
    """Return the record that stands for the webhook on config-webhooks."""
    return WebhookConfig(
        webhook_id=webhook.id,
        owner_id=webhook.owner_id,
        name=webhook.name,
        url_encrypted=webhook.url_encrypted,
        secret_encrypted=webhook.secret_encrypted,
        headers_encrypted=webhook.headers_encrypted,
        events=tuple(EventName(event) for event in webhook.events),
        enabled=webhook.enabled,
        revision=webhook.revision,
        created_ms=to_unix_ms(webhook.created_at),
        previous_secret_encrypted=webhook.previous_secret_encrypted,
        previous_secret_until_ms=_unix_ms(webhook.previous_secret_until),
    )


def _unix_ms(moment: datetime | None) -> int | None:
    return None if moment is None else to_unix_ms(moment)
