"""Measures the duration of list calls with each filter and of analytics calls, with many rows.

Command: ``python -m tools.benchmarks.queries [--rows 1000000] [--calls 100]``. ClickHouse generates
the rows in time order over 34 days. 70 % of the rows belong to the calling account, which has 200
cameras. 200,000 vehicles, some of them very frequent, account for 40 % of the passes, and 3 million
other vehicles for 57 %. The plates of the other 3 % occur only once.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from clickhouse_connect.driver.client import Client

from analytics_sql.client import ClickHouseClient, connect_for_schema
from analytics_sql.traffic.rollups import rank_plates, roll_up
from common.settings import ClickHouseSettings
from tools.benchmarks.stack import (
    BenchmarkStack,
    cpu_seconds,
    print_table,
    running_stack,
    spread,
    wait_until,
)

_DAYS = 34
_DAY_MS = 86_400_000
_CAMERAS = 200
_CAMERA = UUID(int=0x2000_4000_8000_0000_0000_0000)
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
_BATCH_ROWS = 500_000
_KNOWN_PLATES = 1_000
_MERGE_SECONDS = 3_600


def fill(stack: BenchmarkStack, rows: int) -> list[str]:
    """Insert rows, wait for merges and update the rollups. Return some of the account's plates."""
    owner = stack.owner_id()
    settings = stack.settings(ClickHouseSettings)
    client = connect_for_schema(settings)
    client.database = settings.clickhouse_database
    began = time.monotonic()
    start_ms, step = int(time.time() * 1000) - _DAYS * _DAY_MS, _DAYS * _DAY_MS / rows
    for first in range(0, rows, _BATCH_ROWS):
        count = min(_BATCH_ROWS, rows - first)
        client.command(_insert(owner, first, count, start_ms, step))
    wait_until("merges are done", lambda: _merges(client) == 0, _MERGE_SECONDS)
    asyncio.run(_roll_up(settings, owner))
    print(f"{rows} rows after {time.monotonic() - began:.0f} s", flush=True)
    query = f"SELECT plate FROM recognitions WHERE user_id = '{owner}' LIMIT {_KNOWN_PLATES}"
    plates = [str(row[0]) for row in client.query(query).result_rows]
    client.close()
    return plates


def _merges(client: Client) -> int:
    return int(client.query("SELECT count() FROM system.merges").result_rows[0][0])


async def _roll_up(settings: ClickHouseSettings, owner: UUID) -> None:
    client = ClickHouseClient(settings, query_seconds=_MERGE_SECONDS)
    while not await roll_up(client, owner):
        pass
    await rank_plates(client, owner)
    await client.close()


def _insert(owner: UUID, first: int, count: int, start_ms: int, step: float) -> str:
    base = len(_LETTERS)
    plate = ", ".join(
        f"substring('{_LETTERS}', 1 + intDiv(vehicle, {base**place}) % {base}, 1)"
        for place in range(7)
    )
    # As in the service's IDs, the first six bytes are the time in milliseconds.
    halves = (
        "bitOr(bitShiftLeft(toUInt64(toUnixTimestamp64Milli(at)), 16), toUInt64(32768 + g % 4096))",
        "bitOr(bitShiftLeft(toUInt64(2), 62), bitShiftRight(sipHash64(number, 4), 2))",
    )
    identifier = ", ".join(f"reinterpretAsFixedString({half})" for half in halves)
    return f"""
    INSERT INTO recognitions (user_id, id, ts, camera_id, camera_name, plate, confidence,
        character_confidences, region, plate_type, source, first_seen, last_seen, readings_count,
        photo_key, crop_key, box_x, box_y, box_width, box_height, ingested_at)
    WITH sipHash64(number, 1) AS h, sipHash64(number, 2) AS g, sipHash64(number, 3) AS k,
        fromUnixTimestamp64Milli(toInt64({start_ms} + number * {step}), 'UTC') AS at,
        intDiv(h, 100) % {_CAMERAS} AS camera, toFloat64(g % 1000003) / 1000003 AS share,
        multiIf(h % 100 < 40, sipHash64('regular', toUInt64(200000 * share * share)),
                h % 100 < 97, sipHash64('passing', g % 3000000),
                sipHash64('once', number)) % {base**7} AS vehicle
    SELECT if(intDiv(h, 100000) % 10 < 7, toUUID('{owner}'), toUUID('{_other(owner)}')),
        reinterpretAsUUID(concat({identifier})), at,
        toUUID(concat('{str(_CAMERA)[:-2]}', lower(hex(toUInt8(camera))))),
        concat('Camera ', toString(camera)), concat({plate}),
        round(0.5 + 0.5 * toFloat64(k % 10007) / 10007, 4),
        arrayMap(i -> round(0.5 + 0.5 * toFloat64(sipHash64(k, i) % 10007) / 10007, 3), range(7)),
        'Germany', 'car', 'camera', at - 0.8, at + 0.7, 2 + k % 28, '=', '=',
        intDiv(k, 7) % 1800, intDiv(k, 12600) % 1000, 120, 40, at + 2
    FROM numbers_mt({first}, {count}) SETTINGS max_threads = 4, max_insert_threads = 4"""


