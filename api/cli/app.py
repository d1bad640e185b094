"""Implements ``platestream``. The modules of a command are imported when the command is called."""

import importlib
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class _LazyCommand:
    """A command or group of commands, and the module that defines it."""

    module: str
    attribute: str
    summary: str


_REMOTE: Final = "api.cli.remote"
_ANYWHERE: Final = {
    "search": _LazyCommand(f"{_REMOTE}.recognitions", "search", "Search recognitions."),
    "watch": _LazyCommand(f"{_REMOTE}.recognitions", "watch", "Show new recognitions."),
    "recognize": _LazyCommand(f"{_REMOTE}.recognitions", "recognize", "Read plates in images."),
    "cameras": _LazyCommand(f"{_REMOTE}.cameras", "cameras_app", "Manage your cameras."),
    "alerts": _LazyCommand(f"{_REMOTE}.resources", "alerts_app", "Manage your alerts."),
    "webhooks": _LazyCommand(f"{_REMOTE}.resources", "webhooks_app", "Manage your webhooks."),
    "keys": _LazyCommand(f"{_REMOTE}.resources", "keys_app", "Manage your API keys."),
    "doctor": _LazyCommand(f"{_REMOTE}.doctor", "doctor", "Check the account for problems."),
}
_INSTALLED: Final = {
    "evaluate": _LazyCommand(
        "api.cli.evaluation",
        "evaluate",
        "Evaluate the recognition models on your own labelled photos, locally.",
    ),
    "owner": _LazyCommand("api.cli.accounts", "owner_app", "Manage accounts."),
    "key": _LazyCommand("api.cli.accounts", "key_app", "Create API keys for any account."),
    "camera": _LazyCommand("api.cli.installation", "camera_app", "List cameras of all accounts."),
    "analyst": _LazyCommand(
        "api.cli.analysts",
        "analyst_app",
        "Manage read-only ClickHouse users, each limited to one account.",
    ),
    "export": _LazyCommand("api.cli.exports", "export_app", "Export an account's recognitions."),
    "stack": _LazyCommand("api.cli.installation", "stack_app", "Check and prepare the servers."),
    "plate": _LazyCommand("api.cli.erasure", "plate_app", "Erase plates."),
    "restore": _LazyCommand("api.cli.restore", "restore_app", "Prepare and finish a restore."),
}
_COMMANDS: Final = _ANYWHERE | _INSTALLED
_SECTIONS: Final = {
    "API commands (require PLATESTREAM_URL and PLATESTREAM_KEY)": _ANYWHERE,
    "Administration commands (on the server, with its settings)": _INSTALLED,
}


class _LazyGroup(TyperGroup):
    """The group of all commands. Help is shown without importing the commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = _COMMANDS.get(cmd_name)
        if found is None:
            return None
        command = getattr(importlib.import_module(found.module), found.attribute)
        if not isinstance(command, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(cmd_name)(command)
            return typer.main.get_command(alone)
        return typer.main.get_command(command)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, each.summary) for name, each in commands.items()])


app = typer.Typer(
    cls=_LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Use a Platestream API, or administer an installation.",
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"platestream {version('platestream')}")
        raise typer.Exit


@app.callback()
def _platestream(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Use a Platestream API, or administer an installation."""
