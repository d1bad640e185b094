"""Rows in the sink that erasure requests affect."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest

from analytics_sql.client import ClickHouseClient
from analytics_sql.erasure import Erasure, Erasures, Subject
from analytics_sql.recognitions import RecognitionRow
from analytics_sql.traffic.analytics import OwnerSpan
from common.errors import TransientError
from common.records.alerts import AlertTrigger
from common.records.codec import encode
from common.records.deliveries import DeliveryAttempt, recognition_delivery
from streams.sink import store as store_module
from streams.sink.store import RowStore, write_unless_erased
from streams.sink.tables import (
    ATTEMPT_TABLE,
    OUTCOME_TABLE,
    RECOGNITION_TABLE,
    TRIGGER_TABLE,
    AnySinkTable,
    SharedPhotos,
    SinkTable,
)
from tests.records import OWNER, alert, alert_trigger, dead_attempt, image_call_outcome, recognition

CLIENT = cast(ClickHouseClient, object())
FIRST_MS = recognition(0).captured_ms


def erasures(*all_: Erasure) -> Erasures:
    return Erasures((each.user_id, each.plate_hash, each.before_ms) for each in all_)


def of_plate(number: int, before_ms: int = FIRST_MS + 1000) -> Erasure:
    return Erasure(OWNER, recognition(number).plate, before_ms)


class ClickHouse:
    """A table of recognitions. A test sets the time at which erasures are recorded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: set[RecognitionRow] = set()
        self.inserted: list[str] = []
        self.aside: list[RecognitionRow] = []
        self.erased: list[Erasure] = []
        self.noted = Erasures()
        self.before_insert: Callable[[], None] = lambda: None
        self.fails_to_list = False
        self.fails_to_erase = False
        monkeypatch.setattr(store_module, "list_erasures", self._list)
        self.table: SinkTable[RecognitionRow] = replace(
            RECOGNITION_TABLE,
            insert=self._insert,
            erase=self._erase,
            record_images=self._record_images,
        )
        self.restart()

    def restart(self) -> None:
        """Replace the worker with one that has no state."""
        self._store = RowStore(CLIENT)

    async def write(self, *numbers: int) -> None:
        rows = [RECOGNITION_TABLE.row_of(encode(recognition(number))) for number in numbers]
        await self._store.insert(self.table, rows)

    @property
    def plates(self) -> list[str]:
        return sorted(row.plate for row in self.rows)

    async def _list(self, _: object) -> Erasures:
        if self.fails_to_list:
            raise TransientError("unavailable")
        return self.noted

    async def _insert(self, _: object, rows: Sequence[RecognitionRow]) -> None:
        self.before_insert()
        self.inserted += [row.plate for row in rows]
        self.rows |= set(rows)

    async def _record_images(self, _: object, rows: Sequence[RecognitionRow]) -> None:
        self.aside += rows

    async def _erase(self, _: object, erasure: Erasure) -> int:
        self.erased.append(erasure)
        if self.fails_to_erase:
            raise TransientError("takes too long")
        gone = {
            row
            for row in self.rows
            if row.plate == erasure.plate and erasure.from_ms <= row.captured_ms < erasure.before_ms
        }
        self.rows -= gone
        return len(gone)


async def test_a_plate_that_was_erased_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    clickhouse = ClickHouse(monkeypatch)
    clickhouse.noted = erasures(of_plate(1), of_plate(3, before_ms=FIRST_MS))
    await clickhouse.write(1, 2, 3)

    assert clickhouse.plates == [recognition(2).plate, recognition(3).plate]
    assert clickhouse.inserted == clickhouse.plates
    assert [row.plate for row in clickhouse.aside] == [recognition(1).plate]


async def test_what_was_erased_while_it_was_written_is_erased_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clickhouse = ClickHouse(monkeypatch)

    def erase_meanwhile() -> None:
        clickhouse.noted = erasures(of_plate(1))

    clickhouse.before_insert = erase_meanwhile
    await clickhouse.write(1, 2)

    assert clickhouse.plates == [recognition(2).plate]
    at_ms = recognition(1).captured_ms
    assert clickhouse.erased == [replace(of_plate(1), from_ms=at_ms, before_ms=at_ms + 1)]


