"""An alert as the stage that evaluates it is told of it."""

from uuid import UUID

import msgspec

from api.alerts.models import AlertValues
from api.db.tables import Alert, Owner
from api.moments import to_unix_ms
from contracts.alerts import AlertConfig, AlertSchedule, CameraScope, CooldownScope, PlateMatchMode


def alert_config(alert: Alert, owner: Owner) -> AlertConfig:
    """Return the record that stands for the alert on config-alerts."""
    return AlertConfig(
        alert_id=alert.id,
        owner_id=alert.owner_id,
        name=alert.name,
        description=alert.description,
        enabled=alert.enabled,
        plate_match_mode=PlateMatchMode(alert.plate_match_mode),
        plates=tuple(alert.plates),
        camera_scope=CameraScope(alert.camera_scope),
        camera_ids=tuple(alert.camera_ids),
        schedule_enabled=alert.schedule_enabled,
        schedule=msgspec.convert(alert.schedule, AlertSchedule),
        timezone=alert.timezone or owner.timezone,
        min_confidence=alert.min_confidence,
        cooldown_minutes=alert.cooldown_minutes,
        cooldown_scope=CooldownScope(alert.cooldown_scope),
        match_tolerance=alert.match_tolerance,
        notifications_encrypted=alert.notifications_encrypted,
        notification_secret_encrypted=owner.notification_secret_encrypted or "",
        revision=alert.revision,
        created_ms=to_unix_ms(alert.created_at),
    )


def rule_config(
    values: AlertValues, alert_id: UUID, owner_id: UUID, owner_timezone: str
) -> AlertConfig:
    """Return the record of an alert with all that decides whether it fires, and nothing else."""
    return AlertConfig(
        alert_id=alert_id,
        owner_id=owner_id,
        name=values.name,
        description=values.description,
        enabled=values.enabled,
        plate_match_mode=values.plate_match_mode,
        plates=values.plates,
        camera_scope=values.camera_scope,
        camera_ids=values.camera_ids,
        schedule_enabled=values.schedule_enabled,
        schedule=values.schedule,
        timezone=values.timezone or owner_timezone,
        min_confidence=values.min_confidence,
        cooldown_minutes=values.cooldown_minutes,
        cooldown_scope=values.cooldown_scope,
        match_tolerance=values.match_tolerance,
        notifications_encrypted="",
        notification_secret_encrypted="",
        revision=0,
        created_ms=0,
    )
