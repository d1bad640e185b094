"""The stream's query and its events as text.

**Source:** HTML Living Standard, section 9.2 (Server-sent events).
"""

from collections.abc import Callable

from pydantic import Field

from analytics_sql.recognitions import SEARCH_TOLERANCE, RecognitionRow
from api.errors import ApiError, ErrorCode
from api.recognitions.schemas import PlateQuery, RecognitionBody
from api.schemas import ResponseModel
from common.plates.matching import MatchMode, PlateMatcher, plate_matcher
from common.timestamps import format_timestamp


class StreamReset(ResponseModel):
    """Some recognitions were not sent; those captured from ``since`` on stand in the list."""

    since: str = Field(json_schema_extra={"format": "date-time"})


class StreamEnd(ResponseModel):
    """Why the stream ends, as in the body of an error."""

    error: str
    code: ErrorCode


class StreamQuery(PlateQuery):
    """Which recognitions are sent; all of the caller's own without a condition."""


RETRY_MS = 3_000
"""So long a client waits before it comes back."""


def opening(event_id: str) -> bytes:
    """Return what begins a stream: how to come back, and the place to come back to."""
    return f"retry: {RETRY_MS}\nid: {event_id}\n: open\n\n".encode()


def recognition_event(event_id: str, body: RecognitionBody) -> bytes:
    """Return the event of a recognition; of no name, so that plain ``onmessage`` gets it."""
    return f"id: {event_id}\ndata: {body.model_dump_json()}\n\n".encode()


def heart_beat(event_id: str) -> bytes:
    """Return a sign of life. It is no event to a client, but moves on its place to come back to."""
    return f"id: {event_id}\n: beat\n\n".encode()


def reset_event(event_id: str, since_ms: int) -> bytes:
    """Return the event that tells of a gap, and from when on the list fills it."""
    body = StreamReset(since=format_timestamp(since_ms))
    return f"id: {event_id}\nevent: reset\ndata: {body.model_dump_json()}\n\n".encode()


def end_event(error: ApiError) -> bytes:
    """Return the last event of a stream that the caller may not read any more."""
    body = StreamEnd(error=str(error), code=error.code)
    return f"event: end\ndata: {body.model_dump_json()}\n\n".encode()


Wanted = Callable[[RecognitionRow], bool]


def wanted_by(query: StreamQuery) -> Wanted:
    """Return what tells whether a recognition is one that the list would show as well."""
    matcher = _matcher(query)

    def wanted(recognition: RecognitionRow) -> bool:
        return (
            query.camera_id in (None, recognition.camera_id)
            and recognition.confidence >= query.min_confidence
            and (matcher is None or matcher.matches(recognition.plate))
        )

    return wanted


def _matcher(query: StreamQuery) -> PlateMatcher | None:
    if query.plate is None:
        return None
    if query.match is MatchMode.SUBSTRING:
        # Of any length: what no plate can hold finds nothing.
        return PlateMatcher(MatchMode.SUBSTRING, query.plate)
    return plate_matcher(query.plate, query.match, SEARCH_TOLERANCE)
