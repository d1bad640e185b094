"""Runs the API's ClickHouse queries, with fair scheduling, timeouts and a circuit breaker."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.deliveries import (
    get_delivery_content,
    list_deliveries,
    list_deliveries_between,
    list_recognition_deliveries,
)
from analytics_sql.erased_images import list_images_to_remove, mark_removed
from analytics_sql.erasure import list_erasures
from analytics_sql.exports import ExportPart, FileForm, export_part, exported
from analytics_sql.migrate import check_schema
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    get_recognition,
    get_recognitions,
    list_recognitions,
)
from analytics_sql.traffic.analytics import count_traffic
from analytics_sql.traffic.camera_counts import camera_hours, reported_hours
from analytics_sql.triggers import (
    count_triggers,
    fired_for,
    get_suppressing_trigger,
    list_triggers,
    span_rows,
)
from api.adapters.circuit_breaker import CircuitBreaker, http_health_check
from api.errors import Dependency, DependencyUnavailableError
from api.limits.fair_queue import FairQueue, QueueFullError, QueueLimits
from common.errors import TransientError
from common.settings import ClickHouseSettings

_QUERY_SECONDS = 10.0
_EXPORT_SECONDS = 300.0
"""Timeout of one part of an export, until the client has received the whole part."""

SEARCHES_AT_ONCE: Final = 4
_SEARCHES_WAITING = 1_000


class AccountFilter(Protocol):
    """A query filter that selects one account."""

    @property
    def user_id(self) -> UUID:
        """ID of the account."""


P = ParamSpec("P")
R = TypeVar("R")
Q = TypeVar("Q", bound=UUID | AccountFilter)
Query = Callable[Concatenate[ClickHouseClient, P], Coroutine[Any, Any, R]]
Method = Callable[Concatenate["ClickHouseStore", P], Coroutine[Any, Any, R]]


def _fair(
    query: Callable[Concatenate[ClickHouseClient, Q, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["ClickHouseStore", Q, P], Coroutine[Any, Any, R]]:
    async def run(self: "ClickHouseStore", about: Q, /, *args: P.args, **kwargs: P.kwargs) -> R:
        owner_id = about if isinstance(about, UUID) else about.user_id
        async with self.slot(owner_id):
            return await self.run(query, about, *args, **kwargs)

    return run


def _limited(query: Query[P, R]) -> Method[P, R]:
    async def run(self: "ClickHouseStore", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.run(query, *args, **kwargs)

    return run


class ClickHouseStore:
    """The queries of :mod:`analytics_sql` that the API uses.

    Each method has the parameters of the query, and raises DependencyUnavailableError if ClickHouse
    is unavailable or too slow. Accounts take turns, so that one account cannot delay the others.
    """

    def __init__(
        self, settings: ClickHouseSettings, *, searches_at_once: int = SEARCHES_AT_ONCE
    ) -> None:
        self._client = ClickHouseClient(settings)
        self._queue = FairQueue[UUID](QueueLimits(searches_at_once, _SEARCHES_WAITING))
        # The check does not use the client, because all connections of the client may be busy.
        self._breaker = CircuitBreaker(
            Dependency.SEARCH, http_health_check(settings.clickhouse_url)
        )

    page = _fair(list_recognitions)
    find = _fair(get_recognition)
    get_many = _fair(get_recognitions)
    traffic = _fair(count_traffic)
    camera_hours = _fair(camera_hours)
    deliveries = _fair(list_deliveries)
    deliveries_of = _fair(list_recognition_deliveries)
    get_delivery_content = _fair(get_delivery_content)
    list_deliveries_between = _fair(list_deliveries_between)
    trigger_counts = _fair(count_triggers)
    triggers_for = _fair(list_triggers)
    fired_for = _fair(fired_for)
    holding = _fair(get_suppressing_trigger)
    span = _fair(span_rows)
    reported_hours = _limited(reported_hours)
    erasures = _limited(list_erasures)
    list_images_to_remove = _limited(list_images_to_remove)
    mark_removed = _limited(mark_removed)
    ping = _limited(check_schema)

    async def export_part(
        self, wanted: RecognitionFilter, after: RecognitionCursor | None, rows: int
    ) -> ExportPart:
        """Return the end of the part that starts after ``after`` and has at most ``rows`` rows."""
        async with self._guarded(_EXPORT_SECONDS):
            return await export_part(self._client, wanted, after, rows)

    @asynccontextmanager
    async def exported(
        self,
        wanted: RecognitionFilter,
        after: RecognitionCursor | None,
        part: ExportPart,
        form: FileForm,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield an iterator over the bytes of a part's file."""
        async with (
            self._guarded(_EXPORT_SECONDS),
            exported(self._client, wanted, after, part, form=form) as pieces,
        ):
            yield pieces

    @asynccontextmanager
    async def slot(self, owner_id: UUID) -> AsyncIterator[None]:
        """Wait for an account's turn to search. The turn ends with the block.

        Raises:
            DependencyUnavailableError: the wait timed out, or too many searches are waiting.
        """
        try:
            async with self._queue.slot(owner_id, _QUERY_SECONDS):
                yield
        except QueueFullError as error:
            raise DependencyUnavailableError(Dependency.SEARCH, "is overloaded") from error

    async def run(self, query: Query[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a query and return its result."""
        async with self._guarded(_QUERY_SECONDS):
            return await query(self._client, *args, **kwargs)

    @asynccontextmanager
    async def _guarded(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with self._breaker.call(seconds):
                yield
        except DependencyUnavailableError:
            raise
        except TransientError as error:
            raise DependencyUnavailableError(Dependency.SEARCH) from error

    async def close(self) -> None:
        """Close the connections."""
        self._breaker.close()
        await self._client.close()
