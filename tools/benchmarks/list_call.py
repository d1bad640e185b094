"""The time of ``GET /api/recognitions``, filter by filter, on a whole stack.

    python -m tools.benchmarks.list_call [--rows 1000000] [--calls 100]

The rows and questions of :mod:`tools.benchmarks.list_query`, asked over HTTP with one key, one call
at a time; the stack has no camera, and what ClickHouse merges after the load is merged.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import msgspec

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionRow,
    insert_recognitions,
)
from api.paging.cursor import CursorSealer
from api.settings import ApiSettings
from common.records.object_keys import crop_key, photo_key
from common.settings import ClickHouseSettings
from tests.e2e.api_client import ApiClient
from tests.services.stack import RunningStack
from tools.benchmarks.list_query import (
    BATCH_ROWS,
    BIG_OWNER,
    Case,
    cases,
    print_head,
    print_line,
    rows,
)

_MERGE_SECONDS = 120


def owner_of(stack: RunningStack) -> UUID:
    """Return the stack's one owner."""
    command = (sys.executable, "-m", "api.cli", "owner", "list", "--json")
    environment = {**os.environ, **stack.environment}
    listed = subprocess.run(command, env=environment, capture_output=True, check=True)
    return UUID(json.loads(listed.stdout)["owners"][0]["id"])


def owned_rows(owner: UUID, count: int, end_ms: int) -> Iterator[RecognitionRow]:
    """Yield the benchmark's rows, the big owner's as the stack's owner's."""
    for row in rows(count, end_ms):
        if row.user_id != BIG_OWNER:
            yield row
        else:
            photo, crop = photo_key(owner, row.id), crop_key(owner, row.id)
            yield msgspec.structs.replace(row, user_id=owner, photo_key=photo, crop_key=crop)


async def fill(stack: RunningStack, owner: UUID, count: int, end_ms: int) -> list[RecognitionRow]:
    """Insert, and return every thousandth row of the owner."""
    client = ClickHouseClient(stack.settings(ClickHouseSettings))
    known: list[RecognitionRow] = []
    batch: list[RecognitionRow] = []
    for number, row in enumerate(owned_rows(owner, count, end_ms), 1):
        batch.append(row)
        if number % 1000 == 0 and row.user_id == owner:
            known.append(row)
        if len(batch) == BATCH_ROWS or number == count:
            await insert_recognitions(client, batch)
            batch = []
    await _merges_done(client)
    await client.close()
    return known


async def _merges_done(client: ClickHouseClient) -> None:
    """Wait until ClickHouse rests: rows come in a month, not in a minute as here."""
    for _ in range(_MERGE_SECONDS):
        if (await client.run("SELECT count() FROM system.merges")).rows == [(0,)]:
            return
        await asyncio.sleep(1)
    raise TimeoutError(f"still merging after {_MERGE_SECONDS} s")


def query_of(wanted: RecognitionFilter, limit: int) -> dict[str, Any]:
    """Return the parameters that ask for ``wanted``."""
    values = {
        "plate": wanted.plate,
        "match": wanted.match.value,
        "cameraId": None if wanted.camera_id is None else str(wanted.camera_id),
        "from": _moment(wanted.from_ms),
        "to": _moment(wanted.to_ms),
        "minConfidence": str(wanted.min_confidence) if wanted.min_confidence else None,
        "limit": str(limit),
    }
    return {name: value for name, value in values.items() if value is not None}


def _moment(unix_ms: int | None) -> str | None:
    if unix_ms is None:
        return None
    moment = datetime.fromtimestamp(unix_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def measure(
    api: ApiClient, owner: UUID, sealer: CursorSealer, case: Case, calls: int
) -> list[float]:
    """Return how long each call took, ms, sorted."""
    chance = random.Random(case.name)
    took_ms: list[float] = []
    for _ in range(calls):
        wanted, after = case.wanted(chance), case.after(chance)
        wanted = replace(wanted, user_id=owner)
        query = query_of(wanted, case.limit)
        if after is not None:
            query["lastKey"] = sealer.seal(wanted, RecognitionCursor(after.captured_ms, after.id))
        started = time.perf_counter()
        api.call("GET", "/api/recognitions", params=query)
        took_ms.append((time.perf_counter() - started) * 1000)
    return sorted(took_ms)


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=100)
    arguments = parser.parse_args()
    end_ms = int(time.time() * 1000)
    with (
        TemporaryDirectory(prefix="platestream-bench-") as folder,
        RunningStack(Path(folder), {"RATE_LIMIT_PER_MINUTE": "0"}) as stack,
    ):
        api = ApiClient(stack.access.base_url, stack.access.api_key)
        owner = owner_of(stack)
        known = asyncio.run(fill(stack, owner, arguments.rows, end_ms))
        settings = stack.settings(ApiSettings)
        sealer = CursorSealer(settings.secret_key.get_secret_value())
        print_head()
        for case in cases(end_ms, known):
            if case.wanted(random.Random(0)).user_id == BIG_OWNER:
                print_line(case.name, measure(api, owner, sealer, case, arguments.calls))
        api.close()


if __name__ == "__main__":
    main()
