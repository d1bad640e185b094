"""``platestream alerts``: the alerts of the account whose key is used."""

import json
from typing import Annotated, Any, cast

import typer
from platestream_client.models import AlertBody, AlertCreate, AlertUpdate, FileEncoding

from api.cli.commands import JsonOption, command_group, fail
from api.cli.remote.connection import Json, connected
from api.cli.remote.shown import (
    EncodingOption,
    confirm,
    local_time,
    show_json,
    show_skipped,
    show_table,
)

alerts_app = command_group("Your alerts.")

AlertId = Annotated[str, typer.Argument(help="Id of the alert.")]
PlatesFile = Annotated[
    typer.FileBinaryRead, typer.Argument(help="A plate on each line, or a CSV file; or -.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@alerts_app.command("list")
def list_alerts(as_json: JsonOption = False) -> None:
    """Show the alerts."""
    with connected() as api:
        found = list(api.alerts.all())
    if as_json:
        show_json({"alerts": found})
        return
    names = ("ID", "NAME", "ENABLED", "PLATES", "FIRED", "LAST")
    show_table(names, map(_row, found))


@alerts_app.command("show")
def show(alert_id: AlertId) -> None:
    """Show one alert as JSON; ``alerts add --file`` takes it back."""
    with connected() as api:
        show_json(api.alerts.get(alert_id))


@alerts_app.command("add")
def add(
    name: Annotated[str | None, typer.Option(help="Name of the alert.")] = None,
    plate: Annotated[list[str] | None, typer.Option(help="A plate; * and ? stand for any.")] = None,
    email: Annotated[list[str] | None, typer.Option(help="An address to write to.")] = None,
    url: Annotated[list[str] | None, typer.Option(help="A URL to send to.")] = None,
    cooldown_minutes: Annotated[float | None, typer.Option(help="Minutes of silence.")] = None,
    file: Annotated[
        typer.FileText | None, typer.Option(help="All fields as JSON; or -. Options go before it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an alert: of some plates, told to some addresses, or all that a JSON file says."""
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
    if as_json:
        show_json({"alert": made})
    else:
        typer.echo(f"alert {made['id']}")


@alerts_app.command("plates")
def set_plates(
    alert_id: AlertId,
    file: PlatesFile,
    encoding: EncodingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the plates of an alert with those of a file; exit with 1 if rows were skipped.

    The alert is not changed if all rows were skipped.
    """
    with connected() as api:
        given = cast(FileEncoding | None, encoding)
        found = api.alerts.read_csv(file.read(), encoding=given)
        body: AlertUpdate = {"plates": found["plates"]}
        if found["plateNames"]:
            body["plateNames"] = found["plateNames"]
        if not found["plates"] and found["skippedCount"]:
            show_skipped(found)
            fail("the file has no plate that can be used; the alert is not changed")
        changed = api.alerts.update(alert_id, body)
    show_skipped(found)
    if as_json:
        show_json({"alert": changed, "import": found})
    else:
        counts = f"{found['taken']} taken, {found['duplicates']} duplicates"
        typer.echo(f"{counts}, {found['skippedCount']} skipped ({found['encoding']})")
        typer.echo(f"{changed['name']} has {len(changed['plates'])} plates")
    if found["skippedCount"]:
        raise typer.Exit(1)


@alerts_app.command("enable")
def enable(alert_id: AlertId) -> None:
    """Let an alert fire."""
    with connected() as api:
        api.alerts.update(alert_id, {"enabled": True})


@alerts_app.command("disable")
def disable(alert_id: AlertId) -> None:
    """Let an alert fire no longer."""
    with connected() as api:
        api.alerts.update(alert_id, {"enabled": False})


@alerts_app.command("remove")
def remove(alert_id: AlertId, yes: YesOption = False) -> None:
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
        fail(f"the file is not JSON: {error}", error)
    if not isinstance(found, dict):
        fail("the file must hold one JSON object")
    return found


def _row(alert: AlertBody) -> tuple[Any, ...]:
    return (
        alert["id"],
        alert["name"],
        "yes" if alert["enabled"] else "no",
        alert["plateMatchMode"] if alert["plateMatchMode"] == "any" else len(alert["plates"]),
        alert["triggerCount"],
        local_time(alert["lastTriggeredAt"]),
    )
