"""The cost of an insert into ``recognitions``, with what lists and searches need and without.

Command: ``python -m tools.benchmarks.insert_cost [--batches 40] [--rows 5000]``. Starts a server of
its own in a temporary folder and inserts the same rows, in turns, into the table and into a bare
one: without projections, indexes and the view that cuts plates into pieces. Prints rows a second,
the server's CPU time a row, parts, and the bytes that were written for each that is there in the
end.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from analytics_sql.client import ClickHouseClient, connect_for_schema
from analytics_sql.migrate import create_database, migrate
from analytics_sql.recognitions import RecognitionRow, insert_recognitions
from tests.services.clickhouse import ClickHouseAddress, start_clickhouse
from tools.benchmarks.list_query import rows

_BARE = (
    "DROP VIEW plate_pieces_of_recognitions",
    "ALTER TABLE recognitions DROP PROJECTION times_by_camera",
    "ALTER TABLE recognitions DROP PROJECTION times_by_plate",
    "ALTER TABLE recognitions DROP INDEX ingested_range",
    "ALTER TABLE recognitions DROP INDEX confidence_range",
    "ALTER TABLE recognitions DROP COLUMN id_hash",
)
_TABLES = {"whole": (), "bare": _BARE}
_MERGE_SECONDS = 120


@dataclass
class Cost:
    """Sums over the batches of one of the two tables."""

    client: ClickHouseClient
    database: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    parts: list[int] = field(default_factory=list)


def _database(address: ClickHouseAddress, name: str, statements: Sequence[str]) -> Cost:
    client = connect_for_schema(address.settings())
    create_database(client, name)
    migrate(client, retention_days=400)
    for statement in statements:
        client.command(statement)
    client.close()
    settings = address.settings().model_copy(update={"clickhouse_database": name})
    return Cost(ClickHouseClient(settings), name)


def _cpu_seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


async def _insert(cost: Cost, process: psutil.Process, batch: Sequence[RecognitionRow]) -> None:
    began, cpu = time.monotonic(), _cpu_seconds(process)
    await insert_recognitions(cost.client, batch)
    cost.seconds += time.monotonic() - began
    # Merges of both run beside: their share is in both.
    cost.cpu_seconds += _cpu_seconds(process) - cpu
    cost.parts.append(await _number(cost, "count()"))


async def _number(cost: Cost, what: str) -> int:
    query = f"SELECT {what} FROM system.parts WHERE active AND database = '{cost.database}'"
    return int((await cost.client.run(query)).rows[0][0])


async def _run(address: ClickHouseAddress, pid: int, batches: int, size: int) -> None:
    process = psutil.Process(pid)
    costs = [_database(address, name, statements) for name, statements in _TABLES.items()]
    source = rows(batches * size, int(time.time() * 1000))
    written = process.io_counters().write_chars
    while batch := list(islice(source, size)):
        for cost in costs:
            await _insert(cost, process, batch)
    for _ in range(_MERGE_SECONDS):
        if (await costs[0].client.run("SELECT count() FROM system.merges")).rows == [(0,)]:
            break
        await asyncio.sleep(1)
    written = process.io_counters().write_chars - written
    print("| table | rows/s | CPU us/row | most parts | bytes a row |\n|---|---|---|---|---|")
    total = 0
    for cost in costs:
        count = batches * size
        stored = await _number(cost, "sum(bytes_on_disk)")
        total += stored
        print(
            f"| {cost.database} | {count / cost.seconds:.0f} |"
            f" {cost.cpu_seconds / count * 1e6:.1f} | {max(cost.parts)} | {stored / count:.0f} |"
        )
        await cost.client.close()
    print(f"\nwritten for each byte that is there in the end: {written / total:.1f}")
    whole, bare = costs
    print(f"the whole table's rate is {bare.seconds / whole.seconds:.2f} of the bare one's")


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--rows", type=int, default=5000, help="of a batch")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="platestream-benchmark-") as folder:
        service = start_clickhouse(Path(folder))
        try:
            pid = service.process.pid
            asyncio.run(_run(service.address, pid, arguments.batches, arguments.rows))
        finally:
            service.stop()


if __name__ == "__main__":
    main()
