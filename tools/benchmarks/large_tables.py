"""Tables of many million rows, made by ClickHouse itself and kept for the next run.

Command: ``python -m tools.benchmarks.large_tables --folder DIR [--rows 100000000]``. Starts a
server on the folder and inserts what is missing, in order of time, over 34 days that end at the
first run: seven in ten rows of one owner, 200 cameras, and an outcome without a reading for every
tenth.
Of the passes 40 per cent are those of 200,000 vehicles, some of which come very often, 57 per cent
are spread over 3 million, and 3 per cent bear a plate that is read once.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from clickhouse_connect.driver.client import Client

from analytics_sql.client import connect_for_schema
from analytics_sql.migrate import create_database, migrate
from tests.services.clickhouse import ClickHouseAddress, ClickHouseService

DATABASE = "benchmark"
DAYS = 34
KEPT_DAYS = 400
DAY_MS = 86_400_000
CAMERAS = tuple(UUID(int=0x2000_4000_8000_0000_0000_0000 + n) for n in range(200))
OWNERS = tuple(UUID(int=0x1000_4000_8000_0000_0000_0000 + n) for n in range(5))
BIG_OWNER = OWNERS[0]
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"

_MEMORY_BYTES = 2 << 30
_BATCH_ROWS = 500_000
_THREADS = "SETTINGS max_threads = 4, max_insert_threads = 4"
_PLATES = len(LETTERS) ** 7
_POLL_SECONDS = 10
_UNDONE = (
    "SELECT (SELECT count() FROM system.merges) +"
    " (SELECT count() FROM system.mutations WHERE NOT is_done)"
)
_END = "CREATE TABLE IF NOT EXISTS benchmark_end (end_ms Int64) ENGINE = MergeTree ORDER BY end_ms"


@dataclass(frozen=True)
class LargeTables:
    """A filled database: ``rows`` recognitions up to ``end_ms`` (Unix ms)."""

    address: ClickHouseAddress
    rows: int
    end_ms: int


def serve(folder: Path, **settings: str) -> ClickHouseService:
    """Start a server on a folder that outlives it."""
    folder.mkdir(parents=True, exist_ok=True)
    service = ClickHouseService(folder, **{"memory_bytes": str(_MEMORY_BYTES)} | settings)
    service.start()
    return service


def fill(address: ClickHouseAddress, rows: int) -> LargeTables:
    """Insert what is missing, a bounded batch at a time, and wait for the merges."""
    client = connect_for_schema(address.settings())
    create_database(client, DATABASE)
    migrate(client, retention_days=KEPT_DAYS)
    client.command(_END)
    end_ms = _number(client, "SELECT max(end_ms) FROM benchmark_end")
    if not end_ms:
        end_ms = int(time.time() * 1000)
        client.command(f"INSERT INTO benchmark_end VALUES ({end_ms})")
    _insert_missing(client, rows, end_ms)
    client.close()
    filled = ClickHouseAddress(address.host, address.port, address.user, address.password, DATABASE)
    return LargeTables(filled, rows, end_ms)


def _number(client: Client, query: str) -> int:
    return int(client.query(query).result_rows[0][0])


def _insert_missing(client: Client, rows: int, end_ms: int) -> None:
    there = _number(client, "SELECT count() FROM recognitions")
    step = DAYS * DAY_MS / rows
    for first in range(there, rows, _BATCH_ROWS):
        began = time.monotonic()
        count = min(_BATCH_ROWS, rows - first)
        client.command(_recognitions(first, count, end_ms - rows * step, step))
        client.command(_outcomes(first, count, end_ms - rows * step, step))
        rate = count / (time.monotonic() - began)
        print(f"{first + count} rows, {rate:.0f} a second", flush=True)
    while left := _number(client, _UNDONE):
        print(f"{left} merges and changes", flush=True)
        time.sleep(_POLL_SECONDS)


def _identifier(salt: int) -> str:
    """An id that begins with the milliseconds of ``at``, as the service's do."""
    head = (
        "bitOr(bitShiftLeft(toUInt64(toUnixTimestamp64Milli(at)), 16), toUInt64(32768 + g % 4096))"
    )
    tail = f"bitOr(bitShiftLeft(toUInt64(2), 62), bitShiftRight(sipHash64(number, {salt}), 2))"
    halves = ", ".join(f"reinterpretAsFixedString({half})" for half in (head, tail))
    return f"reinterpretAsUUID(concat({halves}))"


