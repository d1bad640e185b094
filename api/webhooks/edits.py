"""From what a client sent to the values of a webhook."""

from dataclasses import replace
from typing import Any

from api.signing_secrets import new_signing_secret
from api.webhooks.models import WebhookValues
from api.webhooks.schemas import WebhookCreate, WebhookUpdate


def new_values(body: WebhookCreate) -> WebhookValues:
    """Return the values of a new webhook, with a new secret where none was given."""
    return WebhookValues(
        name=body.name,
        url=body.url,
        secret=body.secret or new_signing_secret(),
        enabled=body.enabled,
        events=tuple(body.events),
        headers=body.headers,
    )


def edited_values(current: WebhookValues, body: WebhookUpdate) -> WebhookValues:
    """Return ``current`` with the fields that were sent; equal to it where nothing changes."""
    sent: dict[str, Any] = {field: getattr(body, field) for field in body.model_fields_set}
    if "events" in sent:
        sent["events"] = tuple(body.events)
    return replace(current, **sent)
