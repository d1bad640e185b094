"""Webhooks in PostgreSQL, each change together with its record for the delivery stage."""

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
from api.db.tables import Webhook
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.outbox.outbox import enqueue
from common.records.topics import CONFIG_WEBHOOKS
from common.records.webhooks import WebhookConfig
from common.secrets import SecretBox


@dataclass(frozen=True)
class DeliveryHistory:
    """The course of deliveries since the last success.

    ``failure_count`` counts deliveries given up, ``failed_attempts`` tries.
    """

    failure_count: int = 0
    failed_attempts: int = 0
    last_delivery_at: datetime | None = None
    last_delivery_status: int | None = None
    disabled_reason: str | None = None


@dataclass(frozen=True, repr=False)
class WebhookRow:
    """A webhook as it is stored: its record, and what only readers of the API are shown.

    Shows nothing in logs: ``url``, ``secret`` and ``headers`` are in the clear.
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
        """The webhook's id."""
        return self.config.webhook_id

    def has(self, fields: Mapping[str, Any]) -> bool:
        """Return whether all ``fields`` are as they stand here."""
        return all(_field(self, name) == value for name, value in fields.items())


def _field(row: WebhookRow, name: str) -> Any:
    value = getattr(row if name in _ENCRYPTED else row.config, name)
    return list(value) if isinstance(value, tuple) else value


_ENCRYPTED = frozenset({"url", "secret", "headers"})
"""Fields that may hold secrets; their columns are named so and ``_encrypted``."""


class WebhookRepository:
    """Rows of webhooks; what may hold secrets is encrypted on the way in."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box

    def list_webhooks(self, session: Session, owner_id: UUID) -> list[WebhookRow]:
        """Return the owner's webhooks, newest first."""
        found = session.scalars(
            select(Webhook)
            .where(Webhook.owner_id == owner_id)
            .order_by(Webhook.created_at.desc(), Webhook.id)
        )
        return [self._row(webhook) for webhook in found]

    def insert(
        self, session: Session, owner_id: UUID, fields: Mapping[str, Any], limits: OwnerLimits
    ) -> WebhookRow:
        """Insert a webhook and publish it; ``fields`` are all that a client decides of.

        Raises:
            ApiError: the owner has as many as may be.
        """
        owner = lock_owner(session, owner_id)
        owned = select(func.count()).select_from(Webhook).where(Webhook.owner_id == owner_id)
        webhooks = (session.scalar(owned) or 0) + 1
        limits.require(OwnerLimit.WEBHOOKS, owner_id, owner.limits, webhooks)
        webhook = Webhook(owner_id=owner_id, **self._columns(fields))
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

    def change(self, session: Session, webhook_id: UUID, fields: Mapping[str, Any]) -> WebhookRow:
        """Write ``fields`` to a locked webhook and publish it; ``enabled`` is among them.

        Switching it on takes back what the service said when it switched it off.
        """
        webhook = session.get_one(Webhook, webhook_id)
        before, row = webhook.secret_encrypted, self._row(webhook)
        # Encrypted anew, what stays as it is would look changed.
        changed = {name: value for name, value in fields.items() if not row.has({name: value})}
        for column, value in self._columns(changed).items():
            setattr(webhook, column, value)
        if fields["enabled"]:
            webhook.disabled_reason = None
        if "secret" in fields and self._box.decrypt(before) != fields["secret"]:
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

    def switch_off(
        self, session: Session, webhook_id: UUID, revision: int, reason: str
    ) -> WebhookRow | None:
        """Disable a webhook and return it, or None if it was changed since ``revision``."""
        webhook = session.scalar(
            select(Webhook)
            .where(Webhook.id == webhook_id, Webhook.revision == revision, Webhook.enabled)
            .with_for_update()
        )
        if webhook is None:
            return None
        webhook.enabled = False
        webhook.disabled_reason = reason
        webhook.revision += 1
        webhook.updated_at = datetime.now(UTC)
        return self._written(session, webhook)

    def delete(self, session: Session, owner_id: UUID, webhook_id: UUID) -> bool:
        """Delete one of the owner's webhooks and publish that; False for none."""
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

    def _columns(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of ``fields``: all are named alike but those that are encrypted."""
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
    """Delete all webhooks of an owner and publish that; return how many there were."""
    deleted = delete(Webhook).where(Webhook.owner_id == owner_id).returning(Webhook.id)
    found = session.scalars(deleted).all()
    for webhook_id in found:
        enqueue(session, CONFIG_WEBHOOKS, str(webhook_id), None)
    return len(found)
