"""Converts table rows to records on the configuration topics, by field name.

A field with the same name in the table and the record needs no code here.
"""

from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec

from api.db.tables import Alert, Base, Camera, Owner, Webhook
from api.validation.fields import to_unix_ms
from common.records.alerts import AlertConfig
from common.records.cameras import CameraConfig
from common.records.codec import Record
from common.records.owners import OwnerConfig
from common.records.webhooks import WebhookConfig

_R = TypeVar("_R", bound=Record)


def alert_config(alert: Alert, owner: Owner) -> AlertConfig:
    """Return the record of an alert. The time zone defaults to the account's time zone."""
    return _record(
        AlertConfig,
        alert,
        alert_id=alert.id,
        timezone=alert.timezone or owner.timezone,
        notification_secret_encrypted=owner.notification_secret_encrypted or "",
        created_ms=to_unix_ms(alert.created_at),
    )


def owner_config(owner: Owner) -> OwnerConfig:
    """Return the record of an account."""
    until = owner.previous_notification_secret_until
    return _record(
        OwnerConfig,
        owner,
        owner_id=owner.id,
        previous_notification_secret_until_ms=None if until is None else to_unix_ms(until),
    )


def camera_config(camera: Camera) -> CameraConfig:
    """Return the record of a camera."""
    return _record(
        CameraConfig, camera, camera_id=camera.id, created_ms=to_unix_ms(camera.created_at)
    )


def webhook_config(webhook: Webhook) -> WebhookConfig:
    """Return the record of a webhook."""
    until = webhook.previous_secret_until
    return _record(
        WebhookConfig,
        webhook,
        webhook_id=webhook.id,
        created_ms=to_unix_ms(webhook.created_at),
        previous_secret_until_ms=None if until is None else to_unix_ms(until),
    )


def _record(record_type: type[_R], row: Base, **others: Any) -> _R:
    """Return a record with the row's values, by field name, and with the fields ``others``."""
    columns = {
        name: getattr(row, name)
        for name in record_type.__struct_fields__
        if name in row.__table__.columns and name not in others
    }
    source = SimpleNamespace(**columns, **others)
    return msgspec.convert(source, record_type, from_attributes=True)
