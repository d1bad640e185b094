"""The route ``/api/recognitions/stream``."""

from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request

from analytics_sql.plate_search import SEARCH_TOLERANCE
from analytics_sql.recognitions import RecognitionRow
from api.actors import Action
from api.deps import Caller, service
from api.errors import ErrorCode
from api.live.service import LiveRecognitions
from api.live.stream import EventStream, Wanted
from api.middleware.guard import GuardedRoute, recheck_access
from api.openapi import error_responses
from api.recognitions.schemas import PlateQuery
from api.security.permissions import Scope, requires
from common.plates.matching import MatchMode, PlateMatcher, plate_matcher

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

LiveRecognitionsDep = Annotated[LiveRecognitions, Depends(service(LiveRecognitions))]

_EXAMPLE = """retry: 3000
id: gAAAAABpIHxk
: open

id: gAAAAABpIHxm
data: {"id": "0197...", "plate": "AB12CD", "confidence": 0.97, "cameraName": "Gate"}

id: gAAAAABpIHx5
: beat

"""
_EVENTS: dict[str, Any] = {
    "description": "An endless event stream (HTML standard). Each recognition, in the same form as "
    "in the list, is the data of one event. `reset` signals a gap; `end` gives the reason for "
    "closing the stream.",
    "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
}


class StreamQuery(PlateQuery):
    """The filter of the recognitions to send, by default all recognitions of the account."""


def wanted_by(query: StreamQuery) -> Wanted:
    """Return a predicate for recognitions that the list would show with the same filter."""
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
        # The text can have any length. Text that no plate can contain matches nothing.
        return PlateMatcher(MatchMode.SUBSTRING, query.plate)
    return plate_matcher(query.plate, query.match, SEARCH_TOLERANCE)


@router.get(
    "/api/recognitions/stream",
    summary="Stream new recognitions",
    status_code=200,
    response_class=EventStream,
    responses={
        200: _EVENTS,
        **error_responses(
            ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR, ErrorCode.TOO_MANY_STREAMS
        ),
    },
)
@requires(Scope.RECOGNITIONS_READ, is_endless=True, audit=Action.RECOGNITIONS_STREAMED)
async def stream_recognitions(
    request: Request,
    live: LiveRecognitionsDep,
    caller: Caller,
    query: Annotated[StreamQuery, Query()],
    last_event_id: Annotated[
        str | None,
        Header(description="ID of the last event received. The stream resumes after that event."),
    ] = None,
) -> EventStream:
    """Sends new recognitions as server-sent events while the connection is open."""
    with ExitStack() as held:
        held.enter_context(live.slot(caller))
        events = await live.open(
            caller.owner_id, wanted_by(query), last_event_id, partial(recheck_access, request)
        )
        # From this point, the response releases the slot.
        return EventStream(events, held.pop_all())