def _common(start_ms: float, step: float) -> str:
    return (
        "sipHash64(number, 1) AS h, sipHash64(number, 2) AS g, sipHash64(number, 3) AS k,"
        f" fromUnixTimestamp64Milli(toInt64({start_ms} + number * {step}), 'UTC') AS at,"
        f" intDiv(h, 100) % {len(CAMERAS)} AS camera,"
        f" toUUID(concat('{str(OWNERS[0])[:-1]}',"
        " if(intDiv(h, 100000) % 10 < 7, '0', toString(1 + intDiv(h, 1000000) % 4)))) AS owner,"
        f" toUUID(concat('{str(CAMERAS[0])[:-2]}', lower(hex(toUInt8(camera))))) AS camera_uuid"
    )


def passes_of(owner: UUID, cameras: Sequence[UUID], count: int, span_ms: tuple[int, int]) -> str:
    """Return the statement that inserts passes of one owner, without pictures, evenly over a span.

    A third of them are of a thousand vehicles.
    """
    start_ms, end_ms = span_ms
    step = (end_ms - start_ms) / count
    of_cameras = ", ".join(f"toUUID('{camera}')" for camera in cameras)
    return f"""
    INSERT INTO recognitions (user_id, id, ts, camera_id, camera_name, plate, confidence,
        character_confidences, region, plate_type, source, first_seen, last_seen, readings_count,
        photo_key, crop_key, box_x, box_y, box_width, box_height, ingested_at)
    WITH sipHash64(number, 1) AS h, sipHash64(number, 2) AS g, sipHash64(number, 3) AS k,
        fromUnixTimestamp64Milli(toInt64({start_ms} + number * {step}), 'UTC') AS at,
        h % {len(cameras)} AS camera,
        if(g % 3 = 0, sipHash64('regular', g % 1000), k) % {_PLATES} AS vehicle
    SELECT toUUID('{owner}'), {_identifier(4)}, at, [{of_cameras}][1 + camera],
        concat('Camera ', toString(camera)), concat({_digits()}), round(0.5 + (k % 500) / 1000, 4),
        arrayMap(i -> round(0.5 + (sipHash64(k, i) % 500) / 1000, 3), range(7)),
        'Germany', 'car', 'camera', at - 0.8, at + 0.7, 2 + k % 28, '', '',
        k % 1800, k % 1000, 120, 40, at + 2
    FROM numbers({count})"""


def _digits() -> str:
    return ", ".join(
        f"substring('{LETTERS}', 1 + intDiv(vehicle, {len(LETTERS) ** place}) % {len(LETTERS)}, 1)"
        for place in range(7)
    )


def _recognitions(first: int, count: int, start_ms: float, step: float) -> str:
    return f"""
    INSERT INTO recognitions (user_id, id, ts, camera_id, camera_name, plate, confidence,
        character_confidences, region, plate_type, source, first_seen, last_seen, readings_count,
        photo_key, crop_key, box_x, box_y, box_width, box_height, ingested_at)
    WITH {_common(start_ms, step)},
        toFloat64(g % 1000003) / 1000003 AS share,
        multiIf(h % 100 < 40, sipHash64('regular', toUInt64(200000 * share * share)),
                h % 100 < 97, sipHash64('passing', g % 3000000),
                sipHash64('once', number)) % {_PLATES} AS vehicle
    SELECT owner, {_identifier(4)}, at, camera_uuid, concat('Camera ', toString(camera)),
        concat({_digits()}), round(0.5 + 0.5 * toFloat64(k % 10007) / 10007, 4),
        arrayMap(i -> round(0.5 + 0.5 * toFloat64(sipHash64(k, i) % 10007) / 10007, 3), range(7)),
        'Germany', 'car', 'camera', at - 0.8, at + 0.7, 2 + k % 28, '=', '=',
        intDiv(k, 7) % 1800, intDiv(k, 12600) % 1000, 120, 40, at + 2
    FROM numbers_mt({first}, {count}) {_THREADS}"""


def _outcomes(first: int, count: int, start_ms: float, step: float) -> str:
    return f"""
    INSERT INTO pass_outcomes (user_id, ts, id, camera_id, source, accepted, ingested_at)
    WITH {_common(start_ms, step)}
    SELECT owner, at, {_identifier(5)}, camera_uuid, 'camera', false, at + 2
    FROM numbers_mt({first}, {count}) WHERE number % 10 = 0 {_THREADS}"""


def main() -> None:
    """Fill the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000_000)
    arguments = parser.parse_args()
    service = serve(arguments.folder)
    try:
        began = time.monotonic()
        fill(service.address, arguments.rows)
        print(f"filled in {time.monotonic() - began:.0f} s")
    finally:
        service.stop()


if __name__ == "__main__":
    main()
