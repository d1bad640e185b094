"""The e-mail of an alert: a plain and an HTML part, the plate's crop, a link. Pure."""

from datetime import datetime
from email.message import EmailMessage
from html import escape
from zoneinfo import ZoneInfo

from common.mail.message import new_message
from common.records.alerts import AlertTrigger, TriggerPhase
from common.records.deliveries import Delivery, DeliveryCause

_CROP_ID = "crop@platestream"


def email_message(
    delivery: Delivery, address: str, *, sender: str, public_url: str, crop: bytes | None
) -> EmailMessage:
    """Return the message that tells ``address`` of an alert.

    ``crop`` is a JPEG. The same delivery gives the same Message-ID, so that one sent twice shows as
    one.
    """
    trigger = delivery.trigger
    assert trigger is not None, delivery.event
    is_test = delivery.cause is DeliveryCause.TEST
    facts = _test_facts(trigger, public_url) if is_test else _facts(trigger, public_url)
    message = new_message(
        sender=sender,
        address=address,
        subject=f"{'Test of ' if is_test else ''}{trigger.alert.name}:"
        f" {trigger.recognition.plate} at {trigger.recognition.camera_name}",
        at=_moment(trigger, trigger.decided_ms),
        identifier=str(delivery.id),
    )
    message.set_content("\n".join(f"{name}: {value}" for name, value in facts) + "\n")
    message.add_alternative(_page(facts, has_crop=crop is not None), subtype="html")
    if crop is not None:
        html = message.get_body(("html",))
        assert html is not None
        html.add_related(crop, "image", "jpeg", cid=f"<{_CROP_ID}>", filename="plate.jpg")
    return message


def _facts(trigger: AlertTrigger, public_url: str) -> list[tuple[str, str]]:
    recognition = trigger.recognition
    moment = _moment(trigger, recognition.captured_ms)
    facts = [
        ("Alert", trigger.alert.name),
        ("Plate", recognition.plate),
        ("Camera", recognition.camera_name),
        ("Seen", f"{moment:%Y-%m-%d %H:%M:%S} ({trigger.alert.timezone})"),
        ("Confidence", f"{recognition.confidence:.0%}"),
        ("Details", f"{public_url}/recognitions/{recognition.id}"),
    ]
    if trigger.is_late:
        facts.append(("Note", "The camera was cut off: this was seen a while ago."))
    if trigger.phase is TriggerPhase.CORRECTED and trigger.early is not None:
        facts.append(
            ("Note", f"Read as {trigger.early.plate} at first; webhooks were notified of that.")
        )
    if trigger.alert.description:
        facts.append(("Description", trigger.alert.description))
    return facts


def _test_facts(trigger: AlertTrigger, public_url: str) -> list[tuple[str, str]]:
    """Return what a test tells: of a plate that nobody saw, and so without a recognition."""
    return [
        ("Test", "Somebody asked for this e-mail; no vehicle passed."),
        ("Alert", trigger.alert.name),
        ("Plate", trigger.recognition.plate),
        ("Camera", trigger.recognition.camera_name),
        ("Details", f"{public_url}/alerts/{trigger.alert.alert_id}"),
    ]


def _page(facts: list[tuple[str, str]], *, has_crop: bool) -> str:
    rows = "".join(
        f"<tr><th align='left'>{escape(name)}</th><td>{_cell(value)}</td></tr>"
        for name, value in facts
    )
    picture = f"<p><img src='cid:{_CROP_ID}' alt='plate'></p>" if has_crop else ""
    return f"<html><body>{picture}<table>{rows}</table></body></html>"


def _cell(value: str) -> str:
    if value.startswith(("http://", "https://")):
        return f"<a href='{escape(value)}'>{escape(value)}</a>"
    return escape(value)


def _moment(trigger: AlertTrigger, unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, tz=ZoneInfo(trigger.alert.timezone))
