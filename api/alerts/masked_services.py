"""Addresses of notifications that are hidden in reads, and kept if sent back. Pure."""

import secrets
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

import msgspec

from api.alerts.notification_schemas import AppriseNotificationBody
from api.alerts.schemas import AlertUpdate
from api.errors import ApiError, ErrorCode, FieldFault
from common.apprise.services import is_masked
from common.records.alerts import AppriseNotification, Notification, WebhookNotification

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


def with_kept_urls(
    sent: Sequence[Notification], stored: Sequence[Notification]
) -> tuple[Notification, ...]:
    """Return notifications with the stored URL in the place of each scheme and host alone.

    For a caller that is shown no more of a URL. Several stored URLs with one scheme and host are
    kept in their order, and only all together.

    Raises:
        ApiError: 400, where it is not clear which stored URL is meant.
    """
    hidden: defaultdict[str, deque[Notification]] = defaultdict(deque)
    for one in stored:
        if isinstance(one, WebhookNotification):
            hidden[one.masked().url].append(one)
    counts = Counter(one.url.lower() for one in sent if _is_reduced(one))
    faults = [
        FieldFault(_path(number), _UNCLEAR)
        for number, one in enumerate(sent)
        if _is_reduced(one) and counts[one.url.lower()] != len(hidden[one.masked().url])
    ]
    if faults:
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)
    return tuple(hidden[one.masked().url].popleft() if _is_reduced(one) else one for one in sent)


def refuse_reduced_urls(sent: Sequence[Notification], stored: Iterable[Notification]) -> None:
    """Refuse URLs of a new alert that are what a stored one is shown as: the rest would be lost.

    For a caller that is shown no more of a URL. ``stored`` are those of all alerts.

    Raises:
        ApiError: 400.
    """
    shown = {one.masked().url for one in stored if isinstance(one, WebhookNotification)}
    faults = [
        FieldFault(_path(number), _UNCLEAR)
        for number, one in enumerate(sent)
        if _is_reduced(one) and one.masked().url in shown
    ]
    if faults:
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)


_UNCLEAR = (
    "names scheme and host of a stored URL, and it is not clear which one: send the whole URL, with"
    " at least / as its path"
)


def _is_reduced(one: Notification) -> TypeGuard[WebhookNotification]:
    return isinstance(one, WebhookNotification) and one.masked().url == one.url.lower()


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
