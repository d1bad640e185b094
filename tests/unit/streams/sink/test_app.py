"""Batches in the sink if ClickHouse is unavailable, lacks a migration, or rejects a row."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from analytics_sql.client import ClickHouseClient, QueryFailedError
from analytics_sql.erasure import Erasure, Erasures
from analytics_sql.recognitions import RecognitionRow
from common.errors import MisconfiguredError, PlatestreamError, TransientError
from common.records.codec import DeadLetter, decode, encode
from streams.runtime.app import Event
from streams.runtime.batch_agent import BatchAgent
from streams.sink import store as store_module
from streams.sink.app import sink
from streams.sink.store import RowStore
from streams.sink.tables import RECOGNITION_TABLE, SINK_TABLES, SinkTable
from tests.records import OWNER, recognition, recognitions
from tests.unit.streams.runtime.fakes import FakeApp, event, guard_of

Fault = Callable[[Sequence[RecognitionRow]], PlatestreamError | None]


class _ClickHouse:
    """Accepts rows unless ``fault`` names an error."""

    def __init__(self, fault: Fault) -> None:
        self.rows: list[RecognitionRow] = []
        self.tries = 0
        self._fault = fault

    async def insert(self, _: object, rows: Sequence[RecognitionRow]) -> None:
        self.tries += 1
        error = self._fault(rows)
        if error is not None:
            raise error
        self.rows.extend(rows)


class _Stage:
    """A sink with a fake ClickHouse."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fault: Fault = lambda _: None) -> None:
        self.app = FakeApp()
        self.letters: list[DeadLetter] = []
        self.clickhouse = _ClickHouse(fault)
        monkeypatch.setattr(store_module, "list_erasures", _nothing_erased)
        self.store = RowStore(cast(ClickHouseClient, object()))
        self.table: SinkTable[RecognitionRow] = replace(
            RECOGNITION_TABLE, insert=self.clickhouse.insert
        )
        self._guard = guard_of(self.app, self._send)
        self.sink = sink(self._guard, self.store, self.table)

    def with_table(self, **changed: Any) -> BatchAgent[RecognitionRow]:
        """Return an agent with the same ClickHouse and another table."""
        return sink(self._guard, self.store, replace(self.table, **changed))

    async def _send(self, key: bytes | None, value: bytes) -> None:
        self.letters.append(decode(DeadLetter, value))


async def _nothing_erased(_: object) -> Erasures:
    return Erasures()


def _events(count: int) -> list[Event]:
    records = recognitions(range(count))
    return [event(offset, encode(record)) for offset, record in enumerate(records)]


async def test_a_batch_is_one_insert(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = _Stage(monkeypatch)
    await stage.sink.take(_events(50))
    assert stage.clickhouse.tries == 1
    assert [row.plate for row in stage.clickhouse.rows] == [f"AB{n:05}" for n in range(50)]
    assert stage.app.released == list(range(50))


async def test_unreadable_messages_alone_need_no_insert(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = _Stage(monkeypatch)
    await stage.sink.take([event(1, b"{"), event(2, b"")])
    assert stage.clickhouse.tries == 0
    assert [letter.offset for letter in stage.letters] == [1, 2]


@pytest.mark.parametrize(
    "error",
    [TransientError("unavailable"), MisconfiguredError("no table")],
    ids=["unavailable", "not set up"],
)
async def test_waits_and_releases_nothing_meanwhile(
    error: PlatestreamError, monkeypatch: pytest.MonkeyPatch
) -> None:
    released_meanwhile: list[int] = []

    def fault(_: Sequence[RecognitionRow]) -> PlatestreamError | None:
        released_meanwhile.extend(stage.app.released)
        return error if stage.clickhouse.tries < 4 else None

    stage = _Stage(monkeypatch, fault)
    await stage.sink.take(_events(3))
    assert stage.clickhouse.tries == 4
    assert len(stage.clickhouse.rows) == 3
    assert not released_meanwhile
    assert stage.app.released == [0, 1, 2]
    assert not stage.letters


async def test_a_row_that_clickhouse_refuses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(rows: Sequence[RecognitionRow]) -> PlatestreamError | None:
        is_bad = any(row.plate == "AB00011" for row in rows)
        return QueryFailedError("Code: 321") if is_bad else None

    stage = _Stage(monkeypatch, fault)
    await stage.sink.take(_events(20))
    assert len(stage.clickhouse.rows) == 19
    (letter,) = stage.letters
    assert (letter.offset, letter.code, letter.reason) == (11, "refused_by_clickhouse", "Code: 321")
    assert sorted(stage.app.released) == list(range(20))


@pytest.mark.parametrize("failing", ["list", "erase", "set aside"])
async def test_rows_wait_where_erasing_is_refused(
    failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, steps = _Stage(monkeypatch), Counter[str]()

    def take(step: str) -> None:
        steps[step] += 1
        if step == failing and steps[step] < 4:
            raise QueryFailedError("Code: 36")

    async def list_erasures(_: object) -> Erasures:
        take("list")
        erased = Erasure(OWNER, recognition(1).plate)
        return Erasures([(erased.user_id, erased.plate_hash, erased.before_ms)])

    async def erase(*_: object) -> int:
        take("erase")
        return 0

    async def record_images(*_: object) -> None:
        take("set aside")

    monkeypatch.setattr(store_module, "list_erasures", list_erasures)
    await stage.with_table(erase=erase, record_images=record_images).take(_events(3))

    assert steps[failing] >= 4
    assert not stage.letters
    assert stage.app.released == [0, 1, 2]
    assert {row.plate for row in stage.clickhouse.rows} == {"AB00000", "AB00002"}


def test_each_topic_has_one_table() -> None:
    assert len({table.topic.name for table in SINK_TABLES}) == len(SINK_TABLES)