async def test_a_retry_does_not_write_again_what_was_to_be_erased(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clickhouse = ClickHouse(monkeypatch)
    await clickhouse.write(3)
    clickhouse.noted, clickhouse.fails_to_erase = erasures(of_plate(1)), True
    with pytest.raises(TransientError):
        await clickhouse.write(1, 2)
    assert recognition(1).plate in clickhouse.plates
    clickhouse.inserted.clear()
    clickhouse.fails_to_erase = False
    await clickhouse.write(1, 2)

    assert clickhouse.inserted == [recognition(2).plate]
    assert clickhouse.plates == [recognition(2).plate, recognition(3).plate]


async def test_a_try_that_died_in_between_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clickhouse = ClickHouse(monkeypatch)

    def die() -> None:
        clickhouse.fails_to_list = True

    clickhouse.before_insert = die
    with pytest.raises(TransientError):
        await clickhouse.write(1, 2)
    assert len(clickhouse.rows) == 2
    # Another worker, which knows the erasure from its start, gets the batch after the erasure.
    clickhouse.before_insert, clickhouse.fails_to_list = lambda: None, False
    clickhouse.noted = erasures(of_plate(1))
    clickhouse.restart()
    await clickhouse.write(1, 2)

    assert clickhouse.plates == [recognition(2).plate]


async def test_where_nothing_was_erased_nothing_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clickhouse = ClickHouse(monkeypatch)
    clickhouse.noted = erasures(Erasure(UUID(int=9)), of_plate(5))
    await clickhouse.write(1, 2)

    assert (len(clickhouse.rows), clickhouse.erased, clickhouse.aside) == (2, [], [])


async def test_photos_are_looked_for_only_where_something_was_erased(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clickhouse = ClickHouse(monkeypatch)
    asked: list[int | OwnerSpan] = []

    async def without_erased(_: object, rows: Sequence[RecognitionRow]) -> list[RecognitionRow]:
        asked.append(len(rows))
        return [msgspec.structs.replace(row, photo_key=None) for row in rows]

    async def delete_erased(_: object, span: OwnerSpan) -> int:
        asked.append(span)
        return 0

    clickhouse.table = replace(
        clickhouse.table,
        shared_photos=SharedPhotos(
            has_one=lambda row: row.plate == recognition(2).plate,
            without_erased=without_erased,
            delete_erased=delete_erased,
        ),
    )
    clickhouse.noted = erasures(of_plate(5, before_ms=recognition(2).captured_ms))
    await clickhouse.write(1, 2)
    assert not asked
    clickhouse.noted = erasures(of_plate(5))
    await clickhouse.write(1, 2)

    at_ms = recognition(2).captured_ms
    assert asked == [OwnerSpan(OWNER, at_ms, at_ms + 1)]
    await clickhouse.write(1, 2)
    assert asked[1] == 1
    assert {row.photo_key is None for row in clickhouse.rows if row.plate == "AB00002"} == {
        True,
        False,
    }


def _trigger() -> AlertTrigger:
    return alert_trigger(alert(1, plates=("ab 00002",)), recognition(1))


def _attempt() -> DeliveryAttempt:
    return dead_attempt(recognition_delivery(recognition(1), UUID(int=7), created_ms=FIRST_MS))


RECORDS: dict[str, tuple[AnySinkTable, bytes]] = {
    "recognition": (RECOGNITION_TABLE, encode(recognition(1))),
    "trigger": (TRIGGER_TABLE, encode(_trigger())),
    "outcome": (OUTCOME_TABLE, encode(image_call_outcome(FIRST_MS))),
    "attempt": (ATTEMPT_TABLE, encode(_attempt())),
}


async def _written(table: AnySinkTable, value: bytes, known: Erasures) -> list[Any]:
    written: list[Any] = []

    async def insert(_: object, rows: Sequence[Any]) -> None:
        written.extend(rows)

    spied = replace(table, insert=insert, record_images=None)
    await write_unless_erased(CLIENT, spied, [table.row_of(value)], known)
    return written


@pytest.mark.parametrize(("table", "value"), RECORDS.values(), ids=RECORDS)
async def test_nothing_of_a_removed_owner_is_written(table: AnySinkTable, value: bytes) -> None:
    assert await _written(table, value, erasures(Erasure(OWNER))) == []
    stays = await _written(table, value, erasures(Erasure(UUID(int=9))))
    assert stays == [table.row_of(value)]


async def test_what_is_written_without_its_plate() -> None:
    known = erasures(of_plate(1))
    (trigger,) = await _written(*RECORDS["trigger"], known)
    (attempt,) = await _written(*RECORDS["attempt"], known)
    (outcome,) = await _written(*RECORDS["outcome"], known)

    assert (trigger.plate, trigger.id) == ("", _trigger().id)
    bare = msgspec.structs.replace(_attempt().delivery, recognition=None)
    assert attempt == msgspec.structs.replace(_attempt(), delivery=bare)
    assert outcome.accepted


def test_a_row_without_a_plate_falls_under_its_owner_alone() -> None:
    subject = Subject(OWNER, FIRST_MS)
    assert not erasures(of_plate(1)).covers(subject)
    assert erasures(of_plate(1), Erasure(OWNER)).covers(subject)
