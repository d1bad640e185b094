"""``platestream keys``: the API keys of the account whose key is used."""

from typing import Annotated, Any, cast

import typer
from platestream_client.models import ApiKeyBody, ApiKeyCreate

from api.cli.commands import JsonOption, command_group
from api.cli.remote.connection import connected
from api.cli.remote.shown import confirm, local_time, moment, show_json, show_table

keys_app = command_group("Your API keys.")


@keys_app.command("list")
def list_keys(as_json: JsonOption = False) -> None:
    """Show the keys by their first characters."""
    with connected() as api:
        found = list(api.api_keys.all())
    if as_json:
        show_json({"apiKeys": found})
        return
    show_table(("ID", "NAME", "PREFIX", "ENABLED", "LAST USED", "ENDS"), map(_row, found))


@keys_app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="A name to know the key by.")],
    scope: Annotated[list[str], typer.Option(help="A scope, for example cameras:read.")],
    expires: Annotated[str | None, typer.Option(help="An ISO 8601 date-time.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key; it is shown this once."""
    body: dict[str, Any] = {"name": name, "scopes": scope}
    if expires is not None:
        body["expiresAt"] = moment(expires)
    with connected() as api:
        made = api.api_keys.create(cast(ApiKeyCreate, body))
    if as_json:
        show_json(made)
    else:
        typer.echo(made["plainKey"])


@keys_app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="Id of the key.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a key: it is refused from now on."""
    with connected() as api:
        key = api.api_keys.get(key_id)
        confirm(f"Delete the key {key['name']}?", yes)
        api.api_keys.revoke(key_id)


def _row(key: ApiKeyBody) -> tuple[Any, ...]:
    return (
        key["id"],
        key["name"],
        key["prefix"],
        "yes" if key["enabled"] else "no",
        local_time(key["lastUsedAt"]),
        local_time(key["expiresAt"]),
    )
