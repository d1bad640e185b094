"""``platestream``: the command line tool. A command's modules are imported when it is called."""

import importlib
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class _LazyCommand:
    """A command, or group of commands, by the place of its definition."""

    module: str
    attribute: str
    summary: str


_REMOTE: Final = "api.cli.remote"
_ANYWHERE: Final = {
    "search": _LazyCommand(f"{_REMOTE}.recognitions", "search", "Search recognitions."),
    "watch": _LazyCommand(f"{_REMOTE}.recognitions", "watch", "Show recognitions as they come."),
    "recognize": _LazyCommand(f"{_REMOTE}.recognitions", "recognize", "Read plates of photos."),
    "cameras": _LazyCommand(f"{_REMOTE}.cameras", "cameras_app", "Your cameras."),
    "alerts": _LazyCommand(f"{_REMOTE}.resources", "alerts_app", "Your alerts."),
    "webhooks": _LazyCommand(f"{_REMOTE}.resources", "webhooks_app", "Your webhooks."),
    "keys": _LazyCommand(f"{_REMOTE}.resources", "keys_app", "Your API keys."),
    "doctor": _LazyCommand(f"{_REMOTE}.doctor", "doctor", "Say what is wrong, if anything is."),
}
_INSTALLED: Final = {
    "evaluate": _LazyCommand(
        "api.cli.evaluation",
        "evaluate",
        "Measure the engine on labelled photos of your own; nothing is sent anywhere.",
    ),
    "owner": _LazyCommand("api.cli.accounts", "owner_app", "Accounts."),
    "key": _LazyCommand("api.cli.accounts", "key_app", "API keys of any account."),
    "camera": _LazyCommand("api.cli.installation", "camera_app", "Cameras of all accounts."),
    "analyst": _LazyCommand(
        "api.cli.analysts",
        "analyst_app",
        "Users of a ClickHouse server who read one account's rows.",
    ),
    "export": _LazyCommand("api.cli.exports", "export_app", "An account's recognitions as files."),
    "stack": _LazyCommand("api.cli.installation", "stack_app", "The servers of the installation."),
    "plate": _LazyCommand("api.cli.erasure", "plate_app", "Number plates."),
    "restore": _LazyCommand("api.cli.restore", "restore_app", "Before and after a restore."),
}
_COMMANDS: Final = _ANYWHERE | _INSTALLED
_SECTIONS: Final = {
    "By way of the API (PLATESTREAM_URL, PLATESTREAM_KEY)": _ANYWHERE,
    "On the service's machine, with its settings": _INSTALLED,
}


class _LazyGroup(TyperGroup):
    """The commands of the table; its help is shown without importing any of them."""

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
    help="Work with Platestream, and look after an installation of it.",
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
    """Work with Platestream, and look after an installation of it."""
