"""Server-sent events as text.

**Source:** HTML Living Standard, section 9.2 (Server-sent events).
"""

from api.errors import ApiError
from api.live.schemas import StreamEnd, StreamReset
from api.recognitions.schemas import RecognitionBody
from contracts.moments import format_timestamp

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
