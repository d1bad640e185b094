"""Query parameters of the export."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from analytics_sql.exports import ExportFormat, Separator
from api.recognitions.schemas import RecognitionQuery
from api.validation.fields import whole_number

MAX_ROWS = 100_000

Rows = Annotated[int, Field(ge=1, le=MAX_ROWS), BeforeValidator(whole_number)]


class ExportQuery(RecognitionQuery):
    """The filters of the list, and the format of the file; other parameters are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file_format: ExportFormat = Field(
        default=ExportFormat.CSV,
        alias="format",
        description="`csv` with a line of names, `parquet`, or `arrow` (a stream of Arrow IPC).",
    )
    # After the format, which is checked with it.
    excel: bool = Field(
        default=False,
        description="CSV for Excel: begins with a byte order mark, has a column `localTime` in the"
        " account's time zone, and texts that Excel would take for a formula begin with an"
        " apostrophe.",
    )
    separator: Separator = Field(
        default=Separator.COMMA,
        description="Separator of columns in CSV. Excel expects a semicolon where the decimal"
        " separator is a comma.",
    )
    limit: Rows = Field(default=MAX_ROWS, description="Most rows of the file.")
    last_key: str | None = Field(
        default=None,
        alias="lastKey",
        description="`X-Next-Key` of the part before, with the same filters; or a `nextKey` of the"
        " list.",
    )

    @field_validator("excel", "separator")
    @classmethod
    def _of_csv(cls, value: bool | Separator, info: ValidationInfo) -> bool | Separator:
        is_plain = value is False or value is Separator.COMMA
        if not is_plain and info.data.get("file_format") is not ExportFormat.CSV:
            raise ValueError("requires format=csv")
        return value
