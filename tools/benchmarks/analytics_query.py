"""The time of the counts of ``GET /api/analytics`` on the embedded ClickHouse.

Command: ``python -m tools.benchmarks.analytics_query [--rows 1000000] [--calls 50]``. Starts a
server of its own in a temporary folder and fills it with the rows of
:mod:`tools.benchmarks.list_query`, seven in ten of one owner, each plate its own: the most that
counting plates can cost. Then inserts a share of the newest rows once more and asks again.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from analytics_sql.client import ClickHouseClient, connect_for_schema
from analytics_sql.migrate import create_database, migrate
from analytics_sql.recognitions import RecognitionRow, insert_recognitions
from analytics_sql.traffic.analytics import OwnerSpan, Traffic, count_traffic
from common.settings import ClickHouseSettings
from tests.services.clickhouse import start_clickhouse
from tools.benchmarks.list_query import BATCH_ROWS, BIG_OWNER, print_head, print_line, rows

_SPAN_MS = 30 * 86_400_000
_TOP_PLATES = 10
_REPEATED_SHARE = 0.03


async def _fill(client: ClickHouseClient, count: int, end_ms: int) -> list[RecognitionRow]:
    """Insert, and return the newest rows, which a replay would bring again."""
    source = rows(count, end_ms)
    newest: list[RecognitionRow] = []
    while batch := list(islice(source, BATCH_ROWS)):
        await insert_recognitions(client, batch)
        newest = [*newest, *batch][-round(count * _REPEATED_SHARE) :]
    return newest


def _cpu_ms(pid: int) -> float:
    """CPU time of a process so far: tells more than the clock where other work runs beside."""
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system) * 1000


async def _measure(
    client: ClickHouseClient, pid: int, span: OwnerSpan, calls: int
) -> tuple[list[float], Traffic]:
    took_ms: list[float] = []
    before_ms = _cpu_ms(pid)
    for _ in range(calls):
        started = time.perf_counter()
        traffic = await count_traffic(client, span, plates=_TOP_PLATES)
        took_ms.append((time.perf_counter() - started) * 1000)
    print(f"CPU of the server: {(_cpu_ms(pid) - before_ms) / calls:.0f} ms a call")
    return sorted(took_ms), traffic


def _total(traffic: Traffic) -> int:
    return sum(quarter.recognitions for quarter in traffic.quarters)


async def _run(settings: ClickHouseSettings, pid: int, count: int, calls: int) -> None:
    end_ms = int(time.time() * 1000)
    client = ClickHouseClient(settings)
    newest = await _fill(client, count, end_ms)
    span = OwnerSpan(BIG_OWNER, end_ms - _SPAN_MS, end_ms)
    once, traffic = await _measure(client, pid, span, calls)
    await _insert_again(client, newest)
    again, same = await _measure(client, pid, span, calls)
    assert _total(same) == _total(traffic), "a repeated insert was counted"
    print_head()
    print_line(f"{_total(traffic)} recognitions in 30 days", once)
    print_line(f"the same, {len(newest)} rows inserted again", again)
    await client.close()


async def _insert_again(client: ClickHouseClient, again: Sequence[RecognitionRow]) -> None:
    for start in range(0, len(again), BATCH_ROWS):
        await insert_recognitions(client, again[start : start + BATCH_ROWS])


def _prepared(settings: ClickHouseSettings) -> ClickHouseSettings:
    client = connect_for_schema(settings)
    create_database(client, "benchmark")
    migrate(client, retention_days=400)
    client.close()
    return settings.model_copy(update={"clickhouse_database": "benchmark"})


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=50)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="platestream-benchmark-") as folder:
        service = start_clickhouse(Path(folder))
        try:
            settings = _prepared(service.address.settings())
            asyncio.run(_run(settings, service.process.pid, arguments.rows, arguments.calls))
        finally:
            service.stop()


if __name__ == "__main__":
    main()
