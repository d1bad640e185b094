"""Pages lists that are read completely: cameras, alerts, webhooks, API keys, erasures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Protocol, TypeVar
from uuid import UUID

from fastapi import Depends
from pydantic import BeforeValidator, Field

from analytics_sql.recognitions import RecognitionCursor
from api.deps import service
from api.errors import ApiError, ErrorCode, FieldFault
from api.paging.cursor import CursorSealer
from api.schemas import QueryModel
from api.validation.fields import to_unix_ms, whole_number

_MAX_LIMIT: Final = 200
_MICROSECONDS: Final = 1000
_NOT_PAGED: Final = ""

CursorsDep = Annotated[CursorSealer, Depends(service(CursorSealer))]


class ListQuery(QueryModel):
    """Query parameters of a list that is returned completely unless a page is requested."""

    limit: Annotated[int, Field(ge=1, le=_MAX_LIMIT), BeforeValidator(whole_number)] | None = Field(
        default=None, description="Maximum number of items to return. Defaults to all."
    )
    last_key: str | None = Field(default=None, alias="lastKey", description="Previous `nextKey`.")


class Dated(Protocol):
    """An item of a list. Lists are sorted by creation time, newest first, then by ID."""

    @property
    def id(self) -> UUID:
        """ID of the item."""

    @property
    def created_at(self) -> datetime:
        """Creation time (UTC)."""


@dataclass(frozen=True)
class ListFilter:
    """The list to which a cursor belongs."""

    name: str
    owner_id: UUID


_T = TypeVar("_T")

NextKey = Annotated[
    str | None,
    Field(
        description="`lastKey` of the next page; null on the last page.",
        examples=["eyJ0IjoxNzY0MH0"],
    ),
]


def next_key_field() -> Any:
    """Return the ``nextKey`` field of a list response."""
    return Field(
        default=_NOT_PAGED,
        exclude_if=lambda key: key == _NOT_PAGED,
        description="Pass as `lastKey` to get the next page; null on the last page. Present "
        "only if `limit` or `lastKey` was sent.",
        examples=["eyJ0IjoxNzY0MH0"],
    )


def page_of(
    entries: Sequence[_T],
    query: ListQuery,
    wanted: ListFilter,
    cursors: CursorSealer,
    dated: Callable[[_T], Dated],
) -> tuple[Sequence[_T], str | None]:
    """Return the requested page of a complete list, and the ``nextKey`` of the page.

    Raises:
        ApiError: 400, the cursor belongs to a different list.
    """
    if query.limit is None and query.last_key is None:
        return entries, _NOT_PAGED
    if query.last_key is not None:
        after = cursors.open(wanted, query.last_key)
        if after is None:
            fault = FieldFault("lastKey", "is not a valid cursor for this list")
            raise ApiError(ErrorCode.INVALID_CURSOR, fields=(fault,))
        entries = [each for each in entries if _order(_cursor_of(dated(each))) > _order(after)]
    if query.limit is None or len(entries) <= query.limit:
        return entries, None
    page = entries[: query.limit]
    return page, cursors.seal(wanted, _cursor_of(dated(page[-1])))


def _cursor_of(entry: Dated) -> RecognitionCursor:
    """Return the position of an item. The time is in microseconds."""
    at_us = to_unix_ms(entry.created_at.replace(microsecond=0)) * _MICROSECONDS
    return RecognitionCursor(at_us + entry.created_at.microsecond, entry.id)


def _order(cursor: RecognitionCursor) -> tuple[int, int]:
    return -cursor.captured_ms, cursor.id.int
