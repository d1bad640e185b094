"""``platestream webhooks``: the webhooks of the account whose key is used."""

from typing import Annotated, Any

import typer

from api.cli.commands import JsonOption, command_group
from api.cli.remote.connection import Json, connected
from api.cli.remote.shown import confirm, local_time, moment, show_json, show_table

webhooks_app = command_group("Your webhooks.")

WebhookId = Annotated[str, typer.Argument(help="Id of the webhook.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
_MOMENT = "An ISO 8601 date-time, or 30m, 24h, 7d ago."


@webhooks_app.command("list")
def list_webhooks(as_json: JsonOption = False) -> None:
    """Show the webhooks and how their last delivery went."""
    with connected() as api:
        found = list(api.every("/api/webhooks", "webhooks"))
    if as_json:
        show_json({"webhooks": found})
        return
    show_table(("ID", "NAME", "URL", "ENABLED", "LAST", "STATUS", "GIVEN UP"), map(_row, found))


@webhooks_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Name of the webhook.")],
    url: Annotated[str, typer.Argument(help="Where events are sent.")],
    event: Annotated[list[str], typer.Option(help="An event, for example alert.triggered.")],
    as_json: JsonOption = False,
) -> None:
    """Register a webhook; its signing secret is shown."""
    with connected() as api:
        made = api.post("/api/webhooks", {"name": name, "url": url, "events": event})
    if as_json:
        show_json(made)
    else:
        typer.echo(f"webhook {made['webhook']['id']}, secret {made['webhook']['secret']}")


@webhooks_app.command("test")
def test(webhook_id: WebhookId, as_json: JsonOption = False) -> None:
    """Send a made-up event; ``webhooks deliveries`` shows what came of it."""
    with connected() as api:
        queued = api.post(f"/api/webhooks/{webhook_id}/test")
    if as_json:
        show_json(queued)
    else:
        typer.echo(f"{queued['delivery']['event']} is sent")


@webhooks_app.command("deliveries")
def deliveries(webhook_id: WebhookId, as_json: JsonOption = False) -> None:
    """Show the latest deliveries."""
    with connected() as api:
        found = api.get(f"/api/webhooks/{webhook_id}/deliveries")
    if as_json:
        show_json(found)
        return
    names = ("LAST TRIED", "EVENT", "OUTCOME", "ATTEMPTS", "STATUS", "FAULT", "ID")
    show_table(names, map(_delivery, found["deliveries"]))


@webhooks_app.command("redeliver")
def redeliver(
    webhook_id: WebhookId, delivery_id: Annotated[str, typer.Argument(help="Id of the delivery.")]
) -> None:
    """Send one delivery again."""
    with connected() as api:
        api.post(f"/api/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver")


@webhooks_app.command("replay")
def replay(
    webhook_id: WebhookId,
    since: Annotated[str, typer.Option("--from", help=_MOMENT)],
    until: Annotated[str, typer.Option("--to", help=_MOMENT)] = "0m",
    as_json: JsonOption = False,
) -> None:
    """Send the events of a time again."""
    with connected() as api:
        body = {"from": moment(since), "to": moment(until)}
        queued = api.post(f"/api/webhooks/{webhook_id}/replay", body)
    if as_json:
        show_json(queued)
    else:
        typer.echo(f"{queued['queued']} events are sent again")


@webhooks_app.command("remove")
def remove(webhook_id: WebhookId, yes: YesOption = False) -> None:
    """Delete a webhook."""
    with connected() as api:
        webhook = api.get(f"/api/webhooks/{webhook_id}")["webhook"]
        confirm(f"Delete the webhook {webhook['name']}?", yes)
        api.delete(f"/api/webhooks/{webhook_id}")


def _row(webhook: Json) -> tuple[Any, ...]:
    return (
        *(webhook[field] for field in ("id", "name", "url")),
        "yes" if webhook["enabled"] else "no",
        local_time(webhook["lastDeliveryAt"]),
        webhook["lastDeliveryStatus"],
        webhook["failureCount"],
    )


def _delivery(delivery: Json) -> tuple[Any, ...]:
    return (
        local_time(delivery["lastAttemptAt"]),
        *(delivery[field] for field in ("event", "outcome", "attempts", "lastStatus")),
        delivery["lastError"],
        delivery["id"],
    )
