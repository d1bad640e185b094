"""The e-mail of an alert: a plain and an HTML part, the plate's crop, a link. Pure."""

from email.message import EmailMessage
from html import escape

from common.mail.message import new_message
from common.records.deliveries import Delivery
from streams.webhooks.delivery.wording import facts_of, local_moment, subject_of

_CROP_ID = "crop@platestream"


def email_message(
    delivery: Delivery,
    address: str,
    *,
    sender: str,
    public_url: str,
    notice: str | None,
    crop: bytes | None,
) -> EmailMessage:
    """Return the message that tells ``address`` of an alert.

    ``notice`` is what it is told of limits; ``crop`` is a JPEG. The same delivery gives the same
    Message-ID, so that one sent twice shows as one.
    """
    trigger = delivery.trigger
    assert trigger is not None, delivery.event
    facts = facts_of(delivery, public_url, notice)
    message = new_message(
        sender=sender,
        address=address,
        subject=subject_of(delivery),
        at=local_moment(trigger, trigger.decided_ms),
        identifier=str(delivery.id),
    )
    message.set_content("\n".join(f"{name}: {value}" for name, value in facts) + "\n")
    message.add_alternative(_page(facts, has_crop=crop is not None), subtype="html")
    if crop is not None:
        html = message.get_body(("html",))
        assert html is not None
        html.add_related(crop, "image", "jpeg", cid=f"<{_CROP_ID}>", filename="plate.jpg")
    return message


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
