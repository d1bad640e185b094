"""Alerts in PostgreSQL, each change together with its record for the stage that evaluates them."""

from collections.abc import Collection
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner, require_owner
from api.alerts.config import alert_config
from api.alerts.models import AlertBook, AlertRow, AlertValues
from api.config_log.outbox import enqueue
from api.db.tables import Alert, Camera, Owner
from api.signing_secrets import new_signing_secret
from contracts.alerts import AlertSchedule, CameraScope, CooldownScope, Notification, PlateMatchMode
from contracts.ids import NIL_UUID
from contracts.secrets import SecretBox
from contracts.topics import CONFIG_ALERTS


class TooManyAlertsError(Exception):
    """The owner has as many alerts as the settings allow."""


class AlertRepository:
    """Rows of alerts; notifications are encrypted on the way in, since URLs may hold secrets."""

    def __init__(self, box: SecretBox) -> None:
        """Take the installation's keys."""
        self._box = box

    def all_of(self, session: Session, owner_id: UUID) -> AlertBook:
        """Return the owner's alerts, newest first."""
        owner = require_owner(session, owner_id)
        found = session.scalars(
            select(Alert)
            .where(Alert.owner_id == owner_id)
            .order_by(Alert.created_at.desc(), Alert.id)
        )
        secret = owner.notification_secret_encrypted
        return AlertBook(
            tuple(self._row(alert, owner) for alert in found),
            None if secret is None else self._box.decrypt(secret),
        )

    def insert(
        self, session: Session, owner_id: UUID, values: AlertValues, *, limit: int
    ) -> AlertRow:
        """Insert an alert and tell the stage that evaluates it.

        Raises:
            TooManyAlertsError: the owner has ``limit`` alerts.
        """
        owner = lock_owner(session, owner_id)
        owned = select(func.count()).select_from(Alert).where(Alert.owner_id == owner_id)
        if (session.scalar(owned) or 0) >= limit:
            raise TooManyAlertsError
        if owner.notification_secret_encrypted is None:
            owner.notification_secret_encrypted = self._box.encrypt(new_signing_secret())
        alert = Alert(owner_id=owner_id, **self._columns(values))
        session.add(alert)
        return self._written(session, alert, owner)

    def has(self, session: Session, owner_id: UUID, alert_id: UUID) -> bool:
        """Tell whether an alert is one of the owner's."""
        wanted = select(Alert.id).where(Alert.id == alert_id, Alert.owner_id == owner_id)
        return session.scalar(wanted) is not None

    def lock(self, session: Session, owner_id: UUID, alert_id: UUID) -> AlertRow | None:
        """Return one of the owner's alerts, locked until the transaction ends."""
        alert = session.scalar(
            select(Alert).where(Alert.id == alert_id, Alert.owner_id == owner_id).with_for_update()
        )
        return None if alert is None else self._row(alert, require_owner(session, owner_id))

    def change(self, session: Session, alert_id: UUID, values: AlertValues) -> AlertRow:
        """Write ``values`` to a locked alert and tell the stage that evaluates it."""
        alert = session.get_one(Alert, alert_id)
        for column, value in self._columns(values).items():
            setattr(alert, column, value)
        alert.revision += 1
        alert.updated_at = datetime.now(UTC)
        return self._written(session, alert, require_owner(session, alert.owner_id))

    def delete(self, session: Session, owner_id: UUID, alert_id: UUID) -> bool:
        """Delete one of the owner's alerts and tell of it; False where there is none."""
        deleted = session.scalar(
            delete(Alert)
            .where(Alert.id == alert_id, Alert.owner_id == owner_id)
            .returning(Alert.id)
        )
        if deleted is None:
            return False
        enqueue(session, CONFIG_ALERTS, str(alert_id), None)
        return True

    def _written(self, session: Session, alert: Alert, owner: Owner) -> AlertRow:
        """Send the row to the database, then its record to the outbox."""
        session.flush()
        session.refresh(alert)
        enqueue(session, CONFIG_ALERTS, str(alert.id), alert_config(alert, owner))
        return self._row(alert, owner)

    def _columns(self, values: AlertValues) -> dict[str, Any]:
        """Return the values by column: most fields are named alike."""
        columns = {field.name: getattr(values, field.name) for field in fields(values)}
        notifications = msgspec.json.encode(columns.pop("notifications")).decode()
        return {
            **columns,
            "plates": list(values.plates),
            "camera_ids": list(values.camera_ids),
            "schedule": msgspec.to_builtins(values.schedule),
            "notifications_encrypted": self._box.encrypt(notifications),
        }

    def _row(self, alert: Alert, owner: Owner) -> AlertRow:
        notifications = self._box.decrypt(alert.notifications_encrypted)
        return AlertRow(
            id=alert.id,
            owner_id=alert.owner_id,
            owner_timezone=owner.timezone,
            revision=alert.revision,
            values=AlertValues(
                name=alert.name,
                description=alert.description,
                enabled=alert.enabled,
                plate_match_mode=PlateMatchMode(alert.plate_match_mode),
                plates=tuple(alert.plates),
                camera_scope=CameraScope(alert.camera_scope),
                camera_ids=tuple(alert.camera_ids),
                schedule_enabled=alert.schedule_enabled,
                schedule=msgspec.convert(alert.schedule, AlertSchedule),
                timezone=alert.timezone,
                min_confidence=alert.min_confidence,
                cooldown_minutes=alert.cooldown_minutes,
                cooldown_scope=CooldownScope(alert.cooldown_scope),
                match_tolerance=alert.match_tolerance,
                notifications=msgspec.json.decode(notifications, type=tuple[Notification, ...]),
            ),
            trigger_count=alert.trigger_count,
            last_triggered_at=alert.last_triggered_at,
            created_at=alert.created_at,
        )


def delete_alerts_of(session: Session, owner_id: UUID) -> int:
    """Delete all alerts of an owner and tell of it; how many there were."""
    deleted = session.scalars(delete(Alert).where(Alert.owner_id == owner_id).returning(Alert.id))
    found = deleted.all()
    for alert_id in found:
        enqueue(session, CONFIG_ALERTS, str(alert_id), None)
    return len(found)


def unknown_cameras(session: Session, owner_id: UUID, wanted: Collection[UUID]) -> set[UUID]:
    """Return those of ``wanted`` that are no cameras of the owner.

    The nil id, which stands for image calls, is known.
    """
    known = session.scalars(
        select(Camera.id).where(
            Camera.owner_id == owner_id, Camera.id.in_(wanted), Camera.confirmed
        )
    )
    return set(wanted) - set(known) - {NIL_UUID}
