"""The time of lists and analytics to several callers, while rows come in and while none do.

Command: ``python -m tools.benchmarks.large_busy --folder DIR [--rows 100000000] [--callers 8]
[--rate 2000] [--seconds 60]``, on the tables of :mod:`tools.benchmarks.large_tables`. Each caller
asks one kind of question after the other, without a pause, and every twentieth is for analytics.
Batches of half a second are written beside, rows of this moment of the big owner. Prints a table
for docs/benchmarks.md, and the most memory that the server took.
"""

import argparse
import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

import msgspec

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import RecognitionRow, insert_recognitions, list_recognitions
from analytics_sql.traffic.analytics import OwnerSpan, count_traffic
from common.records.ids import recognition_id
from tools.benchmarks.large_calls import prepare, questions
from tools.benchmarks.large_tables import BIG_OWNER, DAY_MS, LargeTables, fill, serve
from tools.benchmarks.list_query import print_head, print_line, rows

_PAGE = 50
_SPAN_MS = 30 * DAY_MS
_ANALYTICS_EACH = 20
_BATCH_SECONDS = 0.5
_SOME_ROWS = 10_000_000


@dataclass(frozen=True)
class Load:
    """Callers, rows a second and for how long."""

    callers: int
    rate: int
    seconds: float


def _newest() -> Iterator[RecognitionRow]:
    for row in rows(_SOME_ROWS, int(time.time() * 1000)):
        at_ms = int(time.time() * 1000)
        yield msgspec.structs.replace(
            row,
            id=recognition_id(at_ms, row.camera_id, row.plate),
            user_id=BIG_OWNER,
            captured_ms=at_ms,
            first_seen_ms=at_ms - 800,
            last_seen_ms=at_ms,
        )


async def _write(client: ClickHouseClient, rate: int, batches: list[int]) -> None:
    source, due = _newest(), time.monotonic()
    while True:
        batch = list(islice(source, int(rate * _BATCH_SECONDS)))
        await insert_recognitions(client, batch)
        batches.append(len(batch))
        due += _BATCH_SECONDS
        await asyncio.sleep(max(0.0, due - time.monotonic()))


@asynccontextmanager
async def _written(client: ClickHouseClient, rate: int) -> AsyncIterator[None]:
    batches: list[int] = []
    began = time.monotonic()
    writing = asyncio.create_task(_write(client, rate, batches))
    try:
        yield
    finally:
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        print(f"written: {sum(batches) / (time.monotonic() - began):.0f} rows a second", flush=True)


async def _ask(
    client: ClickHouseClient,
    tables: LargeTables,
    known: list[tuple[str, int, UUID]],
    number: int,
    seconds: float,
) -> dict[str, list[float]]:
    chance = random.Random(number)
    took_ms: dict[str, list[float]] = {"lists": [], "analytics": []}
    asked = questions(tables.end_ms, known)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.perf_counter()
        if chance.randrange(_ANALYTICS_EACH) == 0:
            now_ms = int(time.time() * 1000)
            span = OwnerSpan(BIG_OWNER, now_ms - _SPAN_MS, now_ms)
            await count_traffic(client, span, plates=10)
            kind = "analytics"
        else:
            await list_recognitions(client, chance.choice(asked).wanted(chance), None, _PAGE)
            kind = "lists"
        took_ms[kind].append((time.perf_counter() - started) * 1000)
    return took_ms


async def _run(tables: LargeTables, pid: int, load: Load) -> None:
    settings = tables.address.settings()
    known = await prepare(settings)
    client = ClickHouseClient(settings)
    print_head()

    async def measure(name: str) -> None:
        each = await asyncio.gather(
            *(_ask(client, tables, known, n, load.seconds) for n in range(load.callers))
        )
        for kind in ("lists", "analytics"):
            took_ms = sorted(ms for one in each for ms in one[kind])
            print_line(f"{kind}, {load.callers} callers, {name} ({len(took_ms)})", took_ms)

    await measure("no rows")
    async with _written(client, load.rate):
        await measure(f"{load.rate} rows/s")
    await client.close()
    print(f"memory of the server, at most: {_high_water_mib(pid):.0f} MiB")


def _high_water_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    service = serve(arguments.folder)
    try:
        tables = fill(service.address, arguments.rows)
        load = Load(arguments.callers, arguments.rate, arguments.seconds)
        asyncio.run(_run(tables, service.process.pid, load))
    finally:
        service.stop()


if __name__ == "__main__":
    main()
