"""What people are told of an alert, in words. Pure."""

from datetime import datetime
from zoneinfo import ZoneInfo

from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.deliveries import Delivery, DeliveryCause

Fact = tuple[str, str]
"""What it is, and what there is to say of it."""


def message_subject(delivery: Delivery) -> str:
    """Return the line that says it all."""
    trigger = delivery.trigger
    assert trigger is not None, delivery.event
    test = "[Test] " if delivery.cause is DeliveryCause.TEST else ""
    camera = trigger.recognition.camera_name
    return _one_line(f"{test}{trigger.alert.name}: {_named_plate(trigger)} at {camera}")


def message_fields(delivery: Delivery, public_url: str, warning: str | None) -> list[Fact]:
    """Return all that there is to tell; links lead to ``public_url``, empty: there is none.

    ``warning`` is what people are told of the limits of messages.
    """
    trigger = delivery.trigger
    assert trigger is not None, delivery.event
    is_test = delivery.cause is DeliveryCause.TEST
    facts = _test_facts(trigger, public_url) if is_test else _facts(trigger, public_url)
    return facts if warning is None else [*facts, ("Limit", warning)]


def local_moment(trigger: AlertTrigger, unix_ms: int) -> datetime:
    """Return a moment (Unix ms, UTC) in the time zone of a trigger's alert."""
    return datetime.fromtimestamp(unix_ms / 1000, tz=ZoneInfo(trigger.alert.timezone))


def _facts(trigger: AlertTrigger, public_url: str) -> list[Fact]:
    recognition = trigger.recognition
    moment = local_moment(trigger, recognition.captured_ms)
    facts = [
        ("Alert", trigger.alert.name),
        ("Plate", _named_plate(trigger)),
        ("Camera", recognition.camera_name),
        ("Time", f"{moment:%Y-%m-%d %H:%M:%S} ({trigger.alert.timezone})"),
        ("Confidence", f"{recognition.confidence:.0%}"),
        *_link(public_url, f"recognitions/{recognition.id}"),
    ]
    if trigger.is_late:
        facts.append(("Note", "Delayed: this was captured some time ago."))
    if trigger.phase is TriggerPhase.CORRECTED and trigger.early is not None:
        facts.append(
            ("Note", f"First read as {trigger.early.plate}; webhooks were notified of that.")
        )
    if trigger.alert.description:
        facts.append(("Description", trigger.alert.description))
    return facts


def _test_facts(trigger: AlertTrigger, public_url: str) -> list[Fact]:
    """Return what a test tells: of a plate that nobody saw, and so without a recognition."""
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


def _link(public_url: str, resource_path: str) -> list[Fact]:
    return [("Details", f"{public_url}/{resource_path}")] if public_url else []


def _one_line(text: str) -> str:
    return " ".join(text.split())
