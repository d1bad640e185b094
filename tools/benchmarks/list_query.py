"""The time of the list query on the embedded ClickHouse, filter by filter.

Command: ``python -m tools.benchmarks.list_query [--rows 1000000] [--calls 100]``. Starts a server
of its own in a temporary folder, fills it through ``insert_recognitions``, and prints a table for
docs/benchmarks.md. Needles and cursors differ from call to call, so that no cache answers.
"""

import argparse
import asyncio
import random
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from analytics_sql.client import ClickHouseClient, connect_for_schema
from analytics_sql.migrate import create_database, migrate
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionRow,
    get_recognition,
    insert_recognitions,
    list_recognitions,
)
from common.plates.matching import MatchMode
from common.records.frames import Box
from common.records.ids import recognition_id
from common.records.object_keys import crop_key, photo_key
from tests.services.clickhouse import ClickHouseAddress, ClickHouseService, start_clickhouse

_DAYS = 34
_DAY_MS = 86_400_000
BATCH_ROWS = 5_000
_PAGE = 50
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
_OWNERS = tuple(UUID(int=0x1000_4000_8000_0000_0000_0000 + n) for n in range(5))
BIG_OWNER = _OWNERS[0]
_CAMERAS = tuple(UUID(int=0x2000_4000_8000_0000_0000_0000 + n) for n in range(40))
_RARE_CAMERA = UUID(int=0x3000_4000_8000_0000_0000_0000)


@dataclass(frozen=True)
class Case:
    """One kind of question: how to ask it once more, each time with other values."""

    name: str
    wanted: Callable[[random.Random], RecognitionFilter]
    after: Callable[[random.Random], RecognitionCursor | None] = lambda _: None
    limit: int = _PAGE


def _plate(chance: random.Random) -> str:
    return "".join(chance.choices(_LETTERS, k=7))


