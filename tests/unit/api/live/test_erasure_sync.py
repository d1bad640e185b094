"""A process shows new recognitions only after it has loaded the erasures."""

import asyncio

import pytest

from analytics_sql.erasure import Erasure, Erasures
from api.adapters.clickhouse import ClickHouseStore
from api.errors import DependencyUnavailableError
from api.live.recent import LiveRecord, StreamCursor, StreamPosition
from api.live.service import ErasureSync
from common.errors import MisconfiguredError
from tests.unit.api.live.test_recent import NOW_MS, OWNER, erased, recent, recognition


class List(ClickHouseStore):
    def __init__(self, erasures: Erasures) -> None:
        self.erased = erasures
        self.error: Exception | None = None
        self.reads = 0

    async def erasures(self) -> Erasures:
        self.reads += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return self.erased


async def test_the_list_is_read_once_before_anything_is_shown() -> None:
    kept, noted = recent(), List(erased(Erasure(OWNER, "A", NOW_MS + 1)))
    watch = ErasureSync(noted, kept)
    kept.post([LiveRecord(0, 10, recognition("A")), LiveRecord(0, 11, recognition("B"))])
    noted.error = MisconfiguredError("no such table")
    with pytest.raises(DependencyUnavailableError, match="search database"):
        await watch.ready()
    assert not kept.knows_erasures

    noted.error = None
    await asyncio.gather(*(watch.ready() for _ in range(9)))
    assert (kept.knows_erasures, noted.reads) == (True, 2)
    cursor = StreamCursor(kept, OWNER)
    cursor.resume_from(StreamPosition({0: 10, 1: 10}, NOW_MS), NOW_MS)
    assert [one.recognition.plate for one in cursor.next_batch(9)] == ["B"]


async def test_what_was_read_holds_while_the_list_is_unavailable() -> None:
    kept, noted = recent(), List(Erasures())
    watch = ErasureSync(noted, kept)
    assert await watch.sweep() == 0
    noted.error = MisconfiguredError("no such table")
    with pytest.raises(MisconfiguredError):
        await watch.sweep()

    await watch.ready()
    assert kept.knows_erasures
