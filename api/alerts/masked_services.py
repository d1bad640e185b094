"""Apprise addresses among an alert's notifications: masked in reads, kept where sent back. Pure."""

import secrets
from collections.abc import Iterator, Sequence

import msgspec

from api.alerts.schemas import AlertUpdate, AppriseNotificationBody
from api.errors import ApiError, ErrorCode, FieldFault
from common.apprise.services import is_masked
from common.records.alerts import AppriseNotification, Notification

_ID_BYTES = 4


def service_urls(body: AlertUpdate) -> list[tuple[str, str]]:
    """Return the whole Apprise addresses among the notifications, each with its field's path."""
    return [
        (_path(number), notification.url)
        for number, notification in enumerate(body.notifications)
        if isinstance(notification, AppriseNotificationBody) and not is_masked(notification.url)
    ]


def with_kept_services(
    sent: Sequence[Notification], stored: Sequence[Notification]
) -> tuple[Notification, ...]:
    """Return notifications with what is stored in the place of each masked address.

    That is the one of the same id; without an id, the one in the same place. Each gets an id.

    Raises:
        ApiError: 400, where none is stored for a masked address.
    """
    kept: list[Notification] = []
    faults: list[FieldFault] = []
    used: set[str] = set()
    for number, one in enumerate(sent):
        if not isinstance(one, AppriseNotification):
            kept.append(one)
            continue
        known = _known(one, number, sent, stored)
        if is_masked(one.url):
            if known is None or known.masked().url != one.url:
                faults.append(FieldFault(_path(number), _UNKNOWN))
                continue
            one = known
        identifier = "" if known is None or known.id in used else known.id
        identifier = identifier or secrets.token_hex(_ID_BYTES)
        used.add(identifier)
        kept.append(msgspec.structs.replace(one, id=identifier))
    if faults:
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)
    return tuple(kept)


_UNKNOWN = "*** stands for a stored address, and none is stored for this notification: send it"


def _known(
    one: AppriseNotification,
    number: int,
    sent: Sequence[Notification],
    stored: Sequence[Notification],
) -> AppriseNotification | None:
    if one.id:
        return next((each for each in _services(stored) if each.id == one.id), None)
    # In a shorter list those behind one that is gone have moved up.
    there = stored[number] if number < len(stored) <= len(sent) else None
    return there if isinstance(there, AppriseNotification) else None


def _services(notifications: Sequence[Notification]) -> Iterator[AppriseNotification]:
    return (one for one in notifications if isinstance(one, AppriseNotification))


def _path(number: int) -> str:
    return f"notifications.{number}.url"
