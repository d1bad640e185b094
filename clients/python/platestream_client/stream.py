"""Tracks the state of a recognition stream across reconnections. No I/O."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from platestream_client.errors import ApiError, PlatestreamError, StreamGapError
from platestream_client.models import RecognitionBody
from platestream_client.retries import RetryPolicy

PATH = "/api/recognitions/stream"


@dataclass
class Follow:
    """Position of a client in the event stream, and the state needed to resume.

    **Source:** the HTML standard, "Server-sent events".
    """

    query: Mapping[str, str]
    on_gap: Callable[[str], object] | None = None
    _last_id: str = ""
    _reconnect_seconds: float = 3.0
    _was_open: bool = False
    _failures: int = 0
    _rest: bytes = b""
    _id: str = ""
    _event: str = ""
    _data: list[str] = field(default_factory=list)

    def headers(self) -> dict[str, str]:
        """Return the headers of the next connection."""
        headers = {"Accept": "text/event-stream"}
        return headers | ({"Last-Event-ID": self._last_id} if self._last_id else {})

    def opened(self) -> None:
        """Reset the state for a new connection, which resends a partly received event."""
        self._was_open = True
        self._rest, self._id, self._event, self._data = b"", self._last_id, "", []

    def read(self, chunk: bytes) -> Iterator[RecognitionBody]:
        """Yield the recognitions that a chunk completes.

        Raises:
            ApiError: the API has ended the stream permanently.
            StreamGapError: recognitions are missing and there is no ``on_gap``.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._failures = 0
            yield from self._read_line(line.removesuffix(b"\r").decode())

    def _read_line(self, line: str) -> Iterator[RecognitionBody]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            self._id = value
        elif name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "retry" and value.isdigit():
            self._reconnect_seconds = int(value) / 1000
        elif not line:
            # Store the ID only now, because an event that was cut off must be sent again.
            event, data, self._last_id = self._event, self._data, self._id
            self._event, self._data = "", []
            if data:
                yield from self._take(event, json.loads("\n".join(data)))

    def _take(self, event: str, data: Any) -> Iterator[RecognitionBody]:
        if event == "end":
            raise ApiError(200, data, "", None)
        if event == "reset":
            if self.on_gap is None:
                raise StreamGapError(data["since"])
            self.on_gap(data["since"])
        elif not event:
            yield data

    def pause(self, fault: PlatestreamError | None, policy: RetryPolicy) -> float:
        """Return the seconds to wait before reconnecting. ``fault`` is None if the stream ended.

        Raises:
            PlatestreamError: reconnecting cannot help, so ``fault`` is raised.
        """
        if isinstance(fault, ApiError) and fault.status < 500 and fault.status != 429:
            raise fault
        self._failures += 1
        if fault is not None and not self._was_open and self._failures >= policy.attempts:
            raise fault
        if isinstance(fault, ApiError) and fault.retry_after is not None:
            return fault.retry_after
        return min(self._reconnect_seconds * 2.0 ** min(self._failures - 1, 5), policy.longest_wait)
