"""The front of the embedded S3 server: passes requests on, and refuses pictures without room.

S3Proxy writes until the disk is full, and the servers beside it would stop with it.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from xml.sax.saxutils import escape

import structlog
from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector, web
from yarl import URL

from common.s3 import FULL_RATIO_HEADER, STORAGE_FULL_CODE
from deploy.s3.room import Room

log = structlog.get_logger(__name__)

_PIECE_BYTES: Final = 64 * 1024
_CONNECT_SECONDS: Final = 2.0
# Of one connection, not of what it carries (RFC 9110, 7.6.1), and what aiohttp would add.
_OF_A_CONNECTION: Final = ("connection", "keep-alive", "transfer-encoding", "upgrade", "expect")
_NEVER_ADDED: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Front:
    """Passes the requests of S3 clients on as they are: signatures name host and headers."""

    def __init__(self, upstream: str, room: Room) -> None:
        """``upstream`` is the address of S3Proxy."""
        self._upstream = upstream
        self._room = room
        self._is_refusing = False
        self._client = ClientSession(
            auto_decompress=False,
            skip_auto_headers=_NEVER_ADDED,
            timeout=ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            # On a connection of before, a request whose body was sent could be sent once more.
            connector=TCPConnector(limit=0, force_close=True),
        )

    async def close(self) -> None:
        """Close what is open to S3Proxy."""
        await self._client.close()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        size = (request.content_length or 0) if _stores(request) else None
        if size is not None and (lack := self._lack(size)) is not None:
            return _error(request, HTTPStatus.INSUFFICIENT_STORAGE, STORAGE_FULL_CODE, lack)
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            passed = self._client.request(
                request.method,
                URL(self._upstream + request.raw_path, encoded=True),
                headers=_passed_on(request.headers),
                data=request.content if request.body_exists else None,
                allow_redirects=False,
            )
            async with passed as found:
                self._note(request, size, found.status)
                head = _passed_on(found.headers)
                head[FULL_RATIO_HEADER] = f"{self._room.full_ratio:.3f}"
                answer = web.StreamResponse(status=found.status, headers=head)
                await answer.prepare(request)
                async for piece in found.content.iter_chunked(_PIECE_BYTES):
                    await answer.write(piece)
                await answer.write_eof()
                return answer
        except (ClientError, TimeoutError, OSError) as error:
            if request.transport is None or (request.writer.output_size or 0) > 0:
                raise
            said = f"S3Proxy does not answer: {type(error).__name__}"
            return _error(request, HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", said)

    def _lack(self, size: int) -> str | None:
        lack = self._room.lack(size)
        if lack is not None and not self._is_refusing:
            log.warning("pictures_refused", reason=lack)
        elif lack is None and self._is_refusing:
            log.info("pictures_taken_again")
        self._is_refusing = lack is not None
        return lack

    def _note(self, request: web.BaseRequest, size: int | None, status: int) -> None:
        if status >= HTTPStatus.BAD_REQUEST:
            return
        if size is not None:
            self._room.note_added(size)
        elif request.method in ("DELETE", "POST"):
            self._room.note_removed()


def _stores(request: web.BaseRequest) -> bool:
    """Tell whether a request stores an object, or a part of one; making a bucket takes no room."""
    return request.method == "PUT" and "/" in request.path.strip("/")


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _OF_A_CONNECTION}


def _error(request: web.BaseRequest, status: HTTPStatus, code: str, message: str) -> web.Response:
    """Return an error as S3 services answer it."""
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{code}</Code><Message>{escape(message)}</Message>"
        f"<Resource>{escape(request.path)}</Resource><RequestId>0</RequestId></Error>"
    )
    body = None if request.method == "HEAD" else text.encode()
    return web.Response(status=status, body=body, content_type="application/xml")
