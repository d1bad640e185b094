"""Formats the output of commands: aligned columns, local times, JSON."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from api.cli.commands import fail

EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of the file, for example windows-1252; detected by default."),
]

YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
MOMENT_HELP: Final = "ISO 8601 date-time, or how long ago: 30m, 24h or 7d."

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def show_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table with a header. Without rows, print only the header."""
    texts = [[("" if one is None else str(one)) for one in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    for line in ([*names], *texts):
        cells = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def show_listed(
    as_json: bool, name: str, entries: Sequence[Any], columns: Mapping[str, Callable[[Any], Any]]
) -> None:
    """Print a table of ``entries``, or a JSON object that contains them in the field ``name``."""
    if as_json:
        show_json({name: entries})
    else:
        show_table([*columns], ([value(one) for value in columns.values()] for one in entries))


def show_answer(as_json: bool, fields: Mapping[str, Any], text: str) -> None:
    """Print the result of a command, as JSON or as text."""
    if as_json:
        show_json(fields)
    else:
        typer.echo(text)


def show_json(value: Any) -> None:
    """Print indented JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def show_skipped(found: Mapping[str, Any]) -> None:
    """Print to standard error the rows that an import skipped."""
    for row in found["skipped"]:
        text = json.dumps(row["text"], ensure_ascii=False)
        typer.echo(f"line {row['line']}, {text}: {row['reason']}", err=True)


def yes_or_no(value: bool) -> str:
    """Return ``yes`` or ``no``, for a table."""
    return "yes" if value else "no"


def local_time(text: str | None) -> str:
    """Return an API time in this machine's time zone, or ``-`` if ``text`` is empty."""
    if not text:
        return "-"
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def moment(text: str) -> str:
    """Return a time in the format of the API. ``30m``, ``24h`` and ``7d`` count back from now."""
    if text[:-1].isdecimal() and text[-1] in _UNITS:
        ago = timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
        return (datetime.now(UTC) - ago).isoformat()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        fail(f"{text!r} is neither an ISO 8601 date-time nor a duration such as 30m, 24h or 7d")
    # A time without an offset is in this machine's time zone.
    return found.astimezone(UTC).isoformat()


def confirm(question: str, confirmed: bool) -> None:
    """Ask for confirmation unless already ``confirmed``. Answering no ends the command."""
    if not confirmed:
        typer.confirm(question, abort=True, err=True)
