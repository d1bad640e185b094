"""Limits of the time that an account's imports can take."""

from uuid import uuid4

import pytest

from api.errors import ApiError, ErrorCode
from api.imports import routes
from api.imports.routes import TableImports
from api.imports.tables import CsvTable
from common.errors import InvalidInputError


async def test_an_owner_has_so_much_processor_time_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = iter((0.0, 3.0, 3.0, 6.0, 6.0, 6.1))
    monkeypatch.setattr(routes, "time", type("Clock", (), {"thread_time": lambda: next(used)}))
    imports, greedy = TableImports(), uuid4()

    def lines(table: CsvTable) -> int:
        return len(table.rows)

    assert await imports.read(greedy, b"AB12\n", None, lines) == 1
    # An invalid file costs time, too.
    with pytest.raises(InvalidInputError):
        await imports.read(greedy, b"AB12\0", None, lines)
    with pytest.raises(ApiError) as refused:
        await imports.read(greedy, b"AB12\n", None, lines)
    assert refused.value.code is ErrorCode.RATE_LIMITED
    assert await imports.read(uuid4(), b"AB12\n", None, lines) == 1
    await imports.close()
