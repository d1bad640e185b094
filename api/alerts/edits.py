"""From what a client sent to the values of an alert."""

from dataclasses import replace
from typing import Any

import msgspec

from api.alerts.fields import EmailNotificationBody, ScheduleBody, WebhookNotificationBody
from api.alerts.models import AlertValues
from api.alerts.schemas import AlertUpdate
from contracts.alerts import AlertSchedule, EmailNotification, Notification, WebhookNotification


def new_values(body: AlertUpdate) -> AlertValues:
    """Return the values of a new alert."""
    return AlertValues(**_values(body, set(AlertUpdate.model_fields), AlertSchedule()))


def edited_values(current: AlertValues, body: AlertUpdate) -> AlertValues:
    """Return ``current`` with the fields that were sent; equal to it where nothing changes."""
    return replace(current, **_values(body, body.model_fields_set, current.schedule))


def outbound_urls(body: AlertUpdate) -> list[tuple[str, str]]:
    """Return the URLs among the notifications, each with the path of its field."""
    return [
        (f"notifications.{number}.url", notification.url)
        for number, notification in enumerate(body.notifications)
        if isinstance(notification, WebhookNotificationBody)
    ]


def _values(body: AlertUpdate, names: set[str], schedule: AlertSchedule) -> dict[str, Any]:
    """Return the named fields as the rest of the service knows them."""
    values: dict[str, Any] = {name: getattr(body, name) for name in names}
    for name in {"plates", "camera_ids"} & names:
        values[name] = tuple(values[name])
    if "schedule" in names:
        values["schedule"] = _schedule(schedule, body.schedule)
    if "notifications" in names:
        values["notifications"] = tuple(map(_notification, body.notifications))
    return values


def _schedule(current: AlertSchedule, body: ScheduleBody) -> AlertSchedule:
    sent: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    if "days_of_week" in sent:
        sent["days_of_week"] = tuple(body.days_of_week)
    return msgspec.structs.replace(current, **sent)


def _notification(body: EmailNotificationBody | WebhookNotificationBody) -> Notification:
    if isinstance(body, EmailNotificationBody):
        return EmailNotification(addresses=tuple(body.addresses))
    return WebhookNotification(url=body.url)
