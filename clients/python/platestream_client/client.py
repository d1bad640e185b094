"""Implements the synchronous and the asynchronous client: calls, retries and streams."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Generator
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import Self, TypeVar

import httpx

from platestream_client.calls import Async, Call, Pages, Sync
from platestream_client.errors import PlatestreamError, UnreachableError, error_of
from platestream_client.models import RecognitionBody
from platestream_client.resources import Resources
from platestream_client.retries import RetryPolicy, UnconnectedError
from platestream_client.stream import PATH, Follow

T = TypeVar("T")

_UNCONNECTED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_CONNECT_SECONDS = 10.0
_STREAM_SILENCE_SECONDS = 60.0


def _version() -> str:
    try:
        return version("platestream-client")
    except PackageNotFoundError:
        # A package that is imported from its source folder has no version.
        return "0"


class _Settings:
    """Settings of both clients."""

    def __init__(
        self, base_url: str | None, api_key: str | None, timeout: float, retries: RetryPolicy | None
    ) -> None:
        self.base_url = base_url or os.environ.get("PLATESTREAM_URL", "")
        key = api_key or os.environ.get("PLATESTREAM_KEY", "")
        if not self.base_url or not key:
            raise ValueError(
                "base_url and api_key are required; pass them or set PLATESTREAM_URL and "
                "PLATESTREAM_KEY"
            )
        self.headers = {
            "Authorization": f"Bearer {key}",
            "User-Agent": f"platestream-client/{_version()} (python)",
        }
        self.timeout = httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS))
        self.stream_timeout = httpx.Timeout(
            max(timeout, _STREAM_SILENCE_SECONDS), connect=min(timeout, _CONNECT_SECONDS)
        )
        self.retries = retries or RetryPolicy()

    def pause(self, call: Call[T], fault: PlatestreamError, attempt: int) -> float:
        """Return the seconds to wait before the next attempt, or raise the error."""
        pause = self.retries.pause(fault, attempt, may_be_repeated=call.may_be_repeated)
        if pause is None:
            raise fault
        return pause


class Client(Resources[Sync]):
    """Client of the API, with the API key of an account.

    The URL and the key default to ``PLATESTREAM_URL`` and ``PLATESTREAM_KEY``. A call fails after
    ``timeout`` seconds without data. Redirects are not followed, because the key would be sent to
    the new URL. Pass an httpx ``transport`` for custom certificates or a proxy.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: RetryPolicy | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = _Settings(base_url, api_key, timeout, retries)
        self._http = httpx.Client(
            base_url=self._settings.base_url,
            headers=self._settings.headers,
            timeout=self._settings.timeout,
            follow_redirects=False,
            transport=transport,
        )
        super().__init__(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def perform(self, call: Call[T]) -> T:
        """Make a call, retrying if that can help, and return the result."""
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = self._http.send(call.request(self._http))
            except httpx.TransportError as error:
                fault = _unreachable(error)
            else:
                if answer.is_success:
                    return call.result(answer)
                fault = error_of(answer)
            time.sleep(self._settings.pause(call, fault, attempt))

    def pages(self, pages: Pages[T]) -> Generator[T, None, None]:
        """Yield the items of all pages. A page is requested only when it is needed."""
        following: Pages[T] | None = pages
        while following is not None:
            items, key = self.perform(following.call)
            yield from items
            following = pages.after(key)

    def follow(self, follow: Follow) -> Generator[RecognitionBody, None, None]:
        """Yield the recognitions of a stream, reconnecting as often as necessary."""
        while True:
            fault: PlatestreamError | None = None
            try:
                with self._http.stream(
                    "GET",
                    PATH,
                    params=follow.query,
                    headers=follow.headers(),
                    timeout=self._settings.stream_timeout,
                ) as answer:
                    if answer.is_success:
                        follow.opened()
                        for chunk in answer.iter_bytes():
                            yield from follow.read(chunk)
                    else:
                        answer.read()
                        fault = error_of(answer)
            except httpx.TransportError as error:
                fault = _unreachable(error)
            time.sleep(follow.pause(fault, self._settings.retries))


class AsyncClient(Resources[Async]):
    """Asynchronous version of :class:`Client`."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = _Settings(base_url, api_key, timeout, retries)
        self._http = httpx.AsyncClient(
            base_url=self._settings.base_url,
            headers=self._settings.headers,
            timeout=self._settings.timeout,
            follow_redirects=False,
            transport=transport,
        )
        super().__init__(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def perform(self, call: Call[T]) -> T:
        """Make a call, retrying if that can help, and return the result."""
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = await self._http.send(call.request(self._http))
            except httpx.TransportError as error:
                fault = _unreachable(error)
            else:
                if answer.is_success:
                    return call.result(answer)
                fault = error_of(answer)
            await asyncio.sleep(self._settings.pause(call, fault, attempt))

    async def pages(self, pages: Pages[T]) -> AsyncGenerator[T, None]:
        """Yield the items of all pages. A page is requested only when it is needed."""
        following: Pages[T] | None = pages
        while following is not None:
            items, key = await self.perform(following.call)
            for item in items:
                yield item
            following = pages.after(key)

    async def follow(self, follow: Follow) -> AsyncGenerator[RecognitionBody, None]:
        """Yield the recognitions of a stream, reconnecting as often as necessary."""
        while True:
            fault: PlatestreamError | None = None
            try:
                async with self._http.stream(
                    "GET",
                    PATH,
                    params=follow.query,
                    headers=follow.headers(),
                    timeout=self._settings.stream_timeout,
                ) as answer:
                    if answer.is_success:
                        follow.opened()
                        async for chunk in answer.aiter_bytes():
                            for recognition in follow.read(chunk):
                                yield recognition
                    else:
                        await answer.aread()
                        fault = error_of(answer)
            except httpx.TransportError as error:
                fault = _unreachable(error)
            await asyncio.sleep(follow.pause(fault, self._settings.retries))


def _unreachable(error: httpx.TransportError) -> PlatestreamError:
    kind = UnconnectedError if isinstance(error, _UNCONNECTED) else UnreachableError
    fault = kind(f"The API is not responding: {error or type(error).__name__}.")
    fault.__cause__ = error
    return fault
