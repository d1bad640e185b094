"""Converts the cameras in a CSV file to bodies of ``POST /api/cameras``."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from api.alerts.schemas import MAX_WRITTEN_PLATE
from api.imports.schemas import (
    MAX_SKIPPED_LISTED,
    CameraImportAnswer,
    ImportedCameraBody,
    SkipCode,
    SkippedRowBody,
)
from api.imports.tables import CsvTable
from common.errors import InvalidInputError

COLUMNS: Final = (
    *("name", "rtspUrl", "username", "password", "location", "identifier", "sampleFps"),
    *("minPlateWidth", "timezone", "enabled"),
)
_REQUIRED: Final = ("name", "rtspUrl")
_NUMBERS: Final[Mapping[str, type[int] | type[float]]] = {"sampleFps": float, "minPlateWidth": int}
_NO: Final = frozenset({"0", "no", "false", "off", "n\u00e3o", "nao"})
_BY_NAME: Final = {name.lower(): name for name in COLUMNS}


def imported_cameras(table: CsvTable) -> CameraImportAnswer:
    """Return the cameras of a table, and the rows that cannot be parsed.

    The API checks the fields of a camera when the camera is created.

    Raises:
        InvalidInputError: the first row does not name the columns. The message is a sentence.
    """
    rows = [row for row in table.rows if not row.is_blank]
    names = _names(rows[0].cells) if rows else []
    good = [row for row in rows[1:] if not row.fault]
    unreadable = [row for row in rows[1:] if row.fault]
    return CameraImportAnswer(
        cameras=tuple(
            ImportedCameraBody(line=row.line, camera=_camera(names, row.cells)) for row in good
        ),
        skipped=tuple(
            SkippedRowBody(
                line=row.line,
                text=row.cells[0][:MAX_WRITTEN_PLATE],
                code=SkipCode.UNREADABLE_ROW,
                reason=row.fault,
            )
            for row in unreadable[:MAX_SKIPPED_LISTED]
        ),
        encoding=table.encoding,
        separator=table.separator,
    )


def _names(titles: Sequence[str]) -> list[str]:
    # A separator at the end of a line does not start a column.
    while titles and not titles[-1]:
        titles = titles[:-1]
    unknown = [title for title in titles if title.lower() not in _BY_NAME]
    if unknown:
        raise InvalidInputError(
            f"Unknown columns: {', '.join(unknown)}. Allowed columns: {', '.join(COLUMNS)}."
        )
    names = [_BY_NAME[title.lower()] for title in titles]
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        raise InvalidInputError(
            f"The first line must name the columns. Missing columns: {', '.join(missing)}."
        )
    return names


def _camera(names: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    given = {name: _value(name, text) for name, text in zip(names, cells, strict=False) if text}
    # The API rejects a missing required field when the camera is created.
    return dict.fromkeys(_REQUIRED, "") | given


def _value(name: str, text: str) -> Any:
    if name == "enabled":
        return text.lower() not in _NO
    if name not in _NUMBERS:
        return text
    try:
        return _NUMBERS[name](text.replace(",", "."))
    except ValueError:
        # The API rejects the value when the camera is created.
        return text
