"""``platestream webhooks``: the webhooks of the account whose key is used."""

from typing import Annotated, Any, cast

import typer
from platestream_client.models import DeliveryBody, WebhookBody, WebhookCreate

from api.cli.commands import JsonOption, command_group
from api.cli.remote.connection import connected
from api.cli.remote.shown import confirm, local_time, moment, show_json, show_table

webhooks_app = command_group("Your webhooks.")

WebhookId = Annotated[str, typer.Argument(help="Id of the webhook.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
_MOMENT = "An ISO 8601 date-time, or 30m, 24h, 7d ago."


@webhooks_app.command("list")
def list_webhooks(as_json: JsonOption = False) -> None:
    """Show the webhooks and how their last delivery went."""
    with connected() as api:
        found = list(api.webhooks.all())
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
        made = api.webhooks.create(cast(WebhookCreate, {"name": name, "url": url, "events": event}))
    if as_json:
        show_json({"webhook": made})
    else:
        typer.echo(f"webhook {made['id']}, secret {made['secret']}")


@webhooks_app.command("test")
def test(webhook_id: WebhookId, as_json: JsonOption = False) -> None:
    """Send a made-up event; ``webhooks deliveries`` shows what came of it."""
    with connected() as api:
        queued = api.webhooks.test(webhook_id)
    if as_json:
        show_json({"delivery": queued})
    else:
        typer.echo(f"{queued['event']} is sent")


@webhooks_app.command("deliveries")
def deliveries(webhook_id: WebhookId, as_json: JsonOption = False) -> None:
    """Show the latest deliveries."""
    with connected() as api:
        found = api.webhooks.deliveries(webhook_id)
    if as_json:
        show_json({"deliveries": found})
        return
    names = ("LAST TRIED", "EVENT", "OUTCOME", "ATTEMPTS", "STATUS", "FAULT", "ID")
    show_table(names, map(_delivery, found))


@webhooks_app.command("redeliver")
def redeliver(
    webhook_id: WebhookId, delivery_id: Annotated[str, typer.Argument(help="Id of the delivery.")]
) -> None:
    """Send one delivery again."""
    with connected() as api:
        api.webhooks.redeliver(webhook_id, delivery_id)


@webhooks_app.command("replay")
def replay(
    webhook_id: WebhookId,
    since: Annotated[str, typer.Option("--from", help=_MOMENT)],
    until: Annotated[str, typer.Option("--to", help=_MOMENT)] = "0m",
    as_json: JsonOption = False,
) -> None:
    """Send the events of a time again."""
    with connected() as api:
        queued = api.webhooks.replay(webhook_id, moment(since), moment(until))
    if as_json:
        show_json(queued)
    else:
        typer.echo(f"{queued['queued']} events are sent again")


@webhooks_app.command("remove")
def remove(webhook_id: WebhookId, yes: YesOption = False) -> None:
    """Delete a webhook."""
    with connected() as api:
        webhook = api.webhooks.get(webhook_id)
        confirm(f"Delete the webhook {webhook['name']}?", yes)
        api.webhooks.delete(webhook_id)


def _row(webhook: WebhookBody) -> tuple[Any, ...]:
    return (
        webhook["id"],
        webhook["name"],
        webhook["url"],
        "yes" if webhook["enabled"] else "no",
        local_time(webhook["lastDeliveryAt"]),
        webhook["lastDeliveryStatus"],
        webhook["failureCount"],
    )


def _delivery(delivery: DeliveryBody) -> tuple[Any, ...]:
    return (
        local_time(delivery["lastAttemptAt"]),
        delivery["event"],
        delivery["outcome"],
        delivery["attempts"],
        delivery["lastStatus"],
        delivery["lastError"],
        delivery["id"],
    )
