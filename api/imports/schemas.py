"""Response bodies and the query parameter of imports."""

from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from api.imports.tables import FileEncoding
from api.schemas import QueryModel, ResponseModel, is_absent

MAX_SKIPPED_LISTED: Final = 1_000


class SkipCode(StrEnum):
    """Machine-readable reason why a row was skipped."""

    INVALID_CHARACTER = "invalid_character"
    EMPTY_PLATE = "empty_plate"
    PLATE_TOO_LONG = "plate_too_long"
    UNREADABLE_ROW = "unreadable_row"
    UNCLEAR_ENCODING = "unclear_encoding"
    LIMIT_REACHED = "limit_reached"


class ImportQuery(QueryModel):
    """The query parameter of imports."""

    encoding: FileEncoding | None = Field(
        default=None,
        description="Encoding of the file. Detected if omitted: byte order mark, then UTF-8, "
        "then `windows-1252` as a guess.",
    )


class SkippedRowBody(ResponseModel):
    """A skipped row."""

    line: int = Field(ge=1, description="Number of the row's first line, from 1.", examples=[4])
    text: str = Field(description="Plate as written, or the whole row.", examples=["AB/123"])
    code: SkipCode = Field(description="Machine-readable reason.")
    reason: str = Field(
        description="Reason, for people.", examples=["must have at most 16 letters and digits"]
    )
    position: int | None = Field(
        default=None,
        ge=1,
        exclude_if=is_absent,
        description="Position of the invalid character in `text`, starting at 1.",
        examples=[3],
    )


class PlateImportAnswer(ResponseModel):
    """The plates in a file, and how many rows were accepted, skipped or ignored.

    `rows` is the sum of `taken`, `duplicates`, `blank`, `headings` and `skippedCount`.
    """

    plates: tuple[str, ...] = Field(
        description="Plates as written, for an alert's `plates`.", examples=[["AB12CDE", "XY*"]]
    )
    plate_names: dict[str, str] = Field(
        description="Names of the plates, for an alert's `plateNames`: from the name column, "
        "or the column after the plates.",
        examples=[{"AB12CDE": "Courier"}],
    )
    rows: int = Field(ge=0, description="Rows in the file.", examples=[12])
    taken: int = Field(ge=0, description="Rows whose plate is in `plates`.", examples=[9])
    duplicates: int = Field(ge=0, description="Rows that repeat a plate.", examples=[1])
    blank: int = Field(ge=0, description="Blank rows and comments (`#`).", examples=[0])
    headings: int = Field(ge=0, description="Header rows and `sep=;` lines.", examples=[1])
    skipped_count: int = Field(ge=0, description="Skipped rows.", examples=[1])
    skipped: tuple[SkippedRowBody, ...] = Field(
        description=f"The skipped rows, at most {MAX_SKIPPED_LISTED}."
    )
    encoding: FileEncoding = Field(description="Encoding of the file.")
    separator: str = Field(description="Column separator of the file.", examples=[";"])


class ImportedCameraBody(ResponseModel):
    """A camera in a file."""

    line: int = Field(ge=1, description="Number of the row's first line, from 1.", examples=[2])
    camera: dict[str, Any] = Field(
        description="Body for `POST /api/cameras`. Not validated yet.",
        examples=[{"name": "Gate north", "rtspUrl": "rtsp://192.168.1.20/1"}],
    )


class CameraImportAnswer(ResponseModel):
    """The cameras in a file."""

    cameras: tuple[ImportedCameraBody, ...] = Field(description="Cameras in the order of the file.")
    skipped: tuple[SkippedRowBody, ...] = Field(description="Rows that could not be parsed.")
    encoding: FileEncoding = Field(description="Encoding of the file.")
    separator: str = Field(description="Column separator of the file.", examples=[";"])
