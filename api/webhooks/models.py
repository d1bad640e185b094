"""Webhooks as the rest of the service sees them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from contracts.webhooks import EventName


@dataclass(frozen=True, repr=False)
class WebhookValues:
    """What a client decides of a webhook. Shows nothing in logs: it holds secrets."""

    name: str
    url: str
    secret: str
    enabled: bool
    events: tuple[EventName, ...]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class DeliveryHistory:
    """How deliveries went. ``failure_count`` counts failures since the last success."""

    failure_count: int = 0
    last_delivery_at: datetime | None = None
    last_delivery_status: int | None = None
    disabled_reason: str | None = None


@dataclass(frozen=True)
class WebhookRow:
    """A webhook as it is stored."""

    id: UUID
    owner_id: UUID
    revision: int
    values: WebhookValues
    history: DeliveryHistory
    created_at: datetime
    previous_secret_until: datetime | None = None
