"""The time of erasing at size, and what an insert waits meanwhile.

Command: ``python -m tools.benchmarks.large_erasure --folder DIR [--rows 100000000]``, on the tables
of :mod:`tools.benchmarks.large_tables`, which lose for good what is erased: a plate of the big
owner, a small owner, and the oldest month, as retention drops it. Beside, 50 rows are written every
quarter of a second.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from analytics_sql.client import ClickHouseClient
from analytics_sql.erasure import Erasure, erase_outcomes, erase_recognitions, note_erasure
from analytics_sql.recognitions import RecognitionRow, insert_recognitions
from common.settings import ClickHouseSettings
from tools.benchmarks.large_tables import BIG_OWNER, OWNERS, fill, serve
from tools.benchmarks.list_query import rows

_EVERY_SECONDS = 0.25
_BATCH_ROWS = 50
_SOME_ROWS = 1_000_000


class _Writer:
    """Writes small batches until it is cancelled, and keeps how long each took (s)."""

    def __init__(self, client: ClickHouseClient) -> None:
        self._client = client
        self._source: Iterator[RecognitionRow] = rows(_SOME_ROWS, int(time.time() * 1000))
        self.took_seconds: list[float] = []

    async def run(self) -> None:
        while batch := list(islice(self._source, _BATCH_ROWS)):
            began = time.monotonic()
            await insert_recognitions(self._client, batch)
            self.took_seconds.append(time.monotonic() - began)
            await asyncio.sleep(_EVERY_SECONDS)


async def _timed(name: str, client: ClickHouseClient, work: Awaitable[object]) -> None:
    writer = _Writer(client)
    writing = asyncio.create_task(writer.run())
    began = time.monotonic()
    result = await work
    seconds = time.monotonic() - began
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing
    took = sorted(writer.took_seconds)
    middle = took[len(took) // 2] if took else 0.0
    longest = took[-1] if took else 0.0
    print(
        f"| {name} ({result}) | {seconds:.1f} | {len(took)} | {middle:.2f} | {longest:.2f} |",
        flush=True,
    )


async def _erase_plate(client: ClickHouseClient) -> int:
    query = f"SELECT plate FROM recognitions WHERE user_id = '{BIG_OWNER}' LIMIT 1"
    plate = str((await client.run(query)).rows[0][0])
    erasure = Erasure(BIG_OWNER, plate, int(time.time() * 1000))
    await note_erasure(client, erasure)
    return await erase_recognitions(client, erasure)


async def _erase_owner(client: ClickHouseClient) -> int:
    erasure = Erasure(OWNERS[-1])
    await note_erasure(client, erasure)
    erased = await erase_recognitions(client, erasure, noting_images=False)
    return erased + await erase_outcomes(client, erasure)


async def _drop_month(client: ClickHouseClient) -> str:
    parts = "SELECT min(partition) FROM system.parts WHERE active AND table = 'recognitions'"
    month = str((await client.run(f"{parts} AND database = currentDatabase()")).rows[0][0])
    await client.run(f"ALTER TABLE recognitions DROP PARTITION {month}")
    return month


async def _run(settings: ClickHouseSettings) -> None:
    client = ClickHouseClient(settings, query_seconds=7200)
    print("| erased | s | inserts meanwhile | p50 s | longest s |\n|---|---|---|---|---|")
    await _timed("a plate, rows", client, _erase_plate(client))
    await _timed("a small owner, rows", client, _erase_owner(client))
    await _timed("a month", client, _drop_month(client))
    await client.close()


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000_000)
    arguments = parser.parse_args()
    service = serve(arguments.folder, query_seconds="7200")
    try:
        tables = fill(service.address, arguments.rows)
        asyncio.run(_run(tables.address.settings()))
    finally:
        service.stop()


if __name__ == "__main__":
    main()
