"""Exports of recognitions, from a real ClickHouse."""

import asyncio
import codecs
import csv
import io
import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest
from clickhouse_connect.driver.client import Client
from sqlalchemy import text

from analytics_sql.client import ClickHouseClient
from analytics_sql.exports import ExportPart, FileForm
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
)
from api.db.database import Database
from api.errors import Dependency, DependencyUnavailableError
from common.records.recognitions import Direction, Recognition
from tests.integration.api.application import (
    EXPORTS_PER_MINUTE,
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.conftest import owner_client, searching_application
from tests.integration.api.serving import served
from tests.integration.api.stored_recognitions import insert, passed
from tests.integration.api.waiting import until
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

application, client = searching_application, owner_client

PATH = "/api/recognitions/export"
START_MS = 1_790_000_000_000
CAMERA = UUID(int=1)
LISTS = frozenset({"characterConfidences"})
NAMES = [
    "id",
    "userId",
    "cameraId",
    "cameraName",
    "plate",
    "confidence",
    "timestamp",
    "photoUrl",
    "cropUrl",
    "plateCoordinates.x",
    "plateCoordinates.y",
    "plateCoordinates.width",
    "plateCoordinates.height",
    "region.code",
    "region.confidence",
    "plateType",
    "characterConfidences",
    "firstSeenAt",
    "lastSeenAt",
    "readingsCount",
    "source",
    "direction",
]


def _recognition(owner_id: UUID, number: int, **changes: Any) -> Recognition:
    fields = {
        "camera_name": 'Gate, "north"',
        "plate": f"AB{number:05}",
        "character_confidences": (0.97,) * 7,
    }
    # Two recognitions share each millisecond.
    captured_ms = START_MS + number // 2
    return passed(owner_id, captured_ms, track=str(number), **fields | changes)


def _rows(answer: httpx.Response) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


async def _all_rows(client: httpx.AsyncClient, **filters: Any) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    last: dict[str, str] = {}
    while True:
        answer = await client.get(PATH, params={**filters, **last})
        rows += _rows(answer)
        key = answer.headers.get("X-Next-Key")
        if key is None:
            return rows
        last = {"lastKey": key}


class TestFile:
    async def test_csv_has_the_fields_of_the_api(
        self, client: httpx.AsyncClient, clickhouse: ClickHouseClient, owner: Caller
    ) -> None:
        record = _recognition(
            owner.owner_id,
            0,
            region="Portugal",
            region_confidence=0.93,
            direction=Direction.AWAY,
        )
        bare = _recognition(owner.owner_id, 9, box=None, photo_key=None, crop_key="odd/key.jpg")
        await insert(clickhouse, record, bare)

        answer = await client.get(PATH)
        listed = (await client.get("/api/recognitions")).json()["recognitions"]

        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.headers["content-disposition"] == 'attachment; filename="recognitions.csv"'
        assert answer.headers["cache-control"] == "no-store"
        rows = _rows(answer)
        assert list(rows[0]) == NAMES
        for row, shown in zip(rows, listed, strict=True):
            flat = _flat(shown)
            given = {name: value for name, value in row.items() if value}
            assert {name: str(value) for name, value in _plain(flat).items()} == given

    @pytest.mark.parametrize(
        ("name", "magic", "media_type"),
        [
            ("parquet", b"PAR1", "application/vnd.apache.parquet"),
            ("arrow", b"\xff\xff\xff\xff", "application/vnd.apache.arrow.stream"),
        ],
    )
    async def test_columnar_files_hold_the_same_rows(
        self,
        client: httpx.AsyncClient,
        clickhouse: ClickHouseClient,
        migrated_clickhouse: ClickHouseAddress,
        owner: Caller,
        name: str,
        magic: bytes,
        media_type: str,
    ) -> None:
        await insert(clickhouse, *(_recognition(owner.owner_id, number) for number in range(5)))

        answer = await client.get(PATH, params={"format": name})

        assert answer.headers["content-type"] == media_type
        assert answer.content.startswith(magic)
        written = await asyncio.to_thread(_read_back, migrated_clickhouse, name, answer.content)
        shown = _rows(await client.get(PATH))
        assert [row["id"] for row in shown] == [row[0] for row in written]
        assert [row["plate"] for row in shown] == [row[1] for row in written]

    async def test_csv_for_excel_has_local_times_and_no_formulas(
        self, application: Application, clickhouse: ClickHouseClient, owner: Caller
    ) -> None:
        names = {
            "=cmd": "'=cmd",
            "+1": "'+1",
            "-1": "'-1",
            "@x": "'@x",
            " =1": "' =1",
            "\uff1d1": "'\uff1d1",
            "a;=1": "a;'=1",
            'Münster "Süd"; 1': 'Münster "Süd"; 1',
            "A-B": "A-B",
        }
        for number, name in enumerate(names):
            await insert(clickhouse, _recognition(owner.owner_id, 2 * number, camera_name=name))
        await application.database.run(
            lambda session: session.execute(text("UPDATE owners SET timezone = 'Asia/Kolkata'"))
        )
        async with application.client(owner) as client:
            plain = _rows(await client.get(PATH))
            comma = await client.get(PATH, params={"excel": "true", "limit": 2})
            rest = {"excel": "true", "lastKey": comma.headers["X-Next-Key"]}
            parts = [comma, await client.get(PATH, params=rest)]
            semicolon = await client.get(PATH, params={"excel": "true", "separator": "semicolon"})

        assert [row["cameraName"] for row in reversed(plain)] == list(names)
        rows: list[dict[str, str]] = []
        for part in parts:
            assert part.content.startswith(codecs.BOM_UTF8 + b'"id"')
            rows += csv.DictReader(io.StringIO(part.content.decode("utf-8-sig")))
        assert [row["cameraName"] for row in reversed(rows)] == list(names.values())
        assert list(rows[0]) == [*NAMES[:7], "localTime", *NAMES[7:]]
        # The time is 1,790,000,000 s, and local time is five and a half hours ahead.
        assert {row["localTime"] for row in rows} == {"2026-09-21 19:43:20"}
        assert {row["timestamp"][:19] for row in rows} == {"2026-09-21T14:13:20"}
        text_of = io.StringIO(semicolon.content.decode("utf-8-sig"))
        assert list(csv.DictReader(text_of, delimiter=";")) == rows

    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ({"excel": "true", "format": "parquet"}, "excel"),
            ({"separator": "semicolon", "format": "arrow"}, "separator"),
            ({"separator": ";"}, "separator"),
            ({"excel": "please"}, "excel"),
        ],
    )
    async def test_only_csv_is_for_excel(
        self, client: httpx.AsyncClient, query: dict[str, str], path: str
    ) -> None:
        answer = await client.get(PATH, params=query)

        assert answer.status_code == 400
        assert [fault["path"] for fault in answer.json()["fields"]] == [path]

    async def test_an_empty_list_is_a_file_with_names(self, client: httpx.AsyncClient) -> None:
        for filters in ({}, {"from": "9000-01-01T00:00:00Z"}, {"plate": "NOSUCH"}):
            answer = await client.get(PATH, params=filters)
            assert answer.text.splitlines() == [",".join(f'"{name}"' for name in NAMES)]
            assert "X-Next-Key" not in answer.headers