def _other(owner: UUID) -> UUID:
    return UUID(int=owner.int ^ 1)


@dataclass(frozen=True)
class Question:
    """A kind of list call. Parameters differ between calls, so that caches do not help."""

    name: str
    parameters: Callable[[random.Random], dict[str, str]]


def questions(plates: list[str]) -> list[Question]:
    """Return list calls with each filter and with all filters."""

    def plate(match: str, of: Callable[[str], str]) -> Callable[[random.Random], dict[str, str]]:
        return lambda chance: {"plate": of(chance.choice(plates)), "match": match}

    def day(chance: random.Random) -> dict[str, str]:
        from_ms = int(time.time() * 1000) - chance.randrange(1, _DAYS) * _DAY_MS
        return {"from": _time(from_ms), "to": _time(from_ms + _DAY_MS)}

    def everything(chance: random.Random) -> dict[str, str]:
        two = {"plate": chance.choice(plates)[:2], "minConfidence": "0.6"}
        return two | day(chance) | {"cameraId": str(_CAMERA)}

    return [
        Question("no filter", lambda _: {}),
        Question("camera", lambda _: {"cameraId": str(_CAMERA)}),
        Question("one day", day),
        Question("confidence ≥ 0.99999", lambda _: {"minConfidence": "0.99999"}),
        Question("exact", plate("exact", str)),
        Question("prefix of 3 characters", plate("prefix", lambda of: of[:3])),
        Question("substring of 2 characters", plate("substring", lambda of: of[2:4])),
        Question("substring of 4 characters", plate("substring", lambda of: of[2:6])),
        Question("an unknown plate", plate("substring", lambda of: f"{of}QQ")),
        Question("wildcard `XX?X*`", plate("wildcard", lambda of: f"{of[:2]}?{of[3]}*")),
        Question("wildcard `*X?X?X*`", plate("wildcard", lambda of: f"*{of[1]}?{of[3]}?{of[5]}*")),
        Question("fuzzy", plate("fuzzy", str)),
        Question("all filters", everything),
    ]


def _time(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).isoformat().replace("+00:00", "Z")


def print_calls(stack: BenchmarkStack, path: str, asked: Question, calls: int) -> None:
    """Print the duration of the calls, and ClickHouse's CPU time per call."""
    chance, took_ms = random.Random(asked.name), list[float]()
    before = cpu_seconds(stack.pid("clickhouse"))
    for _ in range(calls):
        parameters = asked.parameters(chance)
        started = time.perf_counter()
        stack.call("GET", path, params=parameters)
        took_ms.append((time.perf_counter() - started) * 1000)
    cpu_ms = 1000 * (cpu_seconds(stack.pid("clickhouse")) - before) / calls
    print(f"| {asked.name} | {spread(took_ms)} | {cpu_ms:.0f} |", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=100)
    arguments = parser.parse_args()
    with running_stack() as stack:
        stack.run_only("api")
        plates = fill(stack, arguments.rows)
        print_table("call", "p50 ms", "p95 ms", "max ms", "ClickHouse, ms of CPU time")
        for asked in questions(plates):
            print_calls(stack, "/api/recognitions", asked, arguments.calls)
        analytics = Question("analytics, 30 days", lambda _: {})
        print_calls(stack, "/api/analytics", analytics, arguments.calls)


if __name__ == "__main__":
    main()
