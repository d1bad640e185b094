"""What commands show: aligned columns for people, times in their own zone, a bar for long work."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from api.cli.commands import fail

EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of the file, for example windows-1252; detected by default."),
]

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def show_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows under their names; nothing but the names is missing where there are none."""
    texts = [[("" if one is None else str(one)) for one in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    for line in ([*names], *texts):
        cells = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def show_json(value: Any) -> None:
    """Print JSON, readable for people and programs."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def show_skipped(found: Mapping[str, Any]) -> None:
    """Print the rows of a CSV file that an import skipped, on standard error."""
    for row in found["skipped"]:
        text = json.dumps(row["text"], ensure_ascii=False)
        typer.echo(f"line {row['line']}, {text}: {row['reason']}", err=True)


def local_time(text: str | None) -> str:
    """Return a time of the API in the time zone of this machine."""
    if not text:
        return "-"
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def moment(text: str) -> str:
    """Return a moment as the API takes it: ``30m``, ``24h`` and ``7d`` are so long ago."""
    if text[:-1].isdecimal() and text[-1] in _UNITS:
        ago = timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
        return (datetime.now(UTC) - ago).isoformat()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        fail(f"{text} is neither a date-time of ISO 8601 nor like 30m, 24h or 7d")
    # Without an offset it is the time of this machine, as a person writes it.
    return found.astimezone(UTC).isoformat()


def confirm(question: str, assured: bool) -> None:
    """Ask unless it is assured already; no ends the command."""
    if not assured:
        typer.confirm(question, abort=True, err=True)
