"""JSON in the events of the stream, and its query parameters."""

from pydantic import Field

from api.errors import ErrorCode
from api.recognitions.query import PlateQuery
from api.schemas import ResponseModel


class StreamReset(ResponseModel):
    """Some recognitions were not sent; those captured from ``since`` on stand in the list."""

    since: str = Field(json_schema_extra={"format": "date-time"})


class StreamEnd(ResponseModel):
    """Why the stream ends, as in the body of an error."""

    error: str
    code: ErrorCode


class StreamQuery(PlateQuery):
    """Which recognitions are sent; all of the caller's own without a condition."""
