"""Creates the text of alert notifications. No I/O."""

from datetime import datetime
from zoneinfo import ZoneInfo

from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.deliveries import Delivery, DeliveryCause

MessageField = tuple[str, str]
"""The label and value of a field."""


def message_subject(delivery: Delivery) -> str:
    """Return the subject line."""
    trigger = delivery.trigger
    assert trigger is not None, delivery.event
    test = "[Test] " if delivery.cause is DeliveryCause.TEST else ""
    camera = trigger.recognition.camera_name
    return _one_line(f"{test}{trigger.alert.name}: {_named_plate(trigger)} at {camera}")


def message_fields(delivery: Delivery, public_url: str, warning: str | None) -> list[MessageField]:
    """Return all fields. Links lead to ``public_url``. If this is empty, there are no links.

    ``warning`` is a text about the limits of notifications, or None.
    """
    trigger = delivery.trigger
    assert trigger is not None, delivery.event
    is_test = delivery.cause is DeliveryCause.TEST
    fields = _test_fields(trigger, public_url) if is_test else _fields(trigger, public_url)
    return fields if warning is None else [*fields, ("Limit", warning)]


def local_time(trigger: AlertTrigger, unix_ms: int) -> datetime:
    """Return a time (Unix ms, UTC) in the time zone of a trigger's alert."""
    return datetime.fromtimestamp(unix_ms / 1000, tz=ZoneInfo(trigger.alert.timezone))


def _fields(trigger: AlertTrigger, public_url: str) -> list[MessageField]:
    recognition = trigger.recognition
    moment = local_time(trigger, recognition.captured_ms)
    fields = [
        ("Alert", trigger.alert.name),
        ("Plate", _named_plate(trigger)),
        ("Camera", recognition.camera_name),
        ("Time", f"{moment:%Y-%m-%d %H:%M:%S} ({trigger.alert.timezone})"),
        ("Confidence", f"{recognition.confidence:.0%}"),
        *_link(public_url, f"recognitions/{recognition.id}"),
    ]
    if trigger.is_late:
        fields.append(("Note", "Delayed: the image was captured some time ago."))
    if trigger.phase is TriggerPhase.CORRECTED and trigger.early is not None:
        fields.append(
            ("Note", f"First read as {trigger.early.plate}; webhooks received this reading.")
        )
    if trigger.alert.description:
        fields.append(("Description", trigger.alert.description))
    return fields


def _test_fields(trigger: AlertTrigger, public_url: str) -> list[MessageField]:
    """Return the fields of a test message, which has no detected plate and no recognition."""
    return [
        ("Test", "This is a test message. No vehicle was detected."),
        ("Alert", trigger.alert.name),
        ("Plate", trigger.recognition.plate),
        ("Camera", trigger.recognition.camera_name),
        *_link(public_url, f"alerts/{trigger.alert.alert_id}"),
    ]


def _named_plate(trigger: AlertTrigger) -> str:
    plate = trigger.recognition.plate
    name = trigger.alert.plate_name(plate)
    return plate if name is None else f"{plate} ({name})"


def _link(public_url: str, resource_path: str) -> list[MessageField]:
    return [("Details", f"{public_url}/{resource_path}")] if public_url else []


def _one_line(text: str) -> str:
    return " ".join(text.split())
