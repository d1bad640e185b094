"""The route ``/api/recognitions/export``."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query
from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from analytics_sql.exports import ExportFormat, FileForm, Separator
from api.actors import Action
from api.deps import Caller, service
from api.errors import ErrorCode
from api.exports.service import Exports
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.recognitions.schemas import RecognitionQuery
from api.security import permissions
from api.security.permissions import requires
from api.validation.fields import whole_number

MAX_ROWS = 100_000

Rows = Annotated[int, Field(ge=1, le=MAX_ROWS), BeforeValidator(whole_number)]

NEXT_KEY: Final = "X-Next-Key"
_SEND_SECONDS = 60.0
"""Time without progress after which a stalled connection is closed."""
_MEDIA_TYPES: Final[Mapping[ExportFormat, str]] = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.ARROW: "application/vnd.apache.arrow.stream",
}
_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_FILE: dict[str, Any] = {
    "description": "The file, newest recognition first. Each field of a recognition is a column; "
    "`plateCoordinates` and `region` are flattened. Image fields are storage keys. With "
    "`excel=true`, `localTime` follows `timestamp`.",
    "headers": {
        NEXT_KEY: {
            "description": "Pass as `lastKey` to get the next part. Absent on the last part.",
            "schema": {"type": "string"},
        }
    },
    "content": {
        "text/csv": {
            "schema": {"type": "string"},
            "example": '"id","userId","cameraId","cameraName","plate","confidence","timestamp",'
            '"photoUrl","cropUrl","plateCoordinates.x","plateCoordinates.y",'
            '"plateCoordinates.width","plateCoordinates.height","region.code","region.confidence",'
            '"plateType","characterConfidences","firstSeenAt","lastSeenAt","readingsCount","source",'
            '"direction"\n',
        },
        _MEDIA_TYPES[ExportFormat.PARQUET]: _BINARY,
        _MEDIA_TYPES[ExportFormat.ARROW]: _BINARY,
    },
}


class ExportQuery(RecognitionQuery):
    """The filters of the list, and the format of the file. Other parameters are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file_format: ExportFormat = Field(
        default=ExportFormat.CSV,
        alias="format",
        description="File format: `csv` (with a header row), `parquet` or `arrow` (Arrow IPC "
        "stream).",
    )
    # These fields follow the format, because validating them requires the format.
    excel: bool = Field(
        default=False,
        description="CSV for Excel: with a byte order mark, a column `localTime` in the account's "
        "time zone, and an apostrophe before text that Excel would take for a formula.",
    )
    separator: Separator = Field(
        default=Separator.COMMA,
        description="Column separator of CSV. Excel expects a semicolon if the decimal "
        "separator is a comma.",
    )
    limit: Rows = Field(default=MAX_ROWS, description="Maximum number of rows in the file.")
    last_key: str | None = Field(
        default=None,
        alias="lastKey",
        description="`X-Next-Key` of the previous file, or a `nextKey` from the list, with "
        "the same filters.",
    )

    @field_validator("excel", "separator")
    @classmethod
    def _of_csv(cls, value: bool | Separator, info: ValidationInfo) -> bool | Separator:
        is_plain = value is False or value is Separator.COMMA
        if not is_plain and info.data.get("file_format") is not ExportFormat.CSV:
            raise ValueError("requires format=csv")
        return value


router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

ExportsDep = Annotated[Exports, Depends(service(Exports))]


class FileAnswer(Response):
    """Sends a file in pieces, then closes ``held``."""

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        held: AsyncExitStack,
        headers: Mapping[str, str],
        media_type: str,
    ) -> None:
        super().__init__(headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._pieces = pieces
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all pieces. After an error, abort the connection, so that the client notices."""
        async with self._held:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            async for piece in self._pieces:
                async with asyncio.timeout(_SEND_SECONDS):
                    body = {"type": "http.response.body", "body": piece, "more_body": True}
                    await send(body)
            await send({"type": "http.response.body", "body": b""})


@router.get(
    "/api/recognitions/export",
    summary="Export recognitions",
    status_code=200,
    response_class=FileAnswer,
    responses={
        200: _FILE,
        **error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
    },
)
@requires(permissions.Scope.RECOGNITIONS_READ, audit=Action.RECOGNITIONS_EXPORTED)
async def export_recognitions(
    exports: ExportsDep, caller: Caller, query: Annotated[ExportQuery, Query()]
) -> FileAnswer:
    """Returns the account's recognitions as CSV, Parquet or Arrow, newest first, in parts."""
    wanted = query.wanted(caller.owner_id)
    zone = await exports.timezone(caller.owner_id) if query.excel else None
    form = FileForm(query.file_format, query.separator, zone)
    async with AsyncExitStack() as held:
        export = await exports.open(caller, wanted, query.last_key, query.limit, form, held)
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="recognitions.{query.file_format}"',
        }
        if export.next_key is not None:
            headers[NEXT_KEY] = export.next_key
        media_type = _MEDIA_TYPES[query.file_format]
        # From this point, the response closes ``held``.
        return FileAnswer(export.pieces, held.pop_all(), headers, media_type)
