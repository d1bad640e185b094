"""Measures the rate of the sink, and the time from a recognition on the topic to a readable row.

Command: ``python -m tools.benchmarks.sink [--rows 100000] [--probes 100] [--load 50]``. Prints
rows per second and CPU time per row, of the sink and of ClickHouse, with all rows waiting on the
topic. Then prints the latency of single recognitions, without load and with ``--load`` recognitions
per second. A row is readable when the list's ``FINAL`` query returns the row.
"""

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from uuid import UUID

from clickhouse_connect.driver.client import Client

from analytics_sql.client import connect_for_schema
from common.records.recognitions import Recognition
from common.records.topics import RECOGNITIONS
from common.settings import ClickHouseSettings
from tools.benchmarks.records import recognition
from tools.benchmarks.stack import (
    BenchmarkStack,
    cpu_seconds,
    print_table,
    running_stack,
    spread,
    wait_until,
)

_CHUNK = 5_000
_READABLE = (
    "SELECT id FROM {table} FINAL WHERE user_id = '{user}' AND id = '{id}'"
    " AND ts = fromUnixTimestamp64Milli({ms})"
)


class Sink:
    """Publishes recognitions, and measures how a stack's sink writes them."""

    def __init__(self, stack: BenchmarkStack, client: Client, table: str) -> None:
        """``table`` is the table in which the stack's ClickHouse stores recognitions."""
        self._stack, self._client, self._table = stack, client, table
        self._owner: UUID = stack.owner_id()
        self._numbers = count()

    def send(self, rows: int) -> list[Recognition]:
        """Publish recognitions and return them."""
        now_ms = time.time_ns() // 1_000_000
        made = [recognition(self._owner, next(self._numbers), now_ms) for _ in range(rows)]
        self._stack.send(RECOGNITIONS, ((one.camera_id, one) for one in made))
        return made

    def print_rate(self, rows: int) -> None:
        """Print the rate at which the sink writes waiting rows, from the first row to the last."""
        for first in range(0, rows, _CHUNK):
            self.send(min(_CHUNK, rows - first))
        self._stack.start_process("sink")
        first = wait_until("the first row", self._count)
        pids = [self._stack.pid(name) for name in ("sink", "clickhouse")]
        began, before = time.monotonic(), [cpu_seconds(pid) for pid in pids]
        wait_until("all rows", lambda: self._count() >= rows)
        seconds, written = time.monotonic() - began, max(1, rows - first)
        used = [cpu_seconds(pid) - cpu for pid, cpu in zip(pids, before, strict=True)]
        cells = (f"{1e6 * cpu / written:.0f} µs" for cpu in used)
        print(f"| {written / seconds:,.0f} | {' | '.join(cells)} |")

    def delay_ms(self) -> float:
        """Publish a recognition. Return the time until its row is readable, in milliseconds."""
        began = time.monotonic()
        (sent,) = self.send(1)
        query = _READABLE.format(
            table=self._table, user=sent.owner_id, id=sent.id, ms=sent.captured_ms
        )
        wait_until("a readable row", lambda: self._client.query(query).result_rows)
        return (time.monotonic() - began) * 1000

    def _count(self) -> int:
        return int(self._client.query(f"SELECT count() FROM {self._table}").result_rows[0][0])


@contextmanager
def _load(sink: Sink, rows_a_second: int) -> Iterator[None]:
    done = threading.Event()

    def send() -> None:
        while not done.wait(0.1):
            sink.send(rows_a_second // 10)

    thread = threading.Thread(target=send)
    thread.start()
    yield
    done.set()
    thread.join()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--probes", type=int, default=100)
    parser.add_argument("--load", type=int, default=50, help="recognitions per second")
    arguments = parser.parse_args()
    with running_stack() as stack:
        stack.run_only()
        settings = stack.settings(ClickHouseSettings)
        client = connect_for_schema(settings)
        sink = Sink(stack, client, f"{settings.clickhouse_database}.recognitions")
        print_table("rows/s", "CPU time of the sink per row", "of ClickHouse")
        sink.print_rate(arguments.rows)
        print_table("published → readable row", "p50 ms", "p95 ms", "max ms")
        delays = [sink.delay_ms() for _ in range(arguments.probes)]
        print(f"| idle | {spread(delays)} |")
        with _load(sink, arguments.load):
            delays = [sink.delay_ms() for _ in range(arguments.probes)]
        print(f"| at {arguments.load} rows/s | {spread(delays)} |")
        client.close()


if __name__ == "__main__":
    main()
