"""Query parameters of the export."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field

from analytics_sql.exports import ExportFormat
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
    limit: Rows = Field(default=MAX_ROWS, description="Most rows of the file.")
    last_key: str | None = Field(
        default=None,
        alias="lastKey",
        description="`X-Next-Key` of the part before, with the same filters; or a `nextKey` of the"
        " list.",
    )
