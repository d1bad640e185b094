"""Implements ``platestream export``, which writes recognitions from ClickHouse to files."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from api.accounts.service import owner_by_email
from api.cli.commands import JsonOption, answer, fail
from api.cli.shared import (
    EmailOption,
    exit_on_service_error,
    in_database,
    settings_with_logs,
)
from common.errors import InvalidInputError, TransientError
from common.plates.normalise import typed_plate
from common.settings import ClickHouseSettings

if TYPE_CHECKING:
    from analytics_sql.client import ClickHouseClient
    from analytics_sql.exports import FileForm
    from analytics_sql.recognitions import RecognitionCursor, RecognitionFilter

export_app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)

_ROWS = 100_000
_FORMATS = ("csv", "parquet", "arrow")
_SEPARATORS = ("comma", "semicolon")


@export_app.command()
def export_recognitions(
    email: EmailOption,
    output: Annotated[
        Path, typer.Option(help="Output file. Large Parquet and Arrow exports are split.")
    ],
    file_format: Annotated[str, typer.Option("--format", help=", ".join(_FORMATS))] = "csv",
    since: Annotated[
        datetime | None, typer.Option("--from", help="Start of the range, inclusive (UTC).")
    ] = None,
    before: Annotated[
        datetime | None, typer.Option("--to", help="End of the range, exclusive (UTC).")
    ] = None,
    plate: Annotated[str | None, typer.Option(help="Only plates that contain this text.")] = None,
    camera: Annotated[UUID | None, typer.Option(help="Only the camera with this ID.")] = None,
    after: Annotated[
        str | None, typer.Option(help="Continue an interrupted export from the printed position.")
    ] = None,
    excel: Annotated[
        bool,
        typer.Option("--excel", help="CSV for Excel, with a byte order mark and local times."),
    ] = False,
    separator: Annotated[str, typer.Option(help=", ".join(_SEPARATORS))] = "comma",
    as_json: JsonOption = False,
) -> None:
    """Export an account's recognitions to files, newest first, 100,000 rows per part."""
    from analytics_sql.recognitions import RecognitionFilter

    settings = settings_with_logs(ClickHouseSettings)
    form = exit_on_service_error(lambda: _form(file_format, separator, excel))
    position = exit_on_service_error(lambda: _parse_cursor(after))
    text = exit_on_service_error(lambda: None if plate is None else typed_plate(plate))
    if after is None and output.exists():
        fail(f"{output} already exists; choose another file")
    owner = in_database(lambda session: owner_by_email(session, email))
    if excel:
        form = replace(form, excel_timezone=owner.timezone)
    wanted = RecognitionFilter(
        user_id=owner.id,
        plate=text,
        camera_id=camera,
        from_ms=_unix_ms(since),
        to_ms=_unix_ms(before),
    )
    export = _Export(output, form, position)
    try:
        asyncio.run(export.run(settings, wanted))
    except (TransientError, OSError) as error:
        fail(f"{error}; to continue, run the command again with{export.resume_option()}", error)
    files = [str(path) for path in export.files]
    answer({"files": files, "bytes": export.size}, as_json, "\n".join(files))


class _Export:
    """Writes the files of one export. A part that was not written completely is deleted."""

    def __init__(self, output: Path, form: "FileForm", after: "RecognitionCursor | None") -> None:
        self._output = output
        self._form = form
        self._after = after
        self._is_continued = after is not None
        self.files: list[Path] = []
        self.size = 0

    def resume_option(self) -> str:
        """Return how to resume: the text that follows "run the command again with"."""
        if self._after is None:
            return "out --after, after deleting the file"
        return f" --after {self._after.captured_ms}_{self._after.id}"

    async def run(self, settings: ClickHouseSettings, wanted: "RecognitionFilter") -> None:
        """Write all parts.

        Raises:
            TransientError: ClickHouse is unavailable or busy.
            OSError: a file cannot be written.
        """
        from analytics_sql.client import ClickHouseClient

        client = ClickHouseClient(settings, query_seconds=600)
        try:
            while await self._write_part(client, wanted):
                self._is_continued = True
        finally:
            await client.close()

    async def _write_part(self, client: "ClickHouseClient", wanted: "RecognitionFilter") -> bool:
        """Write the next part. Return whether another part follows."""
        from analytics_sql.exports import export_part, exported

        part = await export_part(client, wanted, self._after, _ROWS)
        is_appended = self._form.format == "csv" and self._is_continued
        path = self._path(self._after if self._is_continued else None)
        start = path.stat().st_size if is_appended and path.exists() else 0
        skips_names = start > 0
        with path.open("ab" if is_appended else "xb") as file:
            try:
                async with exported(client, wanted, self._after, part, form=self._form) as pieces:
                    async for piece in pieces:
                        rest = piece
                        if skips_names:
                            head, line_end, rest = piece.partition(b"\n")
                            skips_names = not line_end
                        file.write(rest)
                        self.size += len(rest)
            except BaseException:
                file.truncate(start)
                if not is_appended:
                    path.unlink()
                raise
        if path not in self.files:
            self.files.append(path)
        self._after = part.next_after
        return part.next_after is not None

    def _path(self, after: "RecognitionCursor | None") -> Path:
        """Return the file of the part after ``after``. All parts of a CSV export share one file."""
        if self._form.format == "csv" or after is None:
            return self._output
        name = f"{self._output.stem}-{after.captured_ms}{self._output.suffix}"
        return self._output.with_name(name)


def _form(file_format: str, separator: str, excel: bool) -> "FileForm":
    from analytics_sql.exports import ExportFormat, FileForm, Separator

    if file_format not in _FORMATS:
        raise InvalidInputError(f"format {file_format!r} is not one of {', '.join(_FORMATS)}")
    if separator not in _SEPARATORS:
        raise InvalidInputError(f"separator {separator!r} is not one of {', '.join(_SEPARATORS)}")
    if file_format != "csv" and (excel or separator != "comma"):
        raise InvalidInputError("--excel and --separator require --format csv")
    return FileForm(ExportFormat(file_format), Separator(separator))


def _parse_cursor(text: str | None) -> "RecognitionCursor | None":
    from analytics_sql.recognitions import RecognitionCursor

    if text is None:
        return None
    captured_ms, _, identifier = text.partition("_")
    try:
        return RecognitionCursor(int(captured_ms), UUID(identifier))
    except ValueError:
        raise InvalidInputError(f"{text!r} is not a valid position for --after") from None


def _unix_ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.replace(tzinfo=UTC).timestamp() * 1000)
