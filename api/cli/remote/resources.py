"""Implements ``platestream alerts``, ``webhooks`` and ``keys`` for the API key's account."""

import json
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Annotated, Any, Final, cast

import typer
from platestream_client.models import (
    AlertBody,
    AlertCreate,
    AlertUpdate,
    ApiKeyBody,
    ApiKeyCreate,
    DeliveryBody,
    FileEncoding,
    WebhookBody,
    WebhookCreate,
)

from api.cli.commands import JsonOption, command_group, fail
from api.cli.remote.connection import Json, connected
from api.cli.remote.shown import (
    MOMENT_HELP,
    EncodingOption,
    YesOption,
    confirm,
    local_time,
    moment,
    show_answer,
    show_json,
    show_listed,
    show_skipped,
    yes_or_no,
)

alerts_app = command_group("Manage your alerts.")

AlertId = Annotated[str, typer.Argument(help="ID of the alert.")]
_ALERT_COLUMNS: Final[Mapping[str, Callable[[AlertBody], Any]]] = {
    "ID": itemgetter("id"),
    "NAME": itemgetter("name"),
    "ENABLED": lambda alert: yes_or_no(alert["enabled"]),
    "PLATES": lambda alert: "any" if alert["plateMatchMode"] == "any" else len(alert["plates"]),
    "TRIGGERED": itemgetter("triggerCount"),
    "LAST TRIGGER": lambda alert: local_time(alert["lastTriggeredAt"]),
}
PlatesFile = Annotated[
    typer.FileBinaryRead, typer.Argument(help="One plate per line, or CSV; - reads from stdin.")
]


@alerts_app.command("list")
def list_alerts(as_json: JsonOption = False) -> None:
    """List alerts."""
    with connected() as api:
        show_listed(as_json, "alerts", list(api.alerts.all()), _ALERT_COLUMNS)


@alerts_app.command("show")
def show_alert(alert_id: AlertId) -> None:
    """Print an alert as JSON, for example for ``alerts add --file``."""
    with connected() as api:
        show_json(api.alerts.get(alert_id))