def rows(count: int, end_ms: int) -> Iterator[RecognitionRow]:
    """Rows in order of time; seven in ten belong to one owner, twenty to a rare camera."""
    chance = random.Random(7)
    step = _DAYS * _DAY_MS / count
    for number in range(count):
        captured_ms = int(end_ms - (count - number) * step)
        rare = number % (count // 20) == count // 40
        owner = BIG_OWNER if rare or chance.random() < 0.7 else chance.choice(_OWNERS[1:])
        camera = _RARE_CAMERA if rare else chance.choice(_CAMERAS)
        identifier = recognition_id(captured_ms, camera, str(number))
        yield RecognitionRow(
            id=identifier,
            user_id=owner,
            camera_id=camera,
            camera_name=f"Camera {camera.int % 100}",
            plate=_plate(chance),
            confidence=round(chance.uniform(0.5, 1.0), 4),
            character_confidences=tuple(round(chance.uniform(0.5, 1.0), 3) for _ in range(7)),
            captured_ms=captured_ms,
            first_seen_ms=captured_ms - 800,
            last_seen_ms=captured_ms + 700,
            readings_count=chance.randint(2, 30),
            box=Box(x=chance.randint(0, 1800), y=chance.randint(0, 1000), width=120, height=40),
            photo_key=photo_key(owner, identifier),
            crop_key=crop_key(owner, identifier),
            region="Germany",
        )


def cases(end_ms: int, known: list[RecognitionRow]) -> list[Case]:
    """Every filter by itself, some together, and the worst: filters that hardly anything meets."""
    start_ms = end_ms - _DAYS * _DAY_MS

    def cursor(chance: random.Random) -> RecognitionCursor:
        one = chance.choice(known)
        return RecognitionCursor(one.captured_ms, one.id)

    return [
        Case("no filter", lambda _: _big()),
        Case("no filter, 200 rows", lambda _: _big(), limit=200),
        Case("deep page (cursor)", lambda _: _big(), cursor),
        *_cases_of_plates(known),
        Case("plate, 2 characters, deep", _needle(2), cursor),
        *_cases_of_cameras(),
        Case("camera, deep", lambda chance: _big(camera_id=chance.choice(_CAMERAS)), cursor),
        *_cases_of_times(start_ms, end_ms),
        Case("confidence >= 0.9", lambda _: _big(min_confidence=0.9)),
        Case("confidence >= 0.99999", lambda _: _big(min_confidence=0.99999)),
        Case("small owner", lambda chance: RecognitionFilter(chance.choice(_OWNERS[1:]))),
        Case(
            "owner without rows",
            lambda chance: RecognitionFilter(UUID(int=chance.getrandbits(128))),
        ),
    ]


def _cases_of_plates(known: list[RecognitionRow]) -> list[Case]:
    def of_known(chance: random.Random) -> str:
        return chance.choice(known).plate

    def wildcard(chance: random.Random) -> RecognitionFilter:
        plate = _plate(chance)
        return _big(plate=f"{plate[:2]}?{plate[3]}*", match=MatchMode.WILDCARD)

    return [
        Case("plate, 1 character", _needle(1)),
        Case("plate, 2 characters", _needle(2)),
        Case("plate, 3 characters", _needle(3)),
        Case("plate, 4 characters", _needle(4)),
        Case("plate, all of one", lambda chance: _big(plate=of_known(chance))),
        Case("plate that nobody has", lambda chance: _big(plate=f"{_plate(chance)}QQ")),
        Case("plate, wildcard XX?X*", wildcard),
        Case("plate, fuzzy", lambda chance: _big(plate=of_known(chance), match=MatchMode.FUZZY)),
    ]


def _cases_of_cameras() -> list[Case]:
    return [
        Case("camera", lambda chance: _big(camera_id=chance.choice(_CAMERAS))),
        Case("camera with 20 rows", lambda _: _big(camera_id=_RARE_CAMERA)),
        Case(
            "camera without rows", lambda chance: _big(camera_id=UUID(int=chance.getrandbits(128)))
        ),
    ]


def _cases_of_times(start_ms: int, end_ms: int) -> list[Case]:
    def moment(chance: random.Random) -> int:
        return chance.randrange(start_ms, end_ms)

    def a_day(chance: random.Random) -> RecognitionFilter:
        day = moment(chance)
        return _big(from_ms=day, to_ms=day + _DAY_MS)

    def everything(chance: random.Random) -> RecognitionFilter:
        return RecognitionFilter(
            BIG_OWNER, _plate(chance)[:2], chance.choice(_CAMERAS), start_ms, moment(chance), 0.6
        )

    return [
        Case("from", lambda chance: _big(from_ms=moment(chance))),
        Case("to", lambda chance: _big(to_ms=moment(chance))),
        Case("one day", a_day),
        Case("before everything", lambda _: _big(to_ms=start_ms - 1)),
        Case("all filters", everything),
    ]


def _needle(size: int) -> Callable[[random.Random], RecognitionFilter]:
    return lambda chance: _big(plate=_plate(chance)[:size])


def _big(
    plate: str | None = None,
    camera_id: UUID | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
    min_confidence: float = 0.0,
    match: MatchMode = MatchMode.SUBSTRING,
) -> RecognitionFilter:
    return RecognitionFilter(BIG_OWNER, plate, camera_id, from_ms, to_ms, min_confidence, match)


def _resident_mib(service: ClickHouseService) -> float:
    pages = Path(f"/proc/{service.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize() / (1 << 20)


def _prepare(address: ClickHouseAddress) -> ClickHouseAddress:
    client = connect_for_schema(address.settings())
    create_database(client, "benchmark")
    migrate(client, retention_days=400)
    client.close()
    return ClickHouseAddress(
        address.host, address.port, address.user, address.password, "benchmark"
    )


async def _fill(client: ClickHouseClient, count: int, end_ms: int) -> list[RecognitionRow]:
    """Insert, and return every thousandth row of the big owner."""
    known: list[RecognitionRow] = []
    batch: list[RecognitionRow] = []
    writing_seconds = 0.0
    for number, row in enumerate(rows(count, end_ms), 1):
        batch.append(row)
        if number % 1000 == 0 and row.user_id == BIG_OWNER:
            known.append(row)
        if len(batch) == BATCH_ROWS or number == count:
            started = time.perf_counter()
            await insert_recognitions(client, batch)
            writing_seconds += time.perf_counter() - started
            batch = []
    print(f"{count} rows in {writing_seconds:.1f} s ({count / writing_seconds:.0f} rows/s)")
    return known


async def _measure(client: ClickHouseClient, case: Case, calls: int) -> list[float]:
    chance = random.Random(case.name)
    took_ms: list[float] = []
    for _ in range(calls):
        wanted, after = case.wanted(chance), case.after(chance)
        started = time.perf_counter()
        await list_recognitions(client, wanted, after, case.limit)
        took_ms.append((time.perf_counter() - started) * 1000)
    return sorted(took_ms)


async def _measure_by_id(
    client: ClickHouseClient, known: list[RecognitionRow], calls: int
) -> list[float]:
    chance = random.Random(1)
    took_ms: list[float] = []
    for _ in range(calls):
        one = chance.choice(known)
        started = time.perf_counter()
        assert await get_recognition(client, one.user_id, one.id) == one
        took_ms.append((time.perf_counter() - started) * 1000)
    return sorted(took_ms)


def print_head() -> None:
    """Print the head of the table."""
    print("| question | min ms | p50 ms | p95 ms | max ms |\n|---|---|---|---|---|")


def print_line(name: str, took_ms: list[float]) -> None:
    """Print the line of a question; ``took_ms`` sorted."""

    def at(share: float) -> float:
        return took_ms[min(len(took_ms) - 1, int(len(took_ms) * share))]

    print(
        f"| {name} | {took_ms[0]:.1f} | {at(0.5):.1f} | {at(0.95):.1f} | {took_ms[-1]:.1f} |",
        flush=True,
    )


async def _run(service: ClickHouseService, count: int, calls: int) -> None:
    print(f"resident, idle and empty: {_resident_mib(service):.0f} MiB")
    end_ms = int(time.time() * 1000)
    client = ClickHouseClient(_prepare(service.address).settings())
    known = await _fill(client, count, end_ms)
    parts = await client.run(
        "SELECT count(), sum(bytes_on_disk) FROM system.parts"
        " WHERE active AND database = 'benchmark' AND table = 'recognitions'"
    )
    print(f"parts and bytes on disk: {parts.rows[0]}")
    print(f"resident after filling: {_resident_mib(service):.0f} MiB\n")
    print_head()
    for case in cases(end_ms, known):
        print_line(case.name, await _measure(client, case, calls))
    print_line("by id", await _measure_by_id(client, known, calls))
    print(f"\nresident after the questions: {_resident_mib(service):.0f} MiB")
    await client.close()


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=100)
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="platestream-benchmark-") as folder:
        service = start_clickhouse(Path(folder))
        try:
            asyncio.run(_run(service, arguments.rows, arguments.calls))
        finally:
            service.stop()


if __name__ == "__main__":
    main()
