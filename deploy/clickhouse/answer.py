"""The answer to a request, in ClickHouse's header fields and, on failure, its error text."""

import json
import secrets
import string
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from deploy.clickhouse.block_frames import FrameEncoder
from deploy.clickhouse.compression import Encoder, choose_coding
from deploy.clickhouse.engine import Summary
from deploy.clickhouse.errors import ClickHouseError, ErrorCode, http_status

Send = Callable[[dict[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

_WORTH_COMPRESSING_BYTES = 1024
_NANOSECONDS = 1_000_000_000
_TAG_LETTERS = string.ascii_lowercase


@dataclass(frozen=True)
class ServerIdentity:
    """The server's name, version and zone, as every answer has them."""

    display_name: str
    version: str
    time_zone: str


class Answer:
    """Sends one answer, whole or block by block."""

    def __init__(
        self, send: Send, identity: ServerIdentity, query_id: str, accept_encoding: str
    ) -> None:
        self._send = send
        self._identity = identity
        self.query_id = query_id
        self._coding = choose_coding(accept_encoding)
        self._encoder: Encoder | None = None
        self._frames: FrameEncoder | None = None
        self._tag = "".join(secrets.choice(_TAG_LETTERS) for _ in range(16))
        self.started = False

    def in_frames(self, frames: FrameEncoder) -> None:
        """Put what follows, an error too, into ClickHouse's own frames."""
        self._frames = frames

    async def whole(self, body: bytes, summary: Summary, result_format: str | None) -> None:
        """Send an answer that is complete."""
        headers = self._headers(summary, result_format)
        if self._frames is not None:
            body = self._frames.feed(body) + self._frames.finish()
        if self._coding and len(body) >= _WORTH_COMPRESSING_BYTES:
            encoder = Encoder(self._coding)
            body = encoder.feed(body) + encoder.finish()
            headers.append((b"content-encoding", self._coding.encode()))
        headers.append((b"content-length", str(len(body)).encode()))
        await self._start(HTTPStatus.OK, headers)
        await self._send({"type": "http.response.body", "body": body})

    async def begin(self, result_format: str) -> None:
        """Start an answer whose blocks follow."""
        headers = self._headers(Summary(), result_format)
        if self._coding:
            self._encoder = Encoder(self._coding)
            headers.append((b"content-encoding", self._coding.encode()))
        await self._start(HTTPStatus.OK, headers)

    async def block(self, data: bytes) -> None:
        """Send the next block; waits while the client is slow."""
        framed = data if self._frames is None else self._frames.feed(data)
        await self._send_part(framed)

    async def _send_part(self, data: bytes) -> None:
        encoded = data if self._encoder is None else self._encoder.feed(data)
        if encoded:
            await self._send({"type": "http.response.body", "body": encoded, "more_body": True})

    async def end(self) -> None:
        """Finish an answer that was begun."""
        if self._frames is not None:
            await self._send_part(self._frames.finish())
        rest = b"" if self._encoder is None else self._encoder.finish()
        await self._send({"type": "http.response.body", "body": rest})

    async def fail(self, error: ClickHouseError) -> None:
        """Send an error: as an answer of its own, or behind the blocks that are out already."""
        text = f"{error.text} (version {self._identity.version})\n".encode()
        if not self.started:
            await self._fail_whole(error, text)
            return
        tag = self._tag.encode()
        size = str(len(text)).encode()
        await self.block(
            b"\r\n__exception__\r\n%b\r\n%b%b %b\r\n__exception__\r\n" % (tag, text, size, tag)
        )
        await self.end()

    async def _fail_whole(self, error: ClickHouseError, text: bytes) -> None:
        if self._frames is not None:
            text = self._frames.feed(text) + self._frames.finish()
        headers = [
            *self._headers(Summary(), None),
            (b"x-clickhouse-exception-code", str(error.code).encode()),
            (b"content-length", str(len(text)).encode()),
        ]
        if error.code == ErrorCode.REQUIRED_PASSWORD:
            headers.append((b"www-authenticate", b'Basic realm="ClickHouse"'))
        await self._start(http_status(error.code), headers)
        await self._send({"type": "http.response.body", "body": text})

    async def _start(self, status: HTTPStatus, headers: list[Header]) -> None:
        self.started = True
        await self._send({"type": "http.response.start", "status": int(status), "headers": headers})

    def _headers(self, summary: Summary, result_format: str | None) -> list[Header]:
        headers = [
            (b"x-clickhouse-summary", _summary_json(summary)),
            (b"x-clickhouse-query-id", self.query_id.encode("ascii", "replace")),
            (b"x-clickhouse-server-display-name", self._identity.display_name.encode()),
            (b"x-clickhouse-timezone", self._identity.time_zone.encode()),
            (b"x-clickhouse-exception-tag", self._tag.encode()),
            (b"content-type", b"text/plain; charset=UTF-8"),
        ]
        if result_format:
            headers.append((b"x-clickhouse-format", result_format.encode("ascii", "replace")))
        return headers


def _summary_json(summary: Summary) -> bytes:
    return json.dumps(
        {
            "read_rows": str(summary.read_rows),
            "read_bytes": str(summary.read_bytes),
            "written_rows": str(summary.written_rows),
            "written_bytes": str(summary.written_bytes),
            "total_rows_to_read": "0",
            "result_rows": str(summary.result_rows),
            "result_bytes": "0",
            "elapsed_ns": str(int(summary.elapsed_seconds * _NANOSECONDS)),
        },
        separators=(",", ":"),
    ).encode()


async def send_text(send: Send, status: HTTPStatus, text: bytes) -> None:
    """Send a plain answer that is not about a query."""
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": text})
