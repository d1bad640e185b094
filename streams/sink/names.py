"""Writes the names of cameras and alerts from the configuration topics to ClickHouse."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar
from uuid import UUID

import structlog

from analytics_sql.analysts.names import (
    ALERT_NAMES,
    CAMERA_NAMES,
    AlertName,
    CameraName,
    NamedRow,
    alert_name,
    camera_name,
    owners_of_names,
)
from analytics_sql.client import ClickHouseClient, QueryFailedError
from analytics_sql.rows import Table
from common.errors import InvalidInputError, MisconfiguredError, TransientError
from common.records.alerts import AlertConfig
from common.records.cameras import CameraConfig
from common.records.codec import decode
from common.records.topics import CONFIG_ALERTS, CONFIG_CAMERAS, Topic
from streams.runtime.app import Event
from streams.runtime.stage_runner import StageRunner

log = structlog.get_logger()
R = TypeVar("R", bound=NamedRow)


@dataclass(frozen=True, kw_only=True)
class NameTable(Generic[R]):
    """Defines how the records of a configuration topic are written to a table of names.

    ``row_of`` decodes a record and raises InvalidInputError for a value that can never be a row.
    ``removed`` returns the row of a deleted resource, given the resource's id and account.
    """

    topic: Topic
    table: Table[R]
    row_of: Callable[[bytes], R]
    removed: Callable[[UUID, UUID], R]


AnyNameTable: TypeAlias = NameTable[Any]

NAME_TABLES: Final[tuple[AnyNameTable, ...]] = (
    NameTable(
        topic=CONFIG_CAMERAS,
        table=CAMERA_NAMES,
        row_of=lambda value: camera_name(decode(CameraConfig, value)),
        removed=lambda camera, owner: CameraName(id=camera, user_id=owner),
    ),
    NameTable(
        topic=CONFIG_ALERTS,
        table=ALERT_NAMES,
        row_of=lambda value: alert_name(decode(AlertConfig, value)),
        removed=lambda alert, owner: AlertName(id=alert, user_id=owner),
    ),
)


class NameSink(Generic[R]):
    """Writes the names in the events of one topic, in batches."""

    def __init__(self, runner: StageRunner, client: ClickHouseClient, table: NameTable[R]) -> None:
        self._runner = runner
        self._client = client
        self._table = table

    async def write(self, events: Sequence[Event]) -> None:
        """Store valid records, dead-letter the others, and release all events. Never raises."""
        read: dict[Event, R | UUID] = {}
        for event in events:
            try:
                read[event] = self._read(event.message.key, event.message.value)
            except InvalidInputError as error:
                await self._runner.reject(event, error)

        async def store(part: Sequence[Event]) -> None:
            await self._store([read[event] for event in part])

        if read:
            await self._runner.run_batch(tuple(read), store)

    def _read(self, key: bytes | None, value: bytes | None) -> R | UUID:
        """Return a row, or the id of a deleted resource."""
        if value:
            return self._table.row_of(value)
        try:
            return UUID((key or b"").decode())
        except ValueError as error:
            raise InvalidInputError("the key is not a UUID", code="key_is_no_uuid") from error

    async def _rows(self, read: Sequence[R | UUID]) -> list[R]:
        rows = [each for each in read if not isinstance(each, UUID)]
        removed = [each for each in read if isinstance(each, UUID)]
        if not removed:
            return rows
        # A deletion consists only of a key, so the account is read from the existing rows.
        stored = await owners_of_names(self._client, self._table.table.name, removed)
        owners = {**{row.id: row.user_id for row in rows}, **stored}
        return rows + [
            self._table.removed(each, owners[each]) for each in removed if each in owners
        ]

    async def _store(self, read: Sequence[R | UUID]) -> None:
        try:
            await self._client.insert(self._table.table, await self._rows(read))
        except MisconfiguredError as error:
            # The table, the database or a permission is missing; the rows wait until this is fixed.
            log.error("clickhouse_misconfigured", error=str(error))
            raise TransientError(str(error)) from error
        except QueryFailedError as error:
            raise InvalidInputError(str(error), code="refused_by_clickhouse") from error
