"""The rate of the sink: rows a second, and from produce to readable row.

Command: ``python -m tools.benchmarks.sink_throughput [--rows 100000] [--probes 100] [--load 50]``.
Starts Kafka, ClickHouse and one sink of its own in a temporary folder and prints a table for
docs/benchmarks.md. A probe is one recognition, asked for every 5 ms with the list's FINAL read.
"""

import argparse
import os
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from clickhouse_connect.driver.client import Client

from common.kafka.clients import create_topics
from common.records.recognitions import Recognition
from common.records.topics import RECOGNITIONS
from common.settings import KafkaSettings
from deploy.local.servers.kafka import KafkaServer
from tests.integration.streams.recognitions import migrated
from tests.integration.streams.stages import Feeder, environment_of, lag, running, stage
from tests.records import messages, recognition, recognitions
from tests.services.clickhouse import ClickHouseAddress, ClickHouseService
from tests.services.kafka import fresh_kafka_settings, kafka_process
from tests.services.process import ChildProcess

_CHUNK = 5_000
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_PROBE_OFFSET = 10_000_000
_LOAD_OFFSET = 20_000_000


@dataclass(frozen=True)
class Bench:
    """What is running."""

    kafka: KafkaSettings
    client: Client
    sink: ChildProcess


@contextmanager
def running_bench(folder: Path, rows: int) -> Iterator[tuple[Bench, float]]:
    """Start all with ``rows`` waiting on the topic; also gives when the sink was started."""
    with kafka_process(folder) as kafka, ClickHouseService(folder) as clickhouse:
        assert isinstance(kafka.server, KafkaServer)
        settings = fresh_kafka_settings(kafka.server.bootstrap_servers)
        create_topics(settings)
        feeder = Feeder(settings, RECOGNITIONS)
        for first in range(0, rows, _CHUNK):
            _send(feeder, range(first, min(first + _CHUNK, rows)))
        feeder.close()
        with (
            migrated(clickhouse.address) as client,
            running(_sink(settings, clickhouse.address, folder)) as sink,
        ):
            yield Bench(settings, client, sink), time.monotonic()


def _sink(kafka: KafkaSettings, clickhouse: ClickHouseAddress, folder: Path) -> ChildProcess:
    environment = environment_of(
        kafka,
        folder / "sink",
        clickhouse_url=clickhouse.url,
        clickhouse_user=clickhouse.user,
        clickhouse_password=clickhouse.password,
        clickhouse_database=clickhouse.database,
    )
    return stage("streams.sink", "sink", folder / "sink.log", environment)


def _send(feeder: Feeder, numbers: range) -> None:
    feeder.send_pairs(messages(recognitions(numbers)))


def _count(client: Client) -> int:
    return int(client.query("SELECT count() FROM recognitions").result_rows[0][0])


def drain(bench: Bench, rows: int) -> tuple[float, float]:
    """Return rows a second, from the first written row to the last, and the sink's CPU us a row."""
    while (first := _count(bench.client)) == 0:
        time.sleep(0.01)
    began, cpu = time.monotonic(), _cpu_seconds(bench.sink.pid)
    while (count := _count(bench.client)) < rows:
        time.sleep(0.01)
    seconds = time.monotonic() - began
    used = _cpu_seconds(bench.sink.pid) - cpu
    written = max(1, count - first)
    return written / seconds, used / written * 1e6


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS


def _resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def delays_ms(bench: Bench, probes: int, first: int) -> list[float]:
    """Return for each probe the time from produce to readable row."""
    feeder = Feeder(bench.kafka, RECOGNITIONS)
    found = [
        _delay_ms(bench.client, feeder, recognition(first + number)) for number in range(probes)
    ]
    feeder.close()
    return found


def _delay_ms(client: Client, feeder: Feeder, record: Recognition) -> float:
    began = time.monotonic()
    feeder.send_pairs(messages([record]))
    while not client.query(
        "SELECT id FROM recognitions FINAL WHERE user_id = {user:UUID} AND id = {id:UUID}"
        " AND ts = fromUnixTimestamp64Milli({ms:Int64})",
        parameters={"user": record.owner_id, "id": record.id, "ms": record.captured_ms},
    ).result_rows:
        time.sleep(0.005)
    return (time.monotonic() - began) * 1000


@contextmanager
def load(kafka: KafkaSettings, rows_a_second: int) -> Iterator[None]:
    """Send that many recognitions a second meanwhile."""
    done = threading.Event()

    def send() -> None:
        feeder, number = Feeder(kafka, RECOGNITIONS), _LOAD_OFFSET
        while not done.wait(0.1):
            _send(feeder, range(number, number + rows_a_second // 10))
            number += rows_a_second // 10
        feeder.close()

    thread = threading.Thread(target=send)
    thread.start()
    yield
    done.set()
    thread.join()


def _print_delays(name: str, delays: list[float]) -> None:
    ordered = sorted(delays)
    p95 = ordered[int(len(ordered) * 0.95)]
    print(f"| {name} | {statistics.median(ordered):.0f} ms | {p95:.0f} ms | {ordered[-1]:.0f} ms |")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks.sink_throughput")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--probes", type=int, default=100)
    parser.add_argument("--load", type=int, default=50, help="recognitions a second")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="platestream-bench-", ignore_cleanup_errors=True) as name:
        _run(Path(name), arguments.rows, arguments.probes, arguments.load)


def _run(folder: Path, rows: int, probes: int, load_rows_a_second: int) -> None:
    with running_bench(folder, rows) as (bench, started):
        rate, cpu_us = drain(bench, rows)
        print(f"start of the sink to all rows: {time.monotonic() - started:.1f} s")
        print(f"rows/s: {rate:.0f}, sink CPU: {cpu_us:.0f} us/row")
        print("\n| from produce to readable row | p50 | p95 | max |\n|---|---|---|---|")
        _print_delays("idle", delays_ms(bench, probes, _PROBE_OFFSET))
        with load(bench.kafka, load_rows_a_second):
            delays = delays_ms(bench, probes, _PROBE_OFFSET + probes)
        _print_delays(f"{load_rows_a_second} rows/s beside", delays)
        _print_idle(bench)


def _print_idle(bench: Bench) -> None:
    cpu, seconds = _cpu_seconds(bench.sink.pid), 20
    time.sleep(seconds)
    share = (_cpu_seconds(bench.sink.pid) - cpu) / seconds * 100
    print(
        f"\nsink idle: {share:.1f} % of a core, {_resident_mib(bench.sink.pid):.0f} MiB", end=", "
    )
    print(f"lag: {lag(bench.kafka, 'sink', RECOGNITIONS)}")
    print(f"load average: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
