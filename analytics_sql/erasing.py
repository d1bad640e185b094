"""Erases rows in ClickHouse for good.

Each call returns once the rows are gone, and may be repeated.
"""

from dataclasses import dataclass
from uuid import UUID

from clickhouse_connect.driver.asyncclient import AsyncClient

from analytics_sql.connection import clickhouse_errors
from analytics_sql.erasures import Erasure
from analytics_sql.statements import query_text


@dataclass(frozen=True)
class _Statements:
    """How many rows of a plate there are, and the statement after which there are none."""

    count: str
    erase: str


_TRIGGERS = _Statements("plate_triggers", "erase_plate_triggers")
_DELIVERIES = _Statements("plate_deliveries", "erase_plate_deliveries")
_RECOGNITIONS = _Statements("plate_recognitions", "erase_plate_recognitions")
_SHARED_PHOTOS = _Statements("plate_shared_photos", "erase_shared_photos")


async def erase_recognitions(
    client: AsyncClient, erasure: Erasure, *, noting_images: bool = True
) -> int:
    """Delete recognitions and return how many; their images are noted first, to be removed.

    An image call's photo goes although it shows other plates too: their rows lose its key.

    Raises:
        TransientError: ClickHouse is away or busy, or takes too long and goes on by itself.
    """
    if erasure.plate is None:
        if noting_images:
            await _run(client, "note_owner_images", erasure)
        return await _erase_owner(client, "recognitions", erasure.user_id)
    found = await _count(client, _RECOGNITIONS.count, erasure)
    if found:
        await _run(client, "note_plate_images", erasure)
        await _erase(client, _SHARED_PHOTOS, erasure)
        await _run(client, _RECOGNITIONS.erase, erasure)
    return found


async def erase_triggers(client: AsyncClient, erasure: Erasure) -> int:
    """Empty the plate of fired alerts, or delete all of an owner; return how many.

    Raises:
        TransientError: ClickHouse is away or busy, or takes too long and goes on by itself.
    """
    if erasure.plate is None:
        return await _erase_owner(client, "alert_triggers", erasure.user_id)
    return await _erase(client, _TRIGGERS, erasure)


async def erase_deliveries(client: AsyncClient, erasure: Erasure) -> int:
    """Empty the content of deliveries that name the plate, and return how many.

    Of an owner all attempts to deliver are deleted and counted.

    Raises:
        TransientError: ClickHouse is away or busy, or takes too long and goes on by itself.
    """
    if erasure.plate is None:
        return await _erase_owner(client, "delivery_attempts", erasure.user_id)
    return await _erase(client, _DELIVERIES, erasure)


async def erase_outcomes(client: AsyncClient, erasure: Erasure) -> int:
    """Delete what is counted of an owner's passes and image calls; it names no plates.

    Raises:
        TransientError: ClickHouse is away or busy, or takes too long and goes on by itself.
    """
    if erasure.plate is None:
        return await _erase_owner(client, "pass_outcomes", erasure.user_id)
    return 0


async def _erase(client: AsyncClient, statements: _Statements, erasure: Erasure) -> int:
    # Counted first: a statement that changes nothing still looks through every part of the table.
    found = await _count(client, statements.count, erasure)
    if found:
        await _run(client, statements.erase, erasure)
    return found


async def _erase_owner(client: AsyncClient, table: str, user_id: UUID) -> int:
    parameters = {"table": table, "user_id": user_id}
    with clickhouse_errors():
        result = await client.query(query_text("owner_rows"), parameters=parameters)
        found = int(result.result_rows[0][0])
        if found:
            await client.command(query_text("erase_owner_rows"), parameters=parameters)
    return found


async def _count(client: AsyncClient, query: str, erasure: Erasure) -> int:
    with clickhouse_errors():
        result = await client.query(query_text(query), parameters=_parameters(query, erasure))
    return int(result.result_rows[0][0])


async def _run(client: AsyncClient, statement: str, erasure: Erasure) -> None:
    with clickhouse_errors():
        await client.command(query_text(statement), parameters=_parameters(statement, erasure))


def _parameters(statement: str, erasure: Erasure) -> dict[str, object]:
    """Return what the statement names, and no more: the plate itself only where it is asked for."""
    given: dict[str, object] = {
        "user_id": erasure.user_id,
        "plate": erasure.plate,
        "plate_hash": erasure.plate_hash,
        "from_ms": erasure.from_ms,
        "before_ms": erasure.before_ms,
    }
    text = query_text(statement)
    return {name: value for name, value in given.items() if f"{{{name}:" in text}
