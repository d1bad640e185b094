"""The time of lists and analytics over the tables of :mod:`tools.benchmarks.large_tables`.

Command: ``python -m tools.benchmarks.large_calls --folder DIR [--rows 100000000] [--calls 100]
[--http]``. Fills what is missing, brings the rollups up to date, and asks every kind of question so
many times, each time with other values. Without ``--http`` the queries alone, with it over HTTP, on
a whole stack without cameras whose ClickHouse has the folder. Prints tables for docs/benchmarks.md.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import psutil
from sqlalchemy import Connection, create_engine, text

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    list_recognitions,
)
from analytics_sql.traffic.analytics import OwnerSpan, count_traffic
from analytics_sql.traffic.rollups import rank_plates, roll_up
from common.plates.matching import MatchMode
from common.settings import ClickHouseSettings, DatabaseSettings
from tests.e2e.api_client import ApiClient
from tests.services.stack import RunningStack
from tools.benchmarks.large_tables import (
    BIG_OWNER,
    CAMERAS,
    DATABASE,
    DAY_MS,
    DAYS,
    KEPT_DAYS,
    LETTERS,
    OWNERS,
    LargeTables,
    fill,
    serve,
)
from tools.benchmarks.list_call import query_of
from tools.benchmarks.list_query import print_head, print_line

_PAGE = 50
_SPAN_MS = 30 * DAY_MS
_KNOWN = 2000

Ask = Callable[[RecognitionFilter, RecognitionCursor | None], Awaitable[None]]


@dataclass(frozen=True)
class Question:
    """One kind of question: how to ask it once more, each time with other values."""

    name: str
    wanted: Callable[[random.Random], RecognitionFilter]
    is_deep: bool = False


def questions(end_ms: int, known: list[tuple[str, int, UUID]]) -> list[Question]:
    """Every filter by itself, all together, and bad input; ``known``: plates, times and ids."""
    big = RecognitionFilter(BIG_OWNER)
    start_ms = end_ms - DAYS * DAY_MS

    def plate(chance: random.Random) -> str:
        return chance.choice(known)[0]

    def part(size: int) -> Callable[[random.Random], RecognitionFilter]:
        return lambda chance: replace(big, plate="".join(chance.choices(LETTERS, k=size)))

    def day(chance: random.Random) -> RecognitionFilter:
        from_ms = chance.randrange(start_ms, end_ms)
        return replace(big, from_ms=from_ms, to_ms=from_ms + DAY_MS)

    def everything(chance: random.Random) -> RecognitionFilter:
        to_ms = chance.randrange(start_ms, end_ms)
        camera = chance.choice(CAMERAS)
        return RecognitionFilter(BIG_OWNER, plate(chance)[:2], camera, start_ms, to_ms, 0.6)

    def matching(mode: MatchMode, of: Callable[[str], str]) -> Callable[..., RecognitionFilter]:
        return lambda chance: replace(big, plate=of(plate(chance)), match=mode)

    return [
        Question("no filter", lambda _: big),
        Question("deep page (cursor)", lambda _: big, is_deep=True),
        Question("camera", lambda chance: replace(big, camera_id=chance.choice(CAMERAS))),
        Question("camera without rows", lambda _: replace(big, camera_id=UUID(int=1))),
        Question("one day", day),
        Question("exact", matching(MatchMode.EXACT, str)),
        Question("prefix of 3", matching(MatchMode.PREFIX, lambda of: of[:3])),
        Question("prefix of 5", matching(MatchMode.PREFIX, lambda of: of[:5])),
        Question("substring of 2", part(2)),
        Question("substring of 3", part(3)),
        Question("substring of 3, deep", part(3), is_deep=True),
        Question("substring of 4", matching(MatchMode.SUBSTRING, lambda of: of[2:6])),
        Question("nobody's plate", part(9)),
        Question("all filters", everything),
        Question("wildcard `XX?X*`", matching(MatchMode.WILDCARD, _with_wildcards)),
        Question("wildcard `*X?X?X*`", matching(MatchMode.WILDCARD, _apart)),
        Question("fuzzy", matching(MatchMode.FUZZY, str)),
        Question("fuzzy, one character", matching(MatchMode.FUZZY, lambda of: of[:1])),
        Question("wildcards only but for one", matching(MatchMode.WILDCARD, _many_wildcards)),
        Question("ten years", lambda _: replace(big, from_ms=end_ms - 3650 * DAY_MS)),
        Question("confidence ≥ 0.99999", lambda _: replace(big, min_confidence=0.99999)),
        Question("small owner", lambda chance: RecognitionFilter(chance.choice(OWNERS[1:]))),
    ]


def _with_wildcards(plate: str) -> str:
    return f"{plate[:2]}?{plate[3]}*"


def _apart(plate: str) -> str:
    return f"*{plate[1]}?{plate[3]}?{plate[5]}*"


def _many_wildcards(plate: str) -> str:
    return "*?" * 3 + plate[0] + "*" * 64


async def prepare(address_settings: ClickHouseSettings) -> list[tuple[str, int, UUID]]:
    """Bring the rollups up to date, and return some rows of the big owner."""
    client = ClickHouseClient(address_settings, query_seconds=3600)
    began = time.monotonic()
    while not await roll_up(client, BIG_OWNER):
        pass
    print(f"traffic rolled up in {time.monotonic() - began:.0f} s", flush=True)
    began = time.monotonic()
    await rank_plates(client, BIG_OWNER)
    print(f"plates ranked in {time.monotonic() - began:.0f} s", flush=True)
    result = await client.run(
        "SELECT plate, toUnixTimestamp64Milli(ts), id FROM recognitions"
        f" WHERE user_id = '{BIG_OWNER}' AND id_hash % 10007 = 1 LIMIT {_KNOWN}"
    )
    await client.close()
    return [(row[0], row[1], row[2]) for row in result.rows]


async def measure(
    asked: Question, known: list[tuple[str, int, UUID]], ask: Ask, calls: int
) -> list[float]:
    """Return how long each call took, ms, sorted."""
    chance = random.Random(asked.name)
    took_ms: list[float] = []
    for _ in range(calls):
        wanted = asked.wanted(chance)
        _, at_ms, identifier = chance.choice(known)
        after = RecognitionCursor(at_ms, identifier) if asked.is_deep else None
        started = time.perf_counter()
        await ask(wanted, after)
        took_ms.append((time.perf_counter() - started) * 1000)
    return sorted(took_ms)


async def measure_queries(tables: LargeTables, pid: int, calls: int) -> None:
    """Print how long the queries take, without API, and what the tables take on the disk."""
    settings = tables.address.settings()
    known = await prepare(settings)
    client = ClickHouseClient(settings)
    await _print_sizes(client, tables.rows)

    async def ask(wanted: RecognitionFilter, after: RecognitionCursor | None) -> None:
        await list_recognitions(client, wanted, after, _PAGE)

    print_head()
    for asked in questions(tables.end_ms, known):
        with _cpu(pid, calls):
            print_line(asked.name, await measure(asked, known, ask, calls))
    took_ms: list[float] = []
    with _cpu(pid, calls):
        for _ in range(calls):
            now_ms = int(time.time() * 1000)
            span = OwnerSpan(BIG_OWNER, now_ms - _SPAN_MS, now_ms)
            started = time.perf_counter()
            await count_traffic(client, span, plates=10)
            took_ms.append((time.perf_counter() - started) * 1000)
    print_line("analytics, 30 days", sorted(took_ms))
    await client.close()


@contextmanager
def _cpu(pid: int, calls: int) -> Iterator[None]:
    """Print the CPU time of the server a call: it tells more where other work runs beside."""
    before = psutil.Process(pid).cpu_times()
    yield
    after = psutil.Process(pid).cpu_times()
    used = after.user + after.system - before.user - before.system
    print(f"    CPU of the server: {used * 1000 / calls:.0f} ms a call", flush=True)


async def _print_sizes(client: ClickHouseClient, rows: int) -> None:
    result = await client.run(
        "SELECT table, count(), sum(bytes_on_disk) FROM system.parts"
        f" WHERE active AND database = '{DATABASE}' GROUP BY table ORDER BY 3 DESC"
    )
    for table, parts, size in result.rows:
        print(f"{table}: {parts} parts, {size / rows:.2f} bytes a row of recognitions")
    print(f"together: {sum(size for *_, size in result.rows) / rows:.1f} bytes a row\n")


def measure_calls(folder: Path, tables: LargeTables, calls: int) -> None:
    """Print how long the calls take over HTTP; no server may be on the folder."""
    with TemporaryDirectory(prefix="platestream-bench-") as name:
        given = {"CLICKHOUSE_DATABASE": DATABASE, "RECOGNITION_RETENTION_DAYS": str(KEPT_DAYS)}
        stack = RunningStack(Path(name), given)
        place = stack.data_folder("clickhouse")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to((folder / "clickhouse").resolve())
        with stack:
            _take_over(stack)
            asyncio.run(_measure_calls(stack, tables, calls))


async def _measure_calls(stack: RunningStack, tables: LargeTables, calls: int) -> None:
    known = await prepare(stack.settings(ClickHouseSettings))
    api = ApiClient(stack.access.base_url, stack.access.api_key)

    async def ask(wanted: RecognitionFilter, _: RecognitionCursor | None) -> None:
        api.call("GET", "/api/recognitions", params=query_of(wanted, _PAGE))

    print_head()
    for asked in questions(tables.end_ms, known):
        if not asked.is_deep and asked.wanted(random.Random(0)).user_id == BIG_OWNER:
            print_line(asked.name, await measure(asked, known, ask, calls))
    took_ms: list[float] = []
    for _ in range(calls):
        started = time.perf_counter()
        api.call("GET", "/api/analytics")
        took_ms.append((time.perf_counter() - started) * 1000)
    print_line("analytics, 30 days", sorted(took_ms))
    await _measure_corrected(stack, known, calls)
    api.close()


async def _measure_corrected(
    stack: RunningStack, known: list[tuple[str, int, UUID]], calls: int
) -> None:
    """Correct every known row by a character, and search what was read and what it was made."""
    with _database(stack) as connection:
        for plate, at_ms, identifier in known:
            values = {"of": BIG_OWNER, "id": identifier, "at": at_ms, "plate": plate}
            connection.execute(
                text(
                    "INSERT INTO corrections (owner_id, recognition_id, camera_id, captured_ms,"
                    " reading, plate, corrected_by) VALUES (:of, :id, :camera, :at, :plate, :now,"
                    " 'big@example.org')"
                ),
                values | {"camera": CAMERAS[0], "now": _corrected(plate)},
            )
    api = ApiClient(stack.access.base_url, stack.access.api_key)

    async def ask(wanted: RecognitionFilter, _: RecognitionCursor | None) -> None:
        params = {**query_of(wanted, _PAGE), "corrected": "true"}
        api.call("GET", "/api/recognitions", params=params)

    for name, mode, of in (
        ("exact, as it was read", MatchMode.EXACT, str),
        ("exact, as it was corrected", MatchMode.EXACT, _corrected),
        ("substring of 3, as it was corrected", MatchMode.SUBSTRING, _corrected_end),
    ):
        asked = Question(f"{name}, {len(known)} corrections", _searched(known, mode, of))
        print_line(asked.name, await measure(asked, known, ask, calls))
    api.close()


def _searched(
    known: list[tuple[str, int, UUID]], mode: MatchMode, of: Callable[[str], str]
) -> Callable[[random.Random], RecognitionFilter]:
    return lambda chance: RecognitionFilter(BIG_OWNER, of(chance.choice(known)[0]), match=mode)


def _corrected(plate: str) -> str:
    return f"{plate[:-1]}Q"


def _corrected_end(plate: str) -> str:
    return _corrected(plate)[-3:]


@contextmanager
def _database(stack: RunningStack) -> Iterator[Connection]:
    """A transaction in the stack's PostgreSQL."""
    url = stack.settings(DatabaseSettings).database_url.get_secret_value()
    engine = create_engine(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def _take_over(stack: RunningStack) -> None:
    """Make the stack's account the owner of the rows."""
    with _database(stack) as connection:
        connection.execute(
            text("INSERT INTO owners (id, email) VALUES (:big, 'big@example.org')"),
            {"big": BIG_OWNER},
        )
        connection.execute(text("UPDATE api_keys SET owner_id = :big"), {"big": BIG_OWNER})


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--http", action="store_true")
    arguments = parser.parse_args()
    service = serve(arguments.folder)
    try:
        tables = fill(service.address, arguments.rows)
        if not arguments.http:
            asyncio.run(measure_queries(tables, service.process.pid, arguments.calls))
    finally:
        service.stop()
    if arguments.http:
        measure_calls(arguments.folder, tables, arguments.calls)


if __name__ == "__main__":
    main()
