"""The embedded server's own guarantees: crashes, limits, memory, its folder, and its exit."""

import resource
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

from tests.services.clickhouse import ClickHouseService, start_clickhouse
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

APP = "deploy.clickhouse.app."
_MIB = 1 << 20
_DEADLINE_SECONDS = 30.0
_LONG_INSERT_BLOCKS = 2048
"""Number of blocks in a long insert. Each block has a million bytes."""
_SMALL_BLOCKS = {
    "max_insert_block_size": 65_536,
    "min_insert_block_size_rows": 65_536,
    "min_insert_block_size_bytes": 8 * _MIB,
}
"""By default, the engine buffers several blocks of a million rows: 450 MiB for any long insert."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ClickHouseService]:
    """An embedded server for one test."""
    service = start_clickhouse(tmp_path)
    yield service
    service.kill()


@pytest.fixture(scope="module")
def lasting_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseService]:
    """An embedded server for all tests that do not stop the server."""
    service = start_clickhouse(tmp_path_factory.mktemp("clickhouse"))
    yield service
    service.kill()


def _resident_bytes(service: ClickHouseService) -> int:
    """Return the resident memory of the server. **Source:** proc(5), /proc/pid/statm."""
    pages = Path(f"/proc/{service.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def _wait_for_memory_below(service: ClickHouseService, limit_bytes: int) -> None:
    wait_until(
        "memory is released", lambda: _resident_bytes(service) < limit_bytes, _DEADLINE_SECONDS
    )


class _Inserter(threading.Thread):
    """Inserts ascending numbers, one row per insert, until the server stops."""

    def __init__(self, service: ClickHouseService, first: int) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._next = first
        self.acknowledged: list[int] = []

    def run(self) -> None:
        client = self._service.address.client()
        while True:
            try:
                client.insert("t", [[self._next]], column_names=["n"])
            except OperationalError:
                return
            self.acknowledged.append(self._next)
            self._next += 1


class TestCrash:
    def test_no_acknowledged_insert_is_lost_by_a_kill(self, service: ClickHouseService) -> None:
        service.address.client().command("CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
        acknowledged: set[int] = set()

        for round_number in range(3):
            inserters = [
                _Inserter(service, (round_number * 4 + worker) * 1_000_000) for worker in range(4)
            ]
            for inserter in inserters:
                inserter.start()
            wait_until(
                "each has stored some",
                lambda: all(len(one.acknowledged) > 20 for one in inserters),  # noqa: B023
                _DEADLINE_SECONDS,
            )
            service.kill()
            for inserter in inserters:
                inserter.join(_DEADLINE_SECONDS)
                acknowledged |= set(inserter.acknowledged)
            service.start()

            rows = service.address.client().query("SELECT n FROM t").result_rows
            stored = [row[0] for row in rows]
            assert acknowledged <= set(stored)
            assert len(stored) == len(set(stored))

    def test_half_an_insert_leaves_nothing(self, service: ClickHouseService) -> None:
        client = service.address.client()
        client.command("CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
        sent = threading.Event()
        gone = threading.Event()

        def data() -> Iterator[bytes]:
            yield b"1\n" * 100_000
            sent.set()
            gone.wait(_DEADLINE_SECONDS)

        def insert() -> None:
            with pytest.raises(OperationalError):
                client.raw_insert("t", ["n"], data(), fmt="TSV")  # type: ignore[arg-type]

        with ThreadPoolExecutor(1) as threads:
            inserting = threads.submit(insert)
            assert sent.wait(_DEADLINE_SECONDS)
            service.kill()
            gone.set()
            inserting.result(_DEADLINE_SECONDS)
        service.start()

        assert service.address.client().command("SELECT count() FROM t") == 0


class TestFullDisk:
    def test_an_insert_without_space_is_refused(self, service: ClickHouseService) -> None:
        client = service.address.client()
        client.command(
            "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n "
            f"SETTINGS min_free_disk_bytes_to_perform_insert = {_MIB << 40}"
        )
        with pytest.raises(DatabaseError, match="NOT_ENOUGH_SPACE"):
            client.insert("t", [[1]], column_names=["n"])
        assert client.command("SELECT count() FROM t") == 0

    def test_a_long_insert_is_whole_or_refused(self, lasting_service: ClickHouseService) -> None:
        client = lasting_service.address.client()
        columns = "text String, n UInt8 DEFAULT 7"
        client.command(f"CREATE TABLE long ({columns}) ENGINE = MergeTree ORDER BY n")
        line = b"x" * 99 + b"\n"
        client.raw_insert("long", ["text"], line * 300_000, fmt="TSV")
        assert client.query("SELECT count(), any(n) FROM long").result_rows == [(300_000, 7)]
        with pytest.raises(DatabaseError):
            client.raw_insert("long", ["n"], b"1\n" * 20_000_000 + b"x\n", fmt="TSV")
        assert client.command("SELECT count() FROM long") == 300_000


class TestStop:
    def test_running_requests_are_finished_first(self, service: ClickHouseService) -> None:
        client = service.address.client()
        watcher = service.address.client()
        with ThreadPoolExecutor(1) as threads:
            slow = threads.submit(client.query, "SELECT sleep(2), 'done'")
            wait_until(
                "it runs",
                lambda: (
                    watcher.command(
                        "SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleep%'"
                    )
                    == 1
                ),
                _DEADLINE_SECONDS,
            )
            service.stop()

            assert slow.result().result_rows == [(0, "done")]
        assert service.process.exit_status == 0


class TestStart:
    def test_second_process_on_the_folder_is_refused(
        self, lasting_service: ClickHouseService
    ) -> None:
        second = _run_second(lasting_service, port="0")

        assert second.returncode == 78
        assert "another process" in second.stderr

    def test_busy_port_is_named(self, lasting_service: ClickHouseService, tmp_path: Path) -> None:
        second = _run_second(lasting_service, folder=str(tmp_path / "other"))

        assert second.returncode == 78
        assert str(lasting_service.address.port) in second.stderr


def _run_second(
    service: ClickHouseService, *, port: str = "", folder: str = ""
) -> "subprocess.CompletedProcess[str]":
    program = service.server.program()
    *command, first_port, first_folder = program.command
    return subprocess.run(
        (*command, port or first_port, folder or first_folder),
        env=program.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class TestLimits:
    def test_an_idle_server_releases_its_memory(self, lasting_service: ClickHouseService) -> None:
        # The memory of earlier queries is released after a delay.
        _wait_for_memory_below(lasting_service, 400 * _MIB)

    def test_too_many_queries_at_once_are_refused(self, tmp_path: Path) -> None:
        service = start_clickhouse(
            tmp_path, **{APP + "CONCURRENT_QUERIES": "1", APP + "QUEUE_SECONDS": "0.2"}
        )
        client, second = service.address.client(), service.address.client()
        try:
            with ThreadPoolExecutor(1) as threads:
                slow = threads.submit(client.query, "SELECT sleep(3)")
                wait_until(
                    "it is refused",
                    lambda: _refusal(second.query, "SELECT 1") == 202,
                    _DEADLINE_SECONDS,
                )
                slow.result()
            assert second.query("SELECT 1").result_rows == [(1,)]
        finally:
            service.kill()

    def test_a_query_beyond_the_memory_fails_alone(self, tmp_path: Path) -> None:
        service = start_clickhouse(
            tmp_path, **{"deploy.clickhouse.engine.MEMORY_BYTES": str(600 * _MIB)}
        )
        client = service.address.client()
        try:
            sql = "SELECT length(groupArray(number)) FROM numbers(1000000000)"
            assert _refusal(client.query, sql) == 241
            assert client.query("SELECT 1").result_rows == [(1,)]
        finally:
            service.kill()

    @pytest.mark.long
    def test_long_answers_are_not_held_in_memory(self, lasting_service: ClickHouseService) -> None:
        client = lasting_service.address.client()
        client.query("SELECT 1")
        before = highest = _resident_bytes(lasting_service)
        size = 0

        sql = "SELECT randomPrintableASCII(100) FROM numbers(5000000)"
        with client.raw_stream(sql, fmt="RowBinary") as stream:
            while piece := stream.read(1 << 20):
                size += len(piece)
                highest = max(highest, _resident_bytes(lasting_service))

        assert size > 500_000_000
        # The allocator returns memory with a delay, which matters more if the client reads slowly.
        assert highest - before < size / 2

    def test_an_answer_that_cannot_be_cut_is_bounded(
        self, lasting_service: ClickHouseService
    ) -> None:
        client = lasting_service.address.client()
        before = _resident_bytes(lasting_service)

        sql = "SELECT randomPrintableASCII(1000) FROM numbers(400000) FORMAT JSON"

        assert _refusal(client.raw_query, sql) == 396
        # The engine may use 1 GiB by its settings, plus memory that the allocator has not returned
        # yet.
        assert _resident_bytes(lasting_service) - before < 1536 * _MIB
        _wait_for_memory_below(lasting_service, before + 256 * _MIB)

    @pytest.mark.long
    def test_long_inserts_are_not_held_in_memory(self, lasting_service: ClickHouseService) -> None:
        client = lasting_service.address.client()
        client.command("CREATE TABLE t (text String) ENGINE = Null")
        before = highest = _resident_bytes(lasting_service)
        block = (b"x" * 99 + b"\n") * 10_000

        def data() -> Iterator[bytes]:
            nonlocal highest
            for _ in range(_LONG_INSERT_BLOCKS):
                highest = max(highest, _resident_bytes(lasting_service))
                yield block

        client.raw_insert("t", ["text"], data(), settings=_SMALL_BLOCKS, fmt="TSV")  # type: ignore[arg-type]

        assert highest - before < 400 * _MIB


def _refusal(query: Callable[[str], object], sql: str) -> int | None:
    try:
        query(sql)
    except DatabaseError as error:
        return error.code
    return None
