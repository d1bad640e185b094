"""``platestream``: the command line tool. A command's modules are imported when it is called."""

import importlib
from dataclasses import dataclass
from typing import Any, Final

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class _LazyCommand:
    """A command, or group of commands, by the place of its definition."""

    module: str
    attribute: str
    summary: str


_COMMANDS: Final = {
    "evaluate": _LazyCommand(
        "tools.evaluation.cli",
        "evaluate_app",
        "Measure the engine on labelled photos of your own; nothing is sent anywhere.",
    ),
    "owner": _LazyCommand("api.cli.accounts", "owner_app", "Accounts."),
    "key": _LazyCommand("api.cli.accounts", "key_app", "API keys."),
    "camera": _LazyCommand("api.cli.installation", "camera_app", "Cameras."),
    "analyst": _LazyCommand(
        "api.cli.analysts", "analyst_app", "Users of ClickHouse who may read one account's rows."
    ),
    "export": _LazyCommand("api.cli.exports", "export_app", "An account's recognitions as files."),
    "stack": _LazyCommand("api.cli.installation", "stack_app", "The servers of the installation."),
    "plate": _LazyCommand("api.cli.erasure", "plate_app", "Number plates."),
}


class _LazyGroup(TyperGroup):
    """The commands of the table; its help is shown without importing any of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = _COMMANDS.get(cmd_name)
        if found is None:
            return None
        group = getattr(importlib.import_module(found.module), found.attribute)
        return typer.main.get_command(group)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.summary) for name, each in _COMMANDS.items()])


app = typer.Typer(
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Look after a Platestream installation.",
)


@app.callback()
def _platestream() -> None:
    """Look after a Platestream installation."""
