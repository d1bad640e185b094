"""Stores webhooks in PostgreSQL. Each change also adds a record for the delivery stage."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.db.records import webhook_config
from api.db.tables import Webhook, newest_first
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.outbox.outbox import enqueue
from common.records.topics import CONFIG_WEBHOOKS
from common.records.webhooks import WebhookConfig
from common.secrets import SecretBox


@dataclass(frozen=True)
class DeliveryHistory:
    """The latest delivery of a webhook, and why the service disabled the webhook.

    ``failure_count`` (deliveries) and ``failed_attempts`` count failures since the last success.
    """

    failure_count: int = 0
    failed_attempts: int = 0
    last_delivery_at: datetime | None = None
    last_delivery_status: int | None = None
    disabled_reason: str | None = None


@dataclass(frozen=True, repr=False)
class WebhookRow:
    """A stored webhook: the record, and values that only the API shows.

    ``url``, ``secret`` and ``headers`` are decrypted. The ``repr`` does not show them.
    """

    config: WebhookConfig
    url: str
    secret: str
    headers: Mapping[str, str]
    history: DeliveryHistory
    created_at: datetime
    previous_secret_until: datetime | None = None

    @property
    def id(self) -> UUID:
        """ID of the webhook."""
        return self.config.webhook_id

    def has(self, fields: Mapping[str, Any]) -> bool:
        """Return whether all ``fields`` have these values."""
        return all(_field(self, name) == value for name, value in fields.items())


def _field(row: WebhookRow, name: str) -> Any:
    value = getattr(row if name in _ENCRYPTED else row.config, name)
    return list(value) if isinstance(value, tuple) else value


_ENCRYPTED = frozenset({"url", "secret", "headers"})
"""Fields that can contain secrets. The columns have the suffix ``_encrypted``."""


class WebhookRepository:
    """Stores rows of webhooks. Fields that can contain secrets are encrypted."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box

    def list_webhooks(self, session: Session, owner_id: UUID) -> list[WebhookRow]:
        """Return the account's webhooks, newest first."""
        found = session.scalars(newest_first(Webhook, owner_id))
        return [self._row(webhook) for webhook in found]

    def insert(
        self, session: Session, owner_id: UUID, fields: Mapping[str, Any], limits: OwnerLimits
    ) -> WebhookRow:
        """Insert and publish a webhook. ``fields`` are all fields that a client sets.

        Raises:
            ApiError: 409, the account has reached its limit of webhooks.
        """
        owner = lock_owner(session, owner_id)
        owned = select(func.count()).select_from(Webhook).where(Webhook.owner_id == owner_id)
        webhooks = (session.scalar(owned) or 0) + 1
        limits.require(OwnerLimit.WEBHOOKS, owner_id, owner.limits, webhooks)
        webhook = Webhook(owner_id=owner_id, **self._columns(fields))
        session.add(webhook)
        return self._written(session, webhook)

    def find(
        self, session: Session, owner_id: UUID, webhook_id: UUID, *, locks: bool = False
    ) -> WebhookRow | None:
        """Return a webhook of the account, or None if the webhook does not exist.

        With ``locks``, the webhook is locked until the transaction ends.
        """
        wanted = select(Webhook).where(Webhook.id == webhook_id, Webhook.owner_id == owner_id)
        webhook = session.scalar(wanted.with_for_update() if locks else wanted)
        return None if webhook is None else self._row(webhook)

    def change(self, session: Session, webhook_id: UUID, fields: Mapping[str, Any]) -> WebhookRow:
        """Update ``fields`` of a locked webhook and publish the webhook.

        ``fields`` must include ``enabled``. Enabling the webhook clears its ``disabled_reason``.
        """
        webhook = session.get_one(Webhook, webhook_id)
        before, row = webhook.secret_encrypted, self._row(webhook)
        # Unchanged values are skipped, because encrypting a value again would change the column.
        changed = {name: value for name, value in fields.items() if not row.has({name: value})}
        for column, value in self._columns(changed).items():
            setattr(webhook, column, value)
        if fields["enabled"]:
            webhook.disabled_reason = None
        if "secret" in fields and self._box.decrypt(before) != fields["secret"]:
            # A secret that is set, not rotated, replaces the previous secret immediately.
            webhook.previous_secret_encrypted = webhook.previous_secret_until = None
        return self._changed(session, webhook)

    def rotate(
        self, session: Session, webhook_id: UUID, secret: str, until: datetime | None
    ) -> WebhookRow:
        """Replace a locked webhook's secret. The previous secret also signs until ``until``."""
        webhook = session.get_one(Webhook, webhook_id)
        webhook.previous_secret_encrypted = None if until is None else webhook.secret_encrypted
        webhook.previous_secret_until = until
        webhook.secret_encrypted = self._box.encrypt(secret)
        return self._changed(session, webhook)

    def disable(
        self, session: Session, webhook_id: UUID, revision: int, reason: str
    ) -> WebhookRow | None:
        """Disable and return a webhook, or return None if it has changed since ``revision``."""
        webhook = session.scalar(
            select(Webhook)
            .where(Webhook.id == webhook_id, Webhook.revision == revision, Webhook.enabled)
            .with_for_update()
        )
        if webhook is None:
            return None
        webhook.enabled = False
        webhook.disabled_reason = reason
        return self._changed(session, webhook)

    def delete(self, session: Session, owner_id: UUID, webhook_id: UUID) -> bool:
        """Delete a webhook and publish the deletion. Return False if there is no such webhook."""
        deleted = session.scalar(
            delete(Webhook)
            .where(Webhook.id == webhook_id, Webhook.owner_id == owner_id)
            .returning(Webhook.id)
        )
        if deleted is None:
            return False
        enqueue(session, CONFIG_WEBHOOKS, str(webhook_id), None)
        return True

    def _changed(self, session: Session, webhook: Webhook) -> WebhookRow:
        webhook.revision += 1
        webhook.updated_at = datetime.now(UTC)
        return self._written(session, webhook)

    def _written(self, session: Session, webhook: Webhook) -> WebhookRow:
        """Flush the row and add the record to the outbox."""
        session.flush()
        session.refresh(webhook)
        enqueue(session, CONFIG_WEBHOOKS, str(webhook.id), webhook_config(webhook))
        return self._row(webhook)

    def _columns(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of ``fields``. Values that can contain secrets are encrypted."""
        columns = {name: value for name, value in fields.items() if name not in _ENCRYPTED}
        for name in fields.keys() & _ENCRYPTED:
            value = fields[name]
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            columns[f"{name}_encrypted"] = self._box.encrypt(text)
        return columns

    def _row(self, webhook: Webhook) -> WebhookRow:
        headers = self._box.decrypt(webhook.headers_encrypted)
        return WebhookRow(
            config=webhook_config(webhook),
            url=self._box.decrypt(webhook.url_encrypted),
            secret=self._box.decrypt(webhook.secret_encrypted),
            headers=msgspec.json.decode(headers, type=dict[str, str]),
            history=msgspec.convert(webhook, DeliveryHistory, from_attributes=True),
            created_at=webhook.created_at,
            previous_secret_until=webhook.previous_secret_until,
        )


def delete_owner_webhooks(session: Session, owner_id: UUID) -> int:
    """Delete all webhooks of an account, publish the deletions, and return their number."""
    deleted = delete(Webhook).where(Webhook.owner_id == owner_id).returning(Webhook.id)
    found = session.scalars(deleted).all()
    for webhook_id in found:
        enqueue(session, CONFIG_WEBHOOKS, str(webhook_id), None)
    return len(found)