class TestParts:
    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
    async def test_parts_join_to_the_list(
        self, client: httpx.AsyncClient, clickhouse: ClickHouseClient, owner: Caller, limit: int
    ) -> None:
        records = [_recognition(owner.owner_id, number) for number in range(9)]
        await insert(clickhouse, *records)
        await insert(clickhouse, *records[2:5])
        listed = (await client.get("/api/recognitions")).json()["recognitions"]

        rows = await _all_rows(client, limit=limit)

        assert [row["id"] for row in rows] == [row["id"] for row in listed]

    async def test_a_list_of_copies_alone_loses_no_row(
        self, client: httpx.AsyncClient, clickhouse: ClickHouseClient, owner: Caller
    ) -> None:
        records = [_recognition(owner.owner_id, number) for number in range(400)]
        await clickhouse.run("SYSTEM STOP MERGES recognitions")
        for _ in range(4):
            await insert(clickhouse, *records)

        rows = await _all_rows(client, limit=50)
        all_at_once = await _all_rows(client, limit=399)

        assert len({row["id"] for row in rows}) == len(rows) == 400
        assert len({row["id"] for row in all_at_once}) == len(all_at_once) == 400

    async def test_filters_hold_in_every_part(
        self, client: httpx.AsyncClient, clickhouse: ClickHouseClient, owner: Caller
    ) -> None:
        await insert(clickhouse, *(_recognition(owner.owner_id, number) for number in range(30)))

        rows = await _all_rows(client, plate="AB0001", match="prefix", limit=4)
        fuzzy = await _all_rows(client, plate="A800013", match="fuzzy", limit=1)

        assert {row["plate"] for row in rows} == {f"AB{number:05}" for number in range(10, 20)}
        assert "AB00013" in {row["plate"] for row in fuzzy}

    async def test_a_part_may_be_had_again_and_later_rows_are_not_in_it(
        self, client: httpx.AsyncClient, clickhouse: ClickHouseClient, owner: Caller
    ) -> None:
        await insert(clickhouse, *(_recognition(owner.owner_id, number) for number in range(6)))
        key = (await client.get(PATH, params={"limit": 2})).headers["X-Next-Key"]
        first = await client.get(PATH, params={"lastKey": key})

        await insert(clickhouse, _recognition(owner.owner_id, 50))
        again = await client.get(PATH, params={"lastKey": key})

        assert first.content == again.content
        listed = (await client.get("/api/recognitions", params={"lastKey": key})).json()
        assert [row["id"] for row in _rows(again)] == [r["id"] for r in listed["recognitions"]]

    async def test_other_owners_rows_are_in_no_file(
        self,
        application: Application,
        client: httpx.AsyncClient,
        clickhouse: ClickHouseClient,
        owner: Caller,
    ) -> None:
        stranger = await application.new_owner()
        await insert(clickhouse, _recognition(stranger.owner_id, 1))

        assert _rows(await client.get(PATH)) == []


