"""Implements ``platestream doctor``, which checks an account through the API."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx
import typer
from platestream_client import ApiError, Client
from platestream_client.calls import Call, whole

from api.cli.commands import JsonOption
from api.cli.remote.connection import connected
from api.cli.remote.shown import show_json

_GOOD, _POOR, _BAD = "ok", "warning", "fault"
_FEW_CREDITS: Final = 10
_CLOCK_S: Final = 30
_MISSING_SCOPE: Final = "missing_scope"


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    what: str
    grade: str
    sentence: str


def doctor(as_json: JsonOption = False) -> None:
    """Check service, cameras, alerts, webhooks and credits. Exits with status 1 on a fault."""
    with connected() as api:
        found = [finding for check in _CHECKS for finding in _findings(check, api)]
    if as_json:
        show_json({"findings": [vars(one) for one in found]})
    else:
        for one in found:
            typer.echo(f"{one.grade:8} {one.what}: {one.sentence}")
    if any(one.grade == _BAD for one in found):
        raise typer.Exit(1)


def _findings(check: Callable[[Client], Iterator[Finding]], api: Client) -> Iterator[Finding]:
    try:
        yield from check(api)
    except ApiError as error:
        if error.code != _MISSING_SCOPE:
            raise
        what = check.__name__.strip("_")
        yield Finding(what, _POOR, "the API key lacks the required scope")


def _service(api: Client) -> Iterator[Finding]:
    started = time.monotonic()
    remote = api.perform(Call("GET", "/healthz", _clock))
    took_ms = round((time.monotonic() - started) * 1000)
    yield Finding("service", _GOOD, f"responded in {took_ms} ms")
    if remote is not None:
        skew_s = abs((datetime.now(remote.tzinfo) - remote).total_seconds())
        grade = _GOOD if skew_s <= _CLOCK_S else _POOR
        yield Finding("clock", grade, f"differs from this machine's clock by {skew_s:.0f} s")


def _clock(answer: httpx.Response) -> datetime | None:
    """Return the time in the ``Date`` header, or None if the header is missing."""
    if answer.json()["status"] != "ok":
        raise ValueError
    date = answer.headers.get("Date")
    return parsedate_to_datetime(date) if date else None


def _cameras(api: Client) -> Iterator[Finding]:
    cameras = list(api.cameras.all())
    enabled = [camera for camera in cameras if camera["status"] != "disabled"]
    for camera in enabled:
        if camera["status"] != "online":
            yield Finding(f"camera {camera['name']}", _BAD, camera["lastError"] or camera["status"])
    online = sum(camera["status"] == "online" for camera in enabled)
    grade = _GOOD if enabled else _POOR
    yield Finding("cameras", grade, f"{online} of {len(enabled)} are online")


def _alerts(api: Client) -> Iterator[Finding]:
    listed = api.perform(Call("GET", "/api/alertas", whole))
    for alert in listed["alerts"]:
        notifications = alert["notifications"]
        if alert["plateMatchMode"] == "specific" and not alert["plates"]:
            yield Finding(f"alert {alert['name']}", _POOR, "never triggers: it has no plates")
        if not listed["sendsEmail"] and any(one["type"] == "email" for one in notifications):
            yield Finding(f"alert {alert['name']}", _BAD, "email is not configured on the server")
    enabled = sum(alert["enabled"] for alert in listed["alerts"])
    yield Finding("alerts", _GOOD, f"{enabled} of {len(listed['alerts'])} enabled")


def _webhooks(api: Client) -> Iterator[Finding]:
    webhooks = list(api.webhooks.all())
    for webhook in webhooks:
        if webhook["disabledReason"]:
            yield Finding(f"webhook {webhook['name']}", _BAD, webhook["disabledReason"])
        elif webhook["failureCount"]:
            count = webhook["failureCount"]
            yield Finding(f"webhook {webhook['name']}", _BAD, f"{count} failed deliveries")
    yield Finding("webhooks", _GOOD, f"{sum(one['enabled'] for one in webhooks)} enabled")


def _credits(api: Client) -> Iterator[Finding]:
    left = api.account.credits()["credits"]
    grade = _GOOD if left >= _FEW_CREDITS else _POOR
    yield Finding("credits", grade, f"{left} credits remaining")


_CHECKS: Final = (_service, _cameras, _alerts, _webhooks, _credits)
