"""Stores alerts in PostgreSQL, together with the records of changes for the alerts stage."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner, require_owner
from api.audit.plates import PlateHashes
from api.db.records import alert_config
from api.db.tables import Alert, Camera, Owner, newest_first
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.outbox.outbox import enqueue, enqueue_owner
from api.security.credentials import new_signing_secret
from common.alerting.rule import rule_cost
from common.records.alerts import AlertConfig, AlertSchedule, Notification, PlateMatchMode
from common.records.ids import NIL_UUID
from common.records.topics import CONFIG_ALERTS
from common.secrets import SecretBox

_NOTIFICATIONS = "notifications"
_COSTLY = frozenset({"plates", "match_tolerance", "plate_match_mode", "enabled"})


@dataclass(frozen=True, repr=False)
class AlertRow:
    """A stored alert: the record for the alerts stage, and fields that only the API shows.

    There is no ``repr``: URLs of ``notifications`` can contain secrets that must not be logged.
    """

    config: AlertConfig
    notifications: tuple[Notification, ...]
    trigger_count: int
    last_triggered_at: datetime | None
    created_at: datetime

    @property
    def id(self) -> UUID:
        """The alert's ID."""
        return self.config.alert_id


@dataclass(frozen=True, repr=False)
class AlertListing:
    """All alerts of an account, and the secret that signs the alerts' notifications to URLs.

    The previous secret also signs until ``previous_secret_until``. ``counted_at`` is the time of
    the trigger counts, if they are available. ``sends_email`` is true if email is configured.
    """

    alerts: tuple[AlertRow, ...]
    notification_secret: str | None
    previous_secret_until: datetime | None = None
    counted_at: datetime | None = None
    sends_email: bool = False


