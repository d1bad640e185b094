"""Describes API calls as values, so that both clients share one definition of each method. No I/O.

A resource's method is written once, as a function that returns a :class:`Call`, :class:`Pages` or
:class:`Follow`. On a resource of ``Client``, the method returns the result or an iterator. On a
resource of ``AsyncClient``, it returns an awaitable or an asynchronous iterator.
"""

from __future__ import annotations

import functools
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Generator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload
from urllib.parse import quote
from uuid import UUID

import httpx

from platestream_client.errors import error_of
from platestream_client.models import RecognitionBody
from platestream_client.stream import Follow

T = TypeVar("T")
P = ParamSpec("P")

PAGE = 200

Id = str | UUID
Given = str | int | float | bool | UUID | datetime | None
"""Type of a query parameter. A parameter that is ``None`` is omitted."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """A call to the API. ``take`` extracts the result from a successful response."""

    method: str
    path: str
    take: Callable[[httpx.Response], T]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | bytes | None = None
    idempotency_key: str | None = None
    content_type: str = "application/octet-stream"
    """Content type of ``body`` if ``body`` is bytes."""

    @property
    def may_be_repeated(self) -> bool:
        """Whether the call is idempotent, so that retries are safe."""
        return self.method == "GET" or self.idempotency_key is not None

    def result(self, answer: httpx.Response) -> T:
        """Return the result from a successful response.

        Raises:
            ApiError: the response is not from a Platestream API.
        """
        try:
            return self.take(answer)
        except (ValueError, KeyError, TypeError) as error:
            raise error_of(answer) from error

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Return the request, with the base URL and the headers of ``http``."""
        headers = {"Idempotency-Key": self.idempotency_key} if self.idempotency_key else {}
        is_file = isinstance(self.body, bytes)
        if is_file:
            headers["Content-Type"] = self.content_type
        return http.build_request(
            self.method,
            self.path,
            params=self.query,
            headers=headers,
            content=self.body if isinstance(self.body, bytes) else None,
            json=None if is_file else self.body,
        )


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A list requested page by page. ``call`` returns a page's items and the next page's key."""

    call: Call[tuple[Sequence[T], str | None]]

    def after(self, key: str | None) -> Pages[T] | None:
        """Return the pages after ``key``, or None if ``key`` is None."""
        if key is None:
            return None
        return Pages(replace(self.call, query={**self.call.query, "lastKey": key}))


@dataclass(frozen=True)
class Picture:
    """An image as received, with its content type."""

    content: bytes
    content_type: str


class Sync(Protocol):
    """Sends calls synchronously."""

    def perform(self, call: Call[T]) -> T: ...
    def pages(self, pages: Pages[T]) -> Generator[T, None, None]: ...
    def follow(self, follow: Follow) -> Generator[RecognitionBody, None, None]: ...


class Async(Protocol):
    """Sends calls asynchronously."""

    async def perform(self, call: Call[T]) -> T: ...
    def pages(self, pages: Pages[T]) -> AsyncGenerator[T, None]: ...
    def follow(self, follow: Follow) -> AsyncGenerator[RecognitionBody, None]: ...


Way = TypeVar("Way", Sync, Async)


class Resource(Generic[Way]):
    """A resource of the API, for one of the two clients."""

    def __init__(self, way: Way) -> None:
        self._way: Way = way


class call(Generic[P, T]):  # noqa: N801
    """Decorates a method that makes one call."""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._build = build

    @overload
    def __get__(self, resource: Resource[Sync], kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, resource: Resource[Async], kind: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, kind: type) -> Any:
        return _bound(self._build, resource, "perform")


class pages(Generic[P, T]):  # noqa: N801
    """Decorates a method that iterates over all pages of a list."""

    def __init__(self, build: Callable[Concatenate[Any, P], Pages[T]]) -> None:
        self._build = build

    @overload
    def __get__(
        self, resource: Resource[Sync], kind: type
    ) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(
        self, resource: Resource[Async], kind: type
    ) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, resource: Any, kind: type) -> Any:
        return _bound(self._build, resource, "pages")


class follow(Generic[P]):  # noqa: N801
    """Decorates a method that iterates over the event stream."""

    def __init__(self, build: Callable[Concatenate[Any, P], Follow]) -> None:
        self._build = build

    @overload
    def __get__(
        self, resource: Resource[Sync], kind: type
    ) -> Callable[P, Generator[RecognitionBody, None, None]]: ...
    @overload
    def __get__(
        self, resource: Resource[Async], kind: type
    ) -> Callable[P, AsyncGenerator[RecognitionBody, None]]: ...
    def __get__(self, resource: Any, kind: type) -> Any:
        return _bound(self._build, resource, "follow")


def _bound(build: Callable[..., Any], resource: Any, verb: str) -> Callable[..., Any]:
    @functools.wraps(build)
    def ask(*arguments: Any, **named: Any) -> Any:
        return getattr(resource._way, verb)(build(resource, *arguments, **named))

    return ask


def query(**given: Given) -> Mapping[str, str]:
    """Return the query parameters. Trailing underscores, which avoid keywords, are removed."""
    return {
        name.removesuffix("_"): _written(value)
        for name, value in given.items()
        if value is not None
    }


def _written(value: Given) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("times must have a time zone, for example datetime.now(UTC)")
        return value.isoformat()
    return str(value)


def path(template: str, *ids: Id) -> str:
    """Return a path with the IDs in place of each ``{}``."""
    return template.format(*(quote(str(one), safe="") for one in ids))


def field_of(name: str) -> Callable[[httpx.Response], Any]:
    """Return a function that extracts one field from a response."""
    return lambda answer: answer.json()[name]


def whole(answer: httpx.Response) -> Any:
    """Return the entire JSON body of a response."""
    return answer.json()


def nothing(answer: httpx.Response) -> None:
    """Return None for a response without a body."""


def page_of(name: str) -> Callable[[httpx.Response], tuple[Sequence[Any], str | None]]:
    """Return a function that extracts a page's items and the key of the next page."""

    def take(answer: httpx.Response) -> tuple[Sequence[Any], str | None]:
        said = answer.json()
        return said[name], said.get("nextKey")

    return take


def picture(answer: httpx.Response) -> Picture:
    """Return the image in a response."""
    return Picture(answer.content, answer.headers.get("Content-Type", ""))
