"""The body of a request, decoded and bounded."""

from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from deploy.clickhouse.block_frames import FrameDecoder
from deploy.clickhouse.compression import Decoder
from deploy.clickhouse.errors import ClickHouseError, ErrorCode

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class ClientGoneError(Exception):
    """The client broke off before its request was complete."""


class RequestBody:
    """Decoded bytes of a request, read as fast as they are asked for and no faster."""

    def __init__(self, receive: Receive, content_encoding: str, *, is_framed: bool = False) -> None:
        """``is_framed``: below the content encoding there are ClickHouse's own frames."""
        self._receive = receive
        self._decoder = Decoder(content_encoding)
        self._frames = FrameDecoder() if is_framed else None
        self._decoded: Iterator[bytes] = iter(())
        self._received = False

    async def next_piece(self, at_least_bytes: int = 1) -> bytes:
        """Return the next bytes; empty at the end, else ``at_least_bytes`` if so many are left.

        Raises:
            ClientGoneError: the client left; what came must not be committed.
            ClickHouseError: the encoded data is damaged.
        """
        parts: list[bytes] = []
        size = 0
        while size < at_least_bytes and (part := await self._next_part()) is not None:
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    async def _next_part(self) -> bytes | None:
        """Return decoded bytes, maybe none yet; None at the end."""
        part = next(self._decoded, None)
        if part is not None:
            return part
        if self._received:
            self._decoder.finish()
            if self._frames is not None:
                self._frames.finish()
            return None
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        self._received = not message.get("more_body", False)
        self._decoded = self._unpacked(message.get("body", b""))
        return b""

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        for piece in self._decoder.feed(data):
            if self._frames is None:
                yield piece
            else:
                yield from self._frames.feed(piece)

    async def rest(self, limit_bytes: int, start: bytes = b"") -> bytes:
        """Return ``start`` and everything that is left.

        Raises:
            ClickHouseError: it is more than ``limit_bytes``.
        """
        parts, size = [start], len(start)
        while piece := await self.next_piece():
            parts.append(piece)
            size += len(piece)
            if size > limit_bytes:
                raise ClickHouseError.of(
                    ErrorCode.QUERY_IS_TOO_LARGE, f"A statement is at most {limit_bytes} bytes"
                )
        return b"".join(parts)

    async def client_gone(self) -> None:
        """Return once the client has left; call it only after the whole body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