class AlertRepository:
    """Reads and writes alerts. Notifications are encrypted, because URLs can contain secrets."""

    def __init__(self, box: SecretBox, hashes: PlateHashes) -> None:
        self._box = box
        self._hashes = hashes

    def list_alerts(self, session: Session, owner_id: UUID) -> AlertListing:
        """Return an account's alerts, newest first."""
        owner = require_owner(session, owner_id)
        found = session.scalars(newest_first(Alert, owner_id))
        secret = owner.notification_secret_encrypted
        return AlertListing(
            tuple(self._row(alert, owner) for alert in found),
            None if secret is None else self._box.decrypt(secret),
            owner.previous_notification_secret_until,
        )

    def rotate_secret(
        self, session: Session, owner_id: UUID, secret: str, until: datetime | None
    ) -> bool:
        """Replace and publish an account's notification secret, or return False if none exists.

        The previous secret also signs until ``until``.
        """
        owner = lock_owner(session, owner_id)
        before = owner.notification_secret_encrypted
        if before is None:
            return False
        owner.previous_notification_secret_encrypted = None if until is None else before
        owner.previous_notification_secret_until = until
        owner.notification_secret_encrypted = self._box.encrypt(secret)
        session.flush()
        enqueue_owner(session, owner)
        return True

    def insert(
        self, session: Session, owner_id: UUID, fields: Mapping[str, Any], limits: OwnerLimits
    ) -> AlertRow:
        """Insert and publish an alert. ``fields`` are all fields that clients can set.

        Raises:
            ApiError: 409, the account would exceed its limit of alerts or rule cost.
        """
        owner = lock_owner(session, owner_id)
        owned = select(func.count()).select_from(Alert).where(Alert.owner_id == owner_id)
        alerts = (session.scalar(owned) or 0) + 1
        limits.require(OwnerLimit.ALERTS, owner_id, owner.limits, alerts)
        if owner.notification_secret_encrypted is None:
            owner.notification_secret_encrypted = self._box.encrypt(new_signing_secret())
        alert = new_alert(owner_id, fields)
        alert.notifications_encrypted = self._encrypted(fields[_NOTIFICATIONS])
        alert.rule_cost = _rule_cost(alert)
        _check_cost(session, alert, owner, limits)
        self._hashes.announce(session, owner_id, alert.plates)
        session.add(alert)
        return self._written(session, alert, owner)

    def find(
        self, session: Session, owner_id: UUID, alert_id: UUID, *, locks: bool = False
    ) -> AlertRow | None:
        """Return an alert of an account, or None if it does not exist.

        With ``locks``, the alert is locked until the transaction ends.
        """
        wanted = select(Alert).where(Alert.id == alert_id, Alert.owner_id == owner_id)
        alert = session.scalar(wanted.with_for_update() if locks else wanted)
        return None if alert is None else self._row(alert, require_owner(session, owner_id))

    def change(
        self, session: Session, alert_id: UUID, fields: Mapping[str, Any], limits: OwnerLimits
    ) -> AlertRow:
        """Write ``fields`` to a locked alert, and return it. Publish it if a field has changed.

        If :func:`changes_cost` is true for ``fields``, the caller must have locked the account too.

        Raises:
            ApiError: 409, the account would exceed its limit of rule cost.
        """
        alert = session.get_one(Alert, alert_id)
        owner = require_owner(session, alert.owner_id)
        changed = self._changed(alert, fields)
        if not changed:
            return self._row(alert, owner)
        # The hashes are announced first, because their SQL statement would flush changed columns.
        changed_plates = set(alert.plates) ^ set(changed.get("plates", alert.plates))
        self._hashes.announce(session, alert.owner_id, changed_plates)
        for column, value in changed.items():
            setattr(alert, column, value)
        if changes_cost(changed):
            alert.rule_cost = _rule_cost(alert)
            _check_cost(session, alert, owner, limits)
        alert.revision += 1
        alert.updated_at = datetime.now(UTC)
        return self._written(session, alert, owner)

    def delete(self, session: Session, owner_id: UUID, alert_id: UUID) -> bool:
        """Delete an alert and publish the deletion. Return False if the alert does not exist."""
        found = Alert.id == alert_id, Alert.owner_id == owner_id
        plates = session.scalar(select(Alert.plates).where(*found).with_for_update())
        if plates is None:
            return False
        self._hashes.announce(session, owner_id, plates)
        session.execute(delete(Alert).where(*found))
        enqueue(session, CONFIG_ALERTS, str(alert_id), None)
        return True

    def _written(self, session: Session, alert: Alert, owner: Owner) -> AlertRow:
        """Write the row of an alert to the database, then the record to the outbox."""
        session.flush()
        session.refresh(alert)
        enqueue(session, CONFIG_ALERTS, str(alert.id), alert_config(alert, owner))
        return self._row(alert, owner)

    def _changed(self, alert: Alert, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return new values of the columns that ``fields`` change. ``schedule`` can be partial."""
        columns = _columns(fields, alert.schedule)
        changed = {name: one for name, one in columns.items() if getattr(alert, name) != one}
        notifications = fields.get(_NOTIFICATIONS)
        if notifications is not None and notifications != self._notifications(alert):
            changed["notifications_encrypted"] = self._encrypted(notifications)
        return changed

    def _row(self, alert: Alert, owner: Owner) -> AlertRow:
        return AlertRow(
            config=alert_config(alert, owner),
            notifications=self._notifications(alert),
            trigger_count=alert.trigger_count,
            last_triggered_at=alert.last_triggered_at,
            created_at=alert.created_at,
        )

    def _notifications(self, alert: Alert) -> tuple[Notification, ...]:
        text = self._box.decrypt(alert.notifications_encrypted)
        return msgspec.json.decode(text, type=tuple[Notification, ...])

    def _encrypted(self, notifications: tuple[Notification, ...]) -> str:
        return self._box.encrypt(msgspec.json.encode(notifications).decode())


def changes_cost(fields: Collection[str]) -> bool:
    """Return whether a change of these columns can change the cost of an account's rules."""
    return not _COSTLY.isdisjoint(fields)


def _rule_cost(alert: Alert) -> int:
    return rule_cost(PlateMatchMode(alert.plate_match_mode), alert.plates, alert.match_tolerance)


def _check_cost(session: Session, alert: Alert, owner: Owner, limits: OwnerLimits) -> None:
    """Reject an alert if the enabled alerts of its (locked) account would cost too much.

    An alert without cost is never rejected, so that the cost can always be reduced.
    """
    if not alert.enabled or not alert.rule_cost:
        return
    others = select(func.coalesce(func.sum(Alert.rule_cost), 0)).where(
        Alert.owner_id == owner.id, Alert.enabled, Alert.id != alert.id
    )
    with session.no_autoflush:
        cost = int(session.scalar(others) or 0) + alert.rule_cost
    limits.require(OwnerLimit.RULE_COST, owner.id, owner.limits, cost)


def new_alert(owner_id: UUID, fields: Mapping[str, Any], **others: Any) -> Alert:
    """Return an alert that is not stored yet and has no notifications."""
    columns = _columns(fields, msgspec.to_builtins(AlertSchedule()))
    return Alert(owner_id=owner_id, **columns, **others)


def _columns(fields: Mapping[str, Any], schedule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns for ``fields``, except notifications. Fields and columns share names."""
    columns = {name: value for name, value in fields.items() if name != _NOTIFICATIONS}
    if "schedule" in columns:
        columns["schedule"] = {**schedule, **columns["schedule"]}
    return columns


def publish_inherited_timezone(session: Session, owner: Owner) -> int:
    """Publish the alerts that use the time zone of a locked account, and return their number.

    Each alert gets a new revision, because the new time zone changes the meaning of the schedule.
    """
    inheriting = (
        select(Alert)
        .where(Alert.owner_id == owner.id, Alert.timezone.is_(None))
        .order_by(Alert.id)
        .with_for_update()
    )
    alerts = session.scalars(inheriting).all()
    for alert in alerts:
        alert.revision += 1
        alert.updated_at = datetime.now(UTC)
    session.flush()
    for alert in alerts:
        enqueue(session, CONFIG_ALERTS, str(alert.id), alert_config(alert, owner))
    return len(alerts)


def delete_owner_alerts(session: Session, owner_id: UUID) -> int:
    """Delete all alerts of an account, publish the deletions, and return their number."""
    deleted = session.scalars(delete(Alert).where(Alert.owner_id == owner_id).returning(Alert.id))
    found = deleted.all()
    for alert_id in found:
        enqueue(session, CONFIG_ALERTS, str(alert_id), None)
    return len(found)


def unknown_cameras(session: Session, owner_id: UUID, wanted: Collection[UUID]) -> set[UUID]:
    """Return the IDs in ``wanted`` that are not IDs of cameras of the account.

    The nil ID, which represents image calls, is never returned.
    """
    known = session.scalars(
        select(Camera.id).where(
            Camera.owner_id == owner_id, Camera.id.in_(wanted), Camera.confirmed
        )
    )
    return set(wanted) - set(known) - {NIL_UUID}
