"""The trace of a row of the outbox: one more field behind those of its record.

So it survives with the row, in a table that knows nothing of traces.
"""

import re
from typing import Final

from common.telemetry.tracing import TRACEPARENT, TraceContext, parse_traceparent

# Within a text of the record the first quotation mark would have a backslash before it; in one of
# its objects a second brace would follow.
_FIELD: Final = re.compile(rb',"' + TRACEPARENT.encode() + rb'":"(00-[0-9a-f-]{52})"\}\Z')


def with_trace(value: bytes, trace: TraceContext | None) -> bytes:
    """Return an encoded record with its trace, None for none."""
    if trace is None:
        return value
    return b'%b,"%b":"%b"}' % (value[:-1], TRACEPARENT.encode(), trace.traceparent.encode())


def split_trace(value: bytes | None) -> tuple[bytes | None, TraceContext | None]:
    """Return the encoded record alone, and its trace."""
    found = None if value is None else _FIELD.search(value)
    if value is None or found is None:
        return value, None
    return value[: found.start()] + b"}", parse_traceparent(found[1])