@alerts_app.command("add")
def add_alert(
    name: Annotated[str | None, typer.Option(help="Name of the alert.")] = None,
    plate: Annotated[list[str] | None, typer.Option(help="Plate; * and ? are wildcards.")] = None,
    email: Annotated[list[str] | None, typer.Option(help="Email address to notify.")] = None,
    url: Annotated[list[str] | None, typer.Option(help="URL to notify.")] = None,
    cooldown_minutes: Annotated[float | None, typer.Option(help="Cooldown in minutes.")] = None,
    file: Annotated[
        typer.FileText | None, typer.Option(help="JSON file, or - for stdin. Options override it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create an alert, from options or from a JSON file with all fields."""
    body = _read(file)
    notifications: list[Json] = [{"type": "email", "addresses": email}] if email else []
    notifications += [{"type": "webhook", "url": one} for one in url or ()]
    options = {
        "name": name,
        "plates": plate or None,
        "cooldownMinutes": cooldown_minutes,
        "notifications": notifications or None,
    }
    body |= {field: value for field, value in options.items() if value is not None}
    with connected() as api:
        made = api.alerts.create(cast(AlertCreate, body))
    show_answer(as_json, {"alert": made}, f"created alert {made['id']}")


@alerts_app.command("plates")
def set_plates(
    alert_id: AlertId,
    file: PlatesFile,
    encoding: EncodingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the plates of an alert with the plates in a file.

    Exits with status 1 if rows were skipped. If all rows were skipped, the alert is not changed.
    """
    with connected() as api:
        given = cast(FileEncoding | None, encoding)
        found = api.alerts.read_csv(file.read(), encoding=given)
        body: AlertUpdate = {"plates": found["plates"]}
        if found["plateNames"]:
            body["plateNames"] = found["plateNames"]
        if not found["plates"] and found["skippedCount"]:
            show_skipped(found)
            fail("the file contains no usable plate; the alert was not changed")
        changed = api.alerts.update(alert_id, body)
    show_skipped(found)
    counts = f"{found['taken']} accepted, {found['duplicates']} duplicates"
    text = (
        f"{counts}, {found['skippedCount']} skipped ({found['encoding']})\n"
        f"{changed['name']} now has {len(changed['plates'])} plates"
    )
    show_answer(as_json, {"alert": changed, "import": found}, text)
    if found["skippedCount"]:
        raise typer.Exit(1)


@alerts_app.command("enable")
def enable(alert_id: AlertId) -> None:
    """Enable an alert."""
    with connected() as api:
        api.alerts.update(alert_id, {"enabled": True})


@alerts_app.command("disable")
def disable(alert_id: AlertId) -> None:
    """Disable an alert."""
    with connected() as api:
        api.alerts.update(alert_id, {"enabled": False})


@alerts_app.command("remove")
def remove_alert(alert_id: AlertId, yes: YesOption = False) -> None:
    """Delete an alert."""
    with connected() as api:
        alert = api.alerts.get(alert_id)
        confirm(f"Delete the alert {alert['name']}?", yes)
        api.alerts.delete(alert_id)


def _read(file: typer.FileText | None) -> Json:
    if file is None:
        return {}
    try:
        found = json.load(file)
    except ValueError as error:
        fail(f"the file is not valid JSON: {error}", error)
    if not isinstance(found, dict):
        fail("the file must contain a single JSON object")
    return found


webhooks_app = command_group("Manage your webhooks.")

_WEBHOOK_COLUMNS: Final[Mapping[str, Callable[[WebhookBody], Any]]] = {
    "ID": itemgetter("id"),
    "NAME": itemgetter("name"),
    "URL": itemgetter("url"),
    "ENABLED": lambda webhook: yes_or_no(webhook["enabled"]),
    "LAST DELIVERY": lambda webhook: local_time(webhook["lastDeliveryAt"]),
    "STATUS": itemgetter("lastDeliveryStatus"),
    "FAILED": itemgetter("failureCount"),
}
_DELIVERY_COLUMNS: Final[Mapping[str, Callable[[DeliveryBody], Any]]] = {
    "LAST ATTEMPT": lambda delivery: local_time(delivery["lastAttemptAt"]),
    "EVENT": itemgetter("event"),
    "OUTCOME": itemgetter("outcome"),
    "ATTEMPTS": itemgetter("attempts"),
    "STATUS": itemgetter("lastStatus"),
    "ERROR": itemgetter("lastError"),
    "ID": itemgetter("id"),
}
WebhookId = Annotated[str, typer.Argument(help="ID of the webhook.")]


@webhooks_app.command("list")
def list_webhooks(as_json: JsonOption = False) -> None:
    """List webhooks and the status of their last delivery."""
    with connected() as api:
        show_listed(as_json, "webhooks", list(api.webhooks.all()), _WEBHOOK_COLUMNS)


@webhooks_app.command("add")
def add_webhook(
    name: Annotated[str, typer.Argument(help="Name of the webhook.")],
    url: Annotated[str, typer.Argument(help="URL to which events are sent.")],
    event: Annotated[list[str], typer.Option(help="Event, for example alert.triggered.")],
    as_json: JsonOption = False,
) -> None:
    """Create a webhook and print its signing secret."""
    with connected() as api:
        made = api.webhooks.create(cast(WebhookCreate, {"name": name, "url": url, "events": event}))
    text = f"created webhook {made['id']}; signing secret {made['secret']}"
    show_answer(as_json, {"webhook": made}, text)


@webhooks_app.command("test")
def test_webhook(webhook_id: WebhookId, as_json: JsonOption = False) -> None:
    """Send a test event. ``webhooks deliveries`` shows the outcome."""
    with connected() as api:
        queued = api.webhooks.test(webhook_id)
    show_answer(as_json, {"delivery": queued}, f"queued {queued['event']}")


@webhooks_app.command("deliveries")
def deliveries(webhook_id: WebhookId, as_json: JsonOption = False) -> None:
    """List the latest deliveries of a webhook."""
    with connected() as api:
        found = api.webhooks.deliveries(webhook_id)
    show_listed(as_json, "deliveries", found, _DELIVERY_COLUMNS)


@webhooks_app.command("redeliver")
def redeliver(
    webhook_id: WebhookId, delivery_id: Annotated[str, typer.Argument(help="ID of the delivery.")]
) -> None:
    """Redeliver a delivery."""
    with connected() as api:
        api.webhooks.redeliver(webhook_id, delivery_id)


@webhooks_app.command("replay")
def replay(
    webhook_id: WebhookId,
    since: Annotated[str, typer.Option("--from", help=MOMENT_HELP)],
    until: Annotated[str, typer.Option("--to", help=MOMENT_HELP)] = "0m",
    as_json: JsonOption = False,
) -> None:
    """Replay past events from a time range."""
    with connected() as api:
        queued = api.webhooks.replay(webhook_id, moment(since), moment(until))
    show_answer(as_json, queued, f"queued {queued['queued']} events for replay")


@webhooks_app.command("remove")
def remove_webhook(webhook_id: WebhookId, yes: YesOption = False) -> None:
    """Delete a webhook."""
    with connected() as api:
        webhook = api.webhooks.get(webhook_id)
        confirm(f"Delete the webhook {webhook['name']}?", yes)
        api.webhooks.delete(webhook_id)


keys_app = command_group("Manage your API keys.")

_KEY_COLUMNS: Final[Mapping[str, Callable[[ApiKeyBody], Any]]] = {
    "ID": itemgetter("id"),
    "NAME": itemgetter("name"),
    "PREFIX": itemgetter("prefix"),
    "ENABLED": lambda key: yes_or_no(key["enabled"]),
    "LAST USED": lambda key: local_time(key["lastUsedAt"]),
    "EXPIRES": lambda key: local_time(key["expiresAt"]),
}


@keys_app.command("list")
def list_keys(as_json: JsonOption = False) -> None:
    """List API keys."""
    with connected() as api:
        show_listed(as_json, "apiKeys", list(api.api_keys.all()), _KEY_COLUMNS)


@keys_app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="Name of the API key.")],
    scope: Annotated[list[str], typer.Option(help="Scope, for example cameras:read.")],
    expires: Annotated[str | None, typer.Option(help="Expiry time (ISO 8601).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create an API key and print it. The key cannot be shown again."""
    body: dict[str, Any] = {"name": name, "scopes": scope}
    if expires is not None:
        body["expiresAt"] = moment(expires)
    with connected() as api:
        made = api.api_keys.create(cast(ApiKeyCreate, body))
    show_answer(as_json, made, made["plainKey"])


@keys_app.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="ID of the API key.")],
    yes: YesOption = False,
) -> None:
    """Revoke an API key. The key stops working immediately."""
    with connected() as api:
        key = api.api_keys.get(key_id)
        confirm(f"Revoke the API key {key['name']}?", yes)
        api.api_keys.revoke(key_id)
