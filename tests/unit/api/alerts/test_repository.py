"""Alerts as rows: the fields of a body by the names of columns, and the record of a row."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from cryptography.fernet import Fernet

from api.alerts.repository import AlertRepository, new_alert
from api.alerts.schemas import AlertUpdate, alert_body
from api.alerts.service import all_fields, sent_fields
from api.audit.plates import PlateHashes
from api.db.records import alert_config
from api.db.tables import Alert, Owner
from common.records.alerts import AlertConfig, AlertSchedule, EmailNotification, Weekday
from common.secrets import SecretBox
from tests.records import OWNER

BOX = SecretBox(Fernet.generate_key().decode())
ROWS = AlertRepository(BOX, PlateHashes("key"))
CREATED = datetime(2026, 11, 21, 8, tzinfo=UTC)
SENT: dict[str, Any] = {
    "name": "Stolen cars",
    "plates": ["AB12CDE", "XY*"],
    "cameraIds": [str(UUID(int=7))],
    "scheduleEnabled": True,
    "schedule": {"startTime": "22:00", "daysOfWeek": ["mon"]},
    "cooldownScope": "plate",
    "notifications": [
        {"type": "email", "addresses": ["guard@example.com"]},
        {"type": "webhook", "url": "https://receiver.example.com/"},
    ],
}


def _alert() -> Alert:
    """Return an alert as if it were read from its table: of text, lists and JSON only."""
    fields = all_fields(AlertUpdate.model_validate(SENT))
    alert = new_alert(OWNER, fields, id=UUID(int=1), revision=3, created_at=CREATED)
    alert.notifications_encrypted = ROWS._encrypted(fields["notifications"])
    alert.trigger_count, alert.last_triggered_at = 0, None
    alert.plate_match_mode = str(alert.plate_match_mode)
    alert.cooldown_scope = str(alert.cooldown_scope)
    return alert


def _changed(sent: dict[str, Any]) -> dict[str, Any]:
    return ROWS._changed(_alert(), sent_fields(AlertUpdate.model_validate(sent)))


def test_an_alert_becomes_its_record_by_the_names_of_its_columns() -> None:
    config = alert_config(_alert(), Owner(timezone="Europe/Lisbon"))
    assert config.alert_id == UUID(int=1)
    assert config.plates == ("AB12CDE", "XY*")
    assert config.camera_ids == (UUID(int=7),)
    assert config.schedule == AlertSchedule(start_time="22:00", days_of_week=(Weekday.MON,))
    assert config.timezone == "Europe/Lisbon"
    assert config.created_ms == 1_795_248_000_000
    assert config.notification_secret_encrypted == ""
    assert msgspec.json.decode(msgspec.json.encode(config), type=AlertConfig) == config


def test_what_was_read_and_is_sent_back_changes_nothing() -> None:
    assert _changed(SENT) == {}


@pytest.mark.parametrize(
    ("sent", "changed"),
    [
        ({"timezone": "Europe/Paris"}, {"timezone": "Europe/Paris"}),
        ({"name": "Stolen cars", "enabled": False}, {"enabled": False}),
        (
            {"schedule": {"endTime": "05:00"}},
            {"schedule": {"startTime": "22:00", "endTime": "05:00", "daysOfWeek": ["mon"]}},
        ),
    ],
    ids=["time zone", "one of two", "a part of the schedule"],
)
def test_only_columns_that_become_others_are_written(
    sent: dict[str, Any], changed: dict[str, Any]
) -> None:
    assert _changed(sent) == changed


def test_other_notifications_are_encrypted_again() -> None:
    changed = _changed({"notifications": SENT["notifications"][:1]})
    assert list(changed) == ["notifications_encrypted"]
    (kept,) = msgspec.json.decode(
        BOX.decrypt(changed["notifications_encrypted"]), type=tuple[EmailNotification, ...]
    )
    assert kept.addresses == ("guard@example.com",)


def test_reads_show_the_record_and_the_notifications() -> None:
    row = ROWS._row(_alert(), Owner(timezone="Europe/Lisbon"))
    shown = alert_body(row, shows_urls=True).model_dump(mode="json", by_alias=True)
    sent = {**SENT, "schedule": {**SENT["schedule"], "endTime": "23:59"}}
    assert shown == {**shown, **sent, "id": str(UUID(int=1)), "timezone": "Europe/Lisbon"}
    assert shown["cooldownMinutes"] == 5
    assert shown["createdAt"] == "2026-11-21T08:00:00.000Z"
    assert list(shown)[:3] == ["id", "name", "description"]
