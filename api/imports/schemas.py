"""JSON of imports, and their query parameter."""

from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from api.imports.tables import FileEncoding
from api.schemas import ResponseModel, is_absent

MAX_SKIPPED_LISTED: Final = 1_000


class SkipCode(StrEnum):
    """Reasons for which a row is skipped, for programs."""

    INVALID_CHARACTER = "invalid_character"
    EMPTY_PLATE = "empty_plate"
    PLATE_TOO_LONG = "plate_too_long"
    UNREADABLE_ROW = "unreadable_row"
    UNCLEAR_ENCODING = "unclear_encoding"
    LIMIT_REACHED = "limit_reached"


class ImportQuery(BaseModel):
    """The query parameter of imports."""

    model_config = ConfigDict(frozen=True)

    encoding: FileEncoding | None = Field(
        default=None,
        description="Encoding of the file. Default: that of its byte order mark, otherwise UTF-8,"
        " and as a guess `windows-1252` if it is not UTF-8.",
    )


class SkippedRowBody(ResponseModel):
    """A row that was not taken."""

    line: int = Field(ge=1, description="Its first line in the file, from 1.", examples=[4])
    text: str = Field(description="The plate as written, or the row.", examples=["AB/123"])
    code: SkipCode = Field(description="The reason, for programs.")
    reason: str = Field(
        description="The reason, for people.", examples=["must have at most 16 letters and digits"]
    )
    position: int | None = Field(
        default=None,
        ge=1,
        exclude_if=is_absent,
        description="Position of an invalid character in `text`, from 1.",
        examples=[3],
    )


class PlateImportAnswer(ResponseModel):
    """The plates of a file, and what became of each row.

    `rows` is the sum of `taken`, `duplicates`, `blank`, `headings` and `skippedCount`.
    """

    plates: tuple[str, ...] = Field(
        description="Plates as written, for an alert's `plates`.", examples=[["AB12CDE", "XY*"]]
    )
    plate_names: dict[str, str] = Field(
        description="Their names, for `plateNames`: from the column of names, or from the one after"
        " the plates.",
        examples=[{"AB12CDE": "Courier"}],
    )
    rows: int = Field(ge=0, description="Rows of the file.", examples=[12])
    taken: int = Field(ge=0, description="Rows whose plate is in `plates`.", examples=[9])
    duplicates: int = Field(
        ge=0, description="Rows with a plate that an earlier row has.", examples=[1]
    )
    blank: int = Field(ge=0, description="Blank rows and comments (`#`).", examples=[0])
    headings: int = Field(
        ge=0, description="Rows with titles of columns, or `sep=;`.", examples=[1]
    )
    skipped_count: int = Field(ge=0, description="Rows that were skipped.", examples=[1])
    skipped: tuple[SkippedRowBody, ...] = Field(
        description=f"The rows that were skipped, at most {MAX_SKIPPED_LISTED}."
    )
    encoding: FileEncoding = Field(description="The encoding that was used.")
    separator: str = Field(description="The separator of columns that was used.", examples=[";"])


class ImportedCameraBody(ResponseModel):
    """A camera of a file."""

    line: int = Field(ge=1, description="Its first line in the file, from 1.", examples=[2])
    camera: dict[str, Any] = Field(
        description="A body for `POST /api/cameras`, which checks it.",
        examples=[{"name": "Gate north", "rtspUrl": "rtsp://192.168.1.20/1"}],
    )


class CameraImportAnswer(ResponseModel):
    """The cameras of a file."""

    cameras: tuple[ImportedCameraBody, ...] = Field(description="In the order of the file.")
    skipped: tuple[SkippedRowBody, ...] = Field(description="The rows that cannot be read.")
    encoding: FileEncoding = Field(description="The encoding that was used.")
    separator: str = Field(description="The separator of columns that was used.", examples=[";"])
