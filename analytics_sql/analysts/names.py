"""Stores names of cameras and alerts, for analysts who query ClickHouse directly.

The rows contain no stream URLs, plates of alerts or recipients.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final
from uuid import UUID

import msgspec

from analytics_sql.client import ClickHouseClient
from analytics_sql.rows import TEXT, TIME, UUIDS, Column, Table, columns_of
from common.records.alerts import AlertConfig
from common.records.cameras import CameraConfig

_LAST_REVISION: Final = (1 << 64) - 1
"""The revision of a deleted resource. It is the maximum, because IDs are never reused."""


class NamedRow(msgspec.Struct, frozen=True, kw_only=True):
    """The fields common to cameras and alerts. The row with the highest ``revision`` is current."""

    id: Annotated[UUID, Column(UUIDS)]
    user_id: Annotated[UUID, Column(UUIDS)]
    name: Annotated[str, Column(TEXT)] = ""
    enabled: Annotated[bool, Column("Bool")] = False
    revision: Annotated[int, Column("UInt64")] = _LAST_REVISION
    removed: Annotated[int, Column("UInt8")] = 1


class CameraName(NamedRow, frozen=True, kw_only=True):
    """A camera's row in an analyst's view. The name of a deleted camera is empty."""

    location: Annotated[str, Column(TEXT)] = ""
    created_ms: Annotated[int, Column(TIME, "created")] = 0


class AlertName(NamedRow, frozen=True, kw_only=True):
    """An alert's row in an analyst's view. The name of a deleted alert is empty."""


CAMERA_NAMES: Final = Table[CameraName]("cameras", columns_of(CameraName))
ALERT_NAMES: Final = Table[AlertName]("alerts", columns_of(AlertName))


def camera_name(camera: CameraConfig) -> CameraName:
    """Return the row for an existing camera."""
    return CameraName(
        id=camera.camera_id,
        user_id=camera.owner_id,
        name=camera.name,
        location=camera.location,
        enabled=camera.enabled,
        created_ms=camera.created_ms,
        revision=camera.revision,
        removed=0,
    )


def alert_name(alert: AlertConfig) -> AlertName:
    """Return the row for an existing alert."""
    return AlertName(
        id=alert.alert_id,
        user_id=alert.owner_id,
        name=alert.name,
        enabled=alert.enabled,
        revision=alert.revision,
        removed=0,
    )


async def owners_of_names(
    client: ClickHouseClient, table: str, ids: Sequence[UUID]
) -> Mapping[UUID, UUID]:
    """Return the account of each existing resource. ``table`` is ``cameras`` or ``alerts``.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    rows = await client.rows("owners_of_names", {"table": table, "ids": list(ids)})
    return {row[0]: row[1] for row in rows}


async def erase_names(client: ClickHouseClient, user_id: UUID) -> None:
    """Delete the names of an account's cameras and alerts. Safe to repeat.

    Raises:
        TransientError: ClickHouse is unavailable or busy, or still runs a statement that timed out.
    """
    for table in (CAMERA_NAMES.name, ALERT_NAMES.name):
        await client.command("erase_owner_rows", {"table": table, "user_id": user_id})
