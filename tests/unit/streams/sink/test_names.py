"""Names of cameras and alerts in rows for ClickHouse."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import pytest

from analytics_sql.analysts.names import AlertName, CameraName
from analytics_sql.client import ClickHouseClient
from common.errors import MisconfiguredError, PlatestreamError, TransientError
from common.records.cameras import CameraConfig
from common.records.codec import DeadLetter, decode, encode
from streams.runtime.app import Event
from streams.sink.names import NAME_TABLES, NameSink
from tests.records import OWNER, alert
from tests.unit.streams.runtime.fakes import FakeApp, event, guard_of

CAMERA = UUID(int=77)
_CAMERAS, _ALERTS = NAME_TABLES


class _ClickHouse:
    """Accepts rows once all its faults have been raised."""

    def __init__(self, *faults: PlatestreamError) -> None:
        self.found: list[Any] = []
        self._faults = list(faults)

    async def rows(self, _: object, given: dict[str, Any]) -> list[tuple[UUID, UUID]]:
        return [(each, OWNER) for each in given["ids"] if each == CAMERA]

    async def insert(self, _: object, rows: Sequence[Any]) -> None:
        if self._faults:
            raise self._faults.pop(0)
        self.found.extend(rows)


class _Stage:
    def __init__(self, clickhouse: _ClickHouse) -> None:
        self.app = FakeApp()
        self.letters: list[DeadLetter] = []
        runner = guard_of(self.app, self._send)
        self.sink = NameSink(runner, cast(ClickHouseClient, clickhouse), _CAMERAS)

    async def _send(self, key: bytes | None, value: bytes) -> None:
        self.letters.append(decode(DeadLetter, value))

    async def write(self, *events: Event) -> None:
        self.app.deliver(*events)
        await self.sink.write(events)


def _camera(name: str = "Gate", revision: int = 3) -> bytes:
    return encode(
        CameraConfig(
            camera_id=CAMERA,
            owner_id=OWNER,
            name=name,
            stream_url_encrypted="a secret",
            enabled=True,
            revision=revision,
            location="North",
            created_ms=5,
        )
    )


async def test_a_camera_is_stored_without_what_is_secret() -> None:
    clickhouse = _ClickHouse()
    stage = _Stage(clickhouse)

    await stage.write(event(0, _camera(), key=str(CAMERA).encode()))

    (row,) = clickhouse.found
    assert row == CameraName(
        id=CAMERA,
        user_id=OWNER,
        name="Gate",
        enabled=True,
        revision=3,
        removed=0,
        location="North",
        created_ms=5,
    )
    assert "secret" not in repr(row)
    assert stage.app.released == [0]


async def test_what_was_deleted_has_the_last_revision_and_no_name() -> None:
    clickhouse = _ClickHouse()

    await _Stage(clickhouse).write(
        event(0, None, key=str(CAMERA).encode()), event(1, None, key=str(UUID(int=78)).encode())
    )

    (row,) = clickhouse.found
    assert (row.id, row.name, row.user_id, row.removed) == (CAMERA, "", OWNER, 1)
    assert row.revision == (1 << 64) - 1


async def test_what_cannot_be_read_becomes_a_dead_letter_and_the_rest_is_stored() -> None:
    clickhouse = _ClickHouse()
    stage = _Stage(clickhouse)

    await stage.write(
        event(0, b"{", key=str(CAMERA).encode()),
        event(1, None, key=b"no id"),
        event(2, _camera(), key=str(CAMERA).encode()),
    )

    assert [letter.offset for letter in stage.letters] == [0, 1]
    assert len(clickhouse.found) == 1
    assert sorted(stage.app.released) == [0, 1, 2]


@pytest.mark.parametrize("fault", [TransientError("away"), MisconfiguredError("no such table")])
async def test_rows_wait_for_clickhouse_and_its_tables(fault: PlatestreamError) -> None:
    clickhouse = _ClickHouse(fault)
    stage = _Stage(clickhouse)

    await stage.write(event(0, _camera(), key=str(CAMERA).encode()))

    assert len(clickhouse.found) == 1
    assert not stage.letters


def test_an_alert_is_stored_without_its_plates_and_receivers() -> None:
    row = _ALERTS.row_of(encode(alert(1, plates=("AB12CDE",))))

    assert isinstance(row, AlertName)
    assert row.removed == 0
    assert "AB12CDE" not in repr(row)