class TestRefusals:
    async def test_exports_a_minute_are_bounded_for_the_owner(
        self, client: httpx.AsyncClient
    ) -> None:
        answers = [await client.get(PATH) for _ in range(EXPORTS_PER_MINUTE + 1)]

        assert {answer.status_code for answer in answers[:-1]} == {200}
        assert answers[-1].status_code == 429
        assert answers[-1].json()["code"] == "rate_limited"
        assert int(answers[-1].headers["Retry-After"]) > 0

    async def test_what_was_refused_as_wrong_counts_nowhere(
        self, client: httpx.AsyncClient
    ) -> None:
        for _ in range(EXPORTS_PER_MINUTE + 1):
            assert (await client.get(PATH, params={"limit": "0"})).status_code == 400

        assert (await client.get(PATH)).status_code == 200


class _BrokenStore(StandInStore):
    """Yields chunks until the store fails, and waits for ``go_on`` between chunks."""

    def __init__(self, *, breaks: bool) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.begun = 0
        self.ended = 0
        self._breaks = breaks

    @asynccontextmanager
    async def exported(
        self,
        wanted: RecognitionFilter,
        after: RecognitionCursor | None,
        part: ExportPart,
        form: FileForm,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.begun += 1

        async def pieces() -> AsyncIterator[bytes]:
            yield b"id\n"
            await self.go_on.wait()
            if self._breaks:
                raise DependencyUnavailableError(Dependency.SEARCH)
            yield b"1\n"

        try:
            yield pieces()
        finally:
            self.ended += 1


class TestSending:
    async def test_a_file_that_breaks_off_is_seen_to(self, database: Database) -> None:
        store = _BrokenStore(breaks=True)
        async with running_application(database, Options(store=store)) as application:
            owner = await application.new_owner()
            store.go_on.set()
            async with served(application) as address, httpx.AsyncClient() as http:
                headers = {"Authorization": f"Bearer {owner.key}"}
                with pytest.raises(httpx.RemoteProtocolError):
                    await http.get(f"{address}{PATH}", headers=headers)
        assert store.ended == 1

    async def test_exports_at_once_are_bounded_and_a_reader_who_leaves_frees_its_place(
        self, database: Database
    ) -> None:
        store = _BrokenStore(breaks=False)
        async with running_application(database, Options(store=store)) as application:
            owner = await application.new_owner()
            headers = {"Authorization": f"Bearer {owner.key}"}
            async with served(application) as address:
                url = f"{address}{PATH}"
                async with (
                    httpx.AsyncClient(headers=headers) as http,
                    http.stream("GET", url),
                    http.stream("GET", url),
                ):
                    refused = await http.get(url)
                    assert (refused.status_code, refused.json()["retryAfter"]) == (429, 5)
                store.go_on.set()

                async def both_ended() -> bool:
                    return store.ended == 2

                await until(both_ended, seconds=30)
                async with httpx.AsyncClient(headers=headers) as http:
                    assert (await http.get(url)).status_code == 200

    async def test_a_huge_export_takes_little_memory(
        self,
        application: Application,
        clickhouse: ClickHouseClient,
        migrated_clickhouse: ClickHouseAddress,
        owner: Caller,
    ) -> None:
        await clickhouse.run(
            "INSERT INTO recognitions (user_id, id, ts, camera_id, camera_name, plate, confidence,"
            " photo_key) SELECT toUUID({owner:String}), generateUUIDv7(),"
            " fromUnixTimestamp64Milli(1790000000000 + number, 'UTC'),"
            " toUUID('00000000-0000-0000-0000-000000000001'), 'Gate', toString(number), 0.9, '='"
            " FROM numbers(100500)",
            {"owner": str(owner.owner_id)},
        )
        headers = {"Authorization": f"Bearer {owner.key}"}
        sizes: list[int] = []
        async with served(application) as address, httpx.AsyncClient(timeout=120) as http:
            await http.get(f"{address}{PATH}", params={"limit": 1}, headers=headers)
            tracemalloc.start()
            async with http.stream("GET", f"{address}{PATH}", headers=headers) as answer:
                async for piece in answer.aiter_raw():
                    sizes.append(len(piece))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()

        assert answer.headers["X-Next-Key"]
        assert sum(sizes) > 20 << 20
        assert peak < 8 << 20


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{part}": each for part, each in value.items()}
        else:
            flat[name] = json.dumps(value, separators=(",", ":")) if name in LISTS else value
    return flat


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    # ClickHouse writes 120, and JSON has 120.0.
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in row.items()
    }


def _read_back(address: ClickHouseAddress, name: str, data: bytes) -> list[tuple[str, str]]:
    """Return the ID and the plate of each row in a file, as the engine reads the rows."""
    client: Client = address.client()
    format_name = {"parquet": "Parquet", "arrow": "ArrowStream"}[name]
    try:
        client.command("CREATE TABLE file_rows (id String, plate String) ENGINE = Memory")
        client.raw_insert("file_rows", insert_block=data, fmt=format_name)
        rows = client.query("SELECT id, plate FROM file_rows").result_rows
        client.command("DROP TABLE file_rows")
    finally:
        client.close()
    return [(str(identifier), str(plate)) for identifier, plate in rows]
