"""Webhooks in PostgreSQL, each change together with its record for the delivery stage."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.config_log.outbox import enqueue
from api.db.tables import Webhook
from api.webhooks.config import webhook_config
from api.webhooks.models import DeliveryHistory, WebhookRow, WebhookValues
from contracts.secrets import SecretBox
from contracts.topics import CONFIG_WEBHOOKS
from contracts.webhooks import EventName


class TooManyWebhooksError(Exception):
    """The owner has as many webhooks as the settings allow."""


class WebhookRepository:
    """Rows of webhooks; what may hold secrets is encrypted on the way in."""

    def __init__(self, box: SecretBox) -> None:
        """Take the installation's keys."""
        self._box = box

    def all_of(self, session: Session, owner_id: UUID) -> list[WebhookRow]:
        """Return the owner's webhooks, newest first."""
        found = session.scalars(
            select(Webhook)
            .where(Webhook.owner_id == owner_id)
            .order_by(Webhook.created_at.desc(), Webhook.id)
        )
        return [self._row(webhook) for webhook in found]

    def insert(
        self, session: Session, owner_id: UUID, values: WebhookValues, *, limit: int
    ) -> WebhookRow:
        """Insert a webhook and tell the delivery stage.

        Raises:
            TooManyWebhooksError: the owner has ``limit`` webhooks.
        """
        lock_owner(session, owner_id)
        owned = select(func.count()).select_from(Webhook).where(Webhook.owner_id == owner_id)
        if (session.scalar(owned) or 0) >= limit:
            raise TooManyWebhooksError
        webhook = Webhook(owner_id=owner_id, **self._columns(values))
        session.add(webhook)
        return self._written(session, webhook)

    def find(self, session: Session, owner_id: UUID, webhook_id: UUID) -> WebhookRow | None:
        """Return one of the owner's webhooks."""
        webhook = session.scalar(
            select(Webhook).where(Webhook.id == webhook_id, Webhook.owner_id == owner_id)
        )
        return None if webhook is None else self._row(webhook)

    def lock(self, session: Session, owner_id: UUID, webhook_id: UUID) -> WebhookRow | None:
        """Return one of the owner's webhooks, locked until the transaction ends."""
        webhook = session.scalar(
            select(Webhook)
            .where(Webhook.id == webhook_id, Webhook.owner_id == owner_id)
            .with_for_update()
        )
        return None if webhook is None else self._row(webhook)

    def change(self, session: Session, webhook_id: UUID, values: WebhookValues) -> WebhookRow:
        """Write ``values`` to a locked webhook and tell the delivery stage.

        Switching it on takes back what the service said when it switched it off.
        """
        webhook = session.get_one(Webhook, webhook_id)
        before = webhook.secret_encrypted
        for column, value in self._columns(values).items():
            setattr(webhook, column, value)
        if values.enabled:
            webhook.disabled_reason = None
        if self._box.decrypt(before) != values.secret:
            # A secret that is set, not rotated, counts at once and alone.
            webhook.previous_secret_encrypted = webhook.previous_secret_until = None
        webhook.revision += 1
        webhook.updated_at = datetime.now(UTC)
        return self._written(session, webhook)

    def rotate(
        self, session: Session, webhook_id: UUID, secret: str, until: datetime | None
    ) -> WebhookRow:
        """Give a locked webhook a new secret; the one before signs as well until ``until``."""
        webhook = session.get_one(Webhook, webhook_id)
        webhook.previous_secret_encrypted = None if until is None else webhook.secret_encrypted
        webhook.previous_secret_until = until
        webhook.secret_encrypted = self._box.encrypt(secret)
        webhook.revision += 1
        webhook.updated_at = datetime.now(UTC)
        return self._written(session, webhook)

    def switch_off(self, session: Session, webhook_id: UUID, revision: int, reason: str) -> bool:
        """Switch a webhook off unless it was changed since ``revision``; False for nothing done."""
        webhook = session.scalar(
            select(Webhook)
            .where(Webhook.id == webhook_id, Webhook.revision == revision, Webhook.enabled)
            .with_for_update()
        )
        if webhook is None:
            return False
        webhook.enabled = False
        webhook.disabled_reason = reason
        webhook.revision += 1
        webhook.updated_at = datetime.now(UTC)
        self._written(session, webhook)
        return True

    def delete(self, session: Session, owner_id: UUID, webhook_id: UUID) -> bool:
        """Delete one of the owner's webhooks and tell the delivery stage; False for none."""
        deleted = session.scalar(
            delete(Webhook)
            .where(Webhook.id == webhook_id, Webhook.owner_id == owner_id)
            .returning(Webhook.id)
        )
        if deleted is None:
            return False
        enqueue(session, CONFIG_WEBHOOKS, str(webhook_id), None)
        return True

    def _written(self, session: Session, webhook: Webhook) -> WebhookRow:
        """Send the row to the database, then its record to the outbox."""
        session.flush()
        session.refresh(webhook)
        enqueue(session, CONFIG_WEBHOOKS, str(webhook.id), webhook_config(webhook))
        return self._row(webhook)

    def _columns(self, values: WebhookValues) -> dict[str, Any]:
        headers = msgspec.json.encode(dict(values.headers)).decode()
        return {
            "name": values.name,
            "url_encrypted": self._box.encrypt(values.url),
            "secret_encrypted": self._box.encrypt(values.secret),
            "headers_encrypted": self._box.encrypt(headers),
            "events": list(values.events),
            "enabled": values.enabled,
        }

    def _row(self, webhook: Webhook) -> WebhookRow:
        headers = self._box.decrypt(webhook.headers_encrypted)
        return WebhookRow(
            id=webhook.id,
            owner_id=webhook.owner_id,
            revision=webhook.revision,
            values=WebhookValues(
                name=webhook.name,
                url=self._box.decrypt(webhook.url_encrypted),
                secret=self._box.decrypt(webhook.secret_encrypted),
                enabled=webhook.enabled,
                events=tuple(EventName(event) for event in webhook.events),
                headers=msgspec.json.decode(headers, type=dict[str, str]),
            ),
            history=DeliveryHistory(
                failure_count=webhook.failure_count,
                last_delivery_at=webhook.last_delivery_at,
                last_delivery_status=webhook.last_delivery_status,
                disabled_reason=webhook.disabled_reason,
            ),
            created_at=webhook.created_at,
            previous_secret_until=webhook.previous_secret_until,
        )


def delete_webhooks_of(session: Session, owner_id: UUID) -> int:
    """Delete all webhooks of an owner and tell the delivery stage; how many there were."""
    deleted = delete(Webhook).where(Webhook.owner_id == owner_id).returning(Webhook.id)
    found = session.scalars(deleted).all()
    for webhook_id in found:
        enqueue(session, CONFIG_WEBHOOKS, str(webhook_id), None)
    return len(found)
