"""Recognitions written to and read from a real engine."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
import pytest

from analytics_sql import recognitions as recognitions_module
from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import (
    RecognitionCursor,
    RecognitionFilter,
    RecognitionPage,
    RecognitionRow,
    correct_recognitions,
    get_recognition,
    insert_recognitions,
    list_recognitions,
)
from common.errors import MisconfiguredError, TransientError
from common.plates.matching import MatchMode
from common.records.frames import Box
from common.records.ids import MAX_PASS_MS, recognition_id
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import CharacterAlternative, RecognitionSource
from tests.integration.analytics_sql.conftest import migrated_client
from tests.records import plain_row
from tests.services.clickhouse import ClickHouseAddress, ClickHouseService, create_database

pytestmark = pytest.mark.integration

client = migrated_client

OWNER = UUID("00000000-0000-4000-8000-000000000001")
STRANGER = UUID("00000000-0000-4000-8000-000000000002")
GATE = UUID("00000000-0000-4000-8000-00000000000a")
YARD = UUID("00000000-0000-4000-8000-00000000000b")
# 2026-11-01 00:00:00 UTC. Rows of the past are not found by the query for the newest days.
START_MS = 1_793_491_200_000
DAY_MS = 86_400_000


def row(
    at_ms: int,
    plate: str = "AB123CD",
    *,
    user_id: UUID = OWNER,
    camera_id: UUID = GATE,
    confidence: float = 0.9,
    track: str = "",
) -> RecognitionRow:
    """Return a recognition with default values for all other fields."""
    identifier = recognition_id(at_ms, camera_id, track or plate)
    return plain_row(
        user_id,
        at_ms,
        plate,
        camera_id,
        id=identifier,
        camera_name="Gate" if camera_id == GATE else "Yard",
        confidence=confidence,
        character_confidences=(0.9, 0.8),
        first_seen_ms=at_ms - 400,
        last_seen_ms=at_ms + 600,
        box=Box(x=1.25, y=2.0, width=30.5, height=11.0),
        photo_key=photo_key(user_id, identifier),
        crop_key=crop_key(user_id, identifier),
        region="DE",
    )


async def pages(
    client: ClickHouseClient, wanted: RecognitionFilter, limit: int
) -> list[RecognitionPage]:
    found = [await list_recognitions(client, wanted, None, limit)]
    while found[-1].next_after is not None:
        found.append(await list_recognitions(client, wanted, found[-1].next_after, limit))
    return found


async def plates(client: ClickHouseClient, **conditions: object) -> list[str]:
    """Return the plates that an account's filter finds, in the order of the response."""
    wanted = replace(RecognitionFilter(OWNER), **conditions)  # type: ignore[arg-type]
    page = await list_recognitions(client, wanted, None, 200)
    return [found.plate for found in page.rows]


class TestStoring:
    async def test_an_id_of_the_passs_beginning_finds_its_row(
        self, client: ClickHouseClient
    ) -> None:
        first_ms = START_MS + 700_000
        long, late = (
            msgspec.structs.replace(row(at_ms), id=recognition_id(first_ms, GATE, str(at_ms)))
            for at_ms in (first_ms + 15_000, first_ms + MAX_PASS_MS)
        )
        await insert_recognitions(client, [long, late])

        assert await get_recognition(client, OWNER, long.id) == long
        assert await get_recognition(client, OWNER, late.id) == late

    async def test_a_row_is_read_as_it_was_written(self, client: ClickHouseClient) -> None:
        full = row(START_MS + 123)
        bare = plain_row(
            OWNER,
            START_MS,
            "X",
            YARD,
            id=recognition_id(START_MS, YARD, "x"),
            camera_name="",
            confidence=0.123456789,
            source=RecognitionSource.API,
            plate_type="truck",
        )
        elsewhere = msgspec.structs.replace(
            row(START_MS + 124), photo_key="old/photo.jpg", crop_key=None
        )

        others = (CharacterAlternative(0, "8", 0.125), CharacterAlternative(2, "Ö", 0.02))
        unsure = msgspec.structs.replace(full, alternatives=others)

        await insert_recognitions(client, [unsure, bare, elsewhere])

        for stored in (unsure, bare, elsewhere):
            assert await get_recognition(client, OWNER, stored.id) == stored
        # Lists do not include these fields.
        page = await list_recognitions(client, RecognitionFilter(OWNER), None, 50)
        assert page == RecognitionPage((elsewhere, full, bare), None)

    async def test_rows_written_twice_are_read_once(self, client: ClickHouseClient) -> None:
        rows = [row(START_MS + n, f"P{n}") for n in range(20)]

        await insert_recognitions(client, rows)
        await insert_recognitions(client, rows[5:])
        await insert_recognitions(client, rows[:10])

        assert await plates(client) == [f"P{n}" for n in reversed(range(20))]
        assert await plates(client, plate="P1") == [
            "P19",
            *(f"P1{n}" for n in range(8, -1, -1)),
            "P1",
        ]

    @pytest.mark.parametrize("is_late", [False, True], ids=["in order", "before the row"])
    async def test_a_correction_counts_whenever_the_row_is_written(
        self, client: ClickHouseClient, is_late: bool
    ) -> None:
        first = row(START_MS)
        corrected = msgspec.structs.replace(first, crop_key=None)
        if not is_late:
            await insert_recognitions(client, [first])
        await correct_recognitions(client, [corrected])
        await insert_recognitions(client, [first])
        await asyncio.sleep(0.01)
        await insert_recognitions(client, [first])

        found = await get_recognition(client, OWNER, first.id)
        assert found is not None
        assert (found.photo_key, found.crop_key) == (first.photo_key, None)
        (listed,) = (await list_recognitions(client, RecognitionFilter(OWNER), None, 9)).rows
        assert (listed.photo_key, listed.crop_key) == (first.photo_key, None)
        await client.run("OPTIMIZE TABLE recognitions FINAL")
        result = await client.run("SELECT photo_key, crop_key FROM recognitions")
        assert result.rows == [("=", "")]

    async def test_rows_of_very_many_days_may_be_in_one_batch(
        self, client: ClickHouseClient
    ) -> None:
        rows = [row(START_MS - day * DAY_MS, f"P{day}") for day in range(130)]

        await insert_recognitions(client, rows)

        assert await plates(client) == [f"P{day}" for day in range(130)]


class TestById:
    async def test_a_recognition_of_another_owner_is_not_found(
        self, client: ClickHouseClient
    ) -> None:
        one = row(START_MS)
        await insert_recognitions(client, [one])

        assert await get_recognition(client, STRANGER, one.id) is None

    @pytest.mark.parametrize(
        "identifier", [uuid4(), UUID(int=0), UUID(int=2**128 - 1)], ids=["any", "nil", "max"]
    )
    async def test_an_unknown_recognition_is_not_found(
        self, client: ClickHouseClient, identifier: UUID
    ) -> None:
        assert await get_recognition(client, OWNER, identifier) is None


class TestFilters:
    @pytest.fixture(autouse=True)
    async def rows(self, client: ClickHouseClient) -> None:
        await insert_recognitions(
            client,
            [
                row(START_MS, "AB123CD", confidence=0.5),
                row(START_MS + 1000, "XAB12", camera_id=YARD, confidence=0.9),
                row(START_MS + 2000, "QQ", confidence=0.7),
                row(START_MS + 3 * DAY_MS, "AB12", confidence=0.91),
                row(START_MS + 1500, "AB12", user_id=STRANGER),
            ],
        )

    async def test_only_the_owners_newest_first(self, client: ClickHouseClient) -> None:
        assert await plates(client) == ["AB12", "QQ", "XAB12", "AB123CD"]

    @pytest.mark.parametrize(
        ("plate", "expected"),
        [
            ("AB12", ["AB12", "XAB12", "AB123CD"]),
            ("ab-12", ["AB12", "XAB12", "AB123CD"]),
            (" a b.1 ", ["AB12", "XAB12", "AB123CD"]),
            ("Q", ["QQ"]),
            ("QQ", ["QQ"]),
            ("AB123CD", ["AB123CD"]),
            ("AB123CDE", []),
            ("%", []),
            ("A%2", []),
            ("\\", []),
            ("", ["AB12", "QQ", "XAB12", "AB123CD"]),
        ],
    )
    async def test_the_plate_filter_is_a_substring(
        self, client: ClickHouseClient, plate: str, expected: list[str]
    ) -> None:
        assert await plates(client, plate=plate) == expected

    async def test_the_camera_filter_shows_its_rows_only(self, client: ClickHouseClient) -> None:
        assert await plates(client, camera_id=YARD) == ["XAB12"]
        assert await plates(client, camera_id=uuid4()) == []

    async def test_from_is_inclusive_and_to_exclusive(self, client: ClickHouseClient) -> None:
        assert await plates(client, from_ms=START_MS + 1000, to_ms=START_MS + 2000) == ["XAB12"]
        assert await plates(client, from_ms=START_MS + 1001, to_ms=START_MS + 2001) == ["QQ"]
        assert await plates(client, to_ms=START_MS) == []
        assert await plates(client, from_ms=START_MS + 3 * DAY_MS) == ["AB12"]
        assert await plates(client, from_ms=START_MS + 1000, to_ms=START_MS + 1000) == []

    async def test_confidence_is_inclusive(self, client: ClickHouseClient) -> None:
        assert await plates(client, min_confidence=0.9) == ["AB12", "XAB12"]
        assert await plates(client, min_confidence=1.0) == []

    async def test_all_filters_can_be_combined(self, client: ClickHouseClient) -> None:
        found = await plates(
            client,
            plate="ab",
            camera_id=GATE,
            from_ms=START_MS,
            to_ms=START_MS + 4 * DAY_MS,
            min_confidence=0.5,
        )

        assert found == ["AB12", "AB123CD"]


def _crowd() -> list[RecognitionRow]:
    """Return 400 rows. Many share a millisecond, and some are days apart."""
    chance = random.Random(20261101)
    return [
        row(
            START_MS + chance.choice((0, 0, 0, 1, 2, DAY_MS, 5 * DAY_MS)),
            f"P{n:04}",
            camera_id=chance.choice((GATE, YARD)),
            track=str(n),
        )
        for n in range(400)
    ]


class TestOldRows:
    """Tests that indexes find rows that are not among the newest, in the same order."""

    @pytest.fixture(autouse=True)
    def only_one_newest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recognitions_module, "_NEWEST_ROWS", 1)
        monkeypatch.setattr(recognitions_module, "_NEWEST_OF_RARE", 1)
        monkeypatch.setattr(recognitions_module, "_NEWEST_WITH_THREE_IN_PLACE", 1)
        monkeypatch.setattr(recognitions_module, "_NEWEST_WITH_THREE", 1)
        monkeypatch.setattr(recognitions_module, "_NEWEST_WITHOUT_PIECE", 1)

    @pytest.mark.parametrize("limit", [7, 50])
    @pytest.mark.parametrize(
        "conditions",
        [
            {"camera_id": YARD},
            {"plate": "AB12CD", "match": MatchMode.EXACT},
            {"plate": "AB", "match": MatchMode.PREFIX},
            {"plate": "1"},
            {"plate": "B1"},
            {"plate": "B12C", "camera_id": YARD, "min_confidence": 0.5},
            {"plate": "B1", "camera_id": YARD},
            {"plate": "A?1*", "match": MatchMode.WILDCARD},
            {"plate": "?B?2*", "match": MatchMode.WILDCARD},
            {"plate": "A812C0", "match": MatchMode.FUZZY},
        ],
        ids=str,
    )
    async def test_every_page_follows_the_one_before(
        self, client: ClickHouseClient, conditions: dict[str, object], limit: int
    ) -> None:
        # More rows than a page, many in the same millisecond, and each row written twice.
        rows = [
            row(
                START_MS + number // 20,
                "AB12CD" if number % 3 else "XX99XX",
                camera_id=GATE if number % 2 else YARD,
                track=str(number),
            )
            for number in range(150)
        ]
        await insert_recognitions(client, rows)
        await insert_recognitions(client, rows)
        wanted = replace(RecognitionFilter(OWNER), **conditions)  # type: ignore[arg-type]

        found = [one for page in await pages(client, wanted, limit) for one in page.rows]

        expected = [
            one
            for one in rows
            if ("plate" not in conditions or one.plate == "AB12CD")
            and ("camera_id" not in conditions or one.camera_id == YARD)
        ]
        assert len(found) == len({one.id for one in found})
        assert {one.id for one in found} == {one.id for one in expected}
        assert [one.captured_ms for one in found] == sorted(
            (one.captured_ms for one in expected), reverse=True
        )


class TestPaging:
    @pytest.mark.parametrize("limit", [7, 200, 400])
    @pytest.mark.parametrize(
        "conditions",
        [{}, {"camera_id": GATE}, {"plate": "P0"}, {"min_confidence": 0.1}],
        ids=("all", "camera", "plate", "confidence"),
    )
    async def test_every_row_once_in_one_order(
        self, client: ClickHouseClient, limit: int, conditions: dict[str, object]
    ) -> None:
        rows = _crowd()
        if limit == 1:
            rows = rows[:40]
        await insert_recognitions(client, rows)
        await insert_recognitions(client, rows[::3])
        wanted = replace(RecognitionFilter(OWNER), **conditions)  # type: ignore[arg-type]

        found = await pages(client, wanted, limit)

        shown = [one for page in found for one in page.rows]
        expected = {
            one.id
            for one in rows
            if conditions.get("camera_id") in (None, one.camera_id)
            and str(conditions.get("plate", "")) in one.plate
        }
        assert len(shown) == len(expected)
        assert {one.id for one in shown} == expected
        assert [one.captured_ms for one in shown] == sorted(
            (one.captured_ms for one in shown), reverse=True
        )
        assert all(len(page.rows) == limit for page in found[:-1])
        assert 0 < len(found[-1].rows) <= limit

    async def test_order_within_a_millisecond_is_the_engines(
        self, client: ClickHouseClient
    ) -> None:
        rows = [row(START_MS, f"P{n}", track=str(n)) for n in range(100)]
        await insert_recognitions(client, rows)

        page = await list_recognitions(client, RecognitionFilter(OWNER), None, 200)

        def by_second_half(identifier: UUID) -> tuple[int, int]:
            return identifier.int & (2**64 - 1), identifier.int >> 64

        ids = [one.id for one in page.rows]
        assert ids == sorted((one.id for one in rows), key=by_second_half, reverse=True)

    async def test_rows_that_arrive_while_paging(self, client: ClickHouseClient) -> None:
        rows = _crowd()
        await insert_recognitions(client, rows)
        wanted = RecognitionFilter(OWNER)

        by_id = {one.id: one for one in rows}
        shown: list[RecognitionRow] = []
        after: RecognitionCursor | None = None
        while True:
            page = await list_recognitions(client, wanted, after, 30)
            shown += page.rows
            after = page.next_after
            if after is None:
                break
            # A row after every page, a row before the next page, and a replay of listed rows.
            newer = row(START_MS + 9 * DAY_MS + len(shown), "NEW")
            older = row(START_MS - len(shown), "OLD")
            replayed = [by_id[one.id] for one in page.rows if one.id in by_id]
            await insert_recognitions(client, [newer, older, *replayed])

        ids = [one.id for one in shown]
        assert len(ids) == len(set(ids))
        assert {one.id for one in rows} <= set(ids)
        assert not [one for one in shown if one.plate == "NEW"]

    async def test_next_page_is_named_only_where_there_is_one(
        self, client: ClickHouseClient
    ) -> None:
        await insert_recognitions(client, [row(START_MS + n, f"P{n}") for n in range(10)])
        wanted = RecognitionFilter(OWNER)

        assert (await list_recognitions(client, wanted, None, 10)).next_after is None
        nine = await list_recognitions(client, wanted, None, 9)
        assert nine.next_after == RecognitionCursor(START_MS + 1, nine.rows[-1].id)

    async def test_readers_at_once_get_the_same(self, client: ClickHouseClient) -> None:
        await insert_recognitions(client, [row(START_MS + n, f"P{n}") for n in range(100)])
        wanted = RecognitionFilter(OWNER)

        found = await asyncio.gather(
            *(list_recognitions(client, wanted, None, 50) for _ in range(30))
        )

        assert len(set(found)) == 1


class TestAway:
    async def test_a_server_that_is_gone_is_transient(self, tmp_path: Path) -> None:
        service = ClickHouseService(tmp_path)
        service.start()
        client = ClickHouseClient(service.address.settings(), query_seconds=2)
        await client.connect()
        try:
            service.pause()
            with pytest.raises(TransientError):
                await list_recognitions(client, RecognitionFilter(OWNER), None, 1)
            service.resume()
            service.kill()
            with pytest.raises(TransientError):
                await insert_recognitions(client, [row(START_MS)])
            with pytest.raises(TransientError):
                await ClickHouseClient(service.address.settings()).connect()
        finally:
            await client.close()
            service.kill()

    async def test_a_missing_table_is_misconfigured(
        self, clickhouse_server: ClickHouseAddress
    ) -> None:
        client = ClickHouseClient(create_database(clickhouse_server).settings())

        with pytest.raises(MisconfiguredError):
            await list_recognitions(client, RecognitionFilter(OWNER), None, 1)
        with pytest.raises(MisconfiguredError):
            await insert_recognitions(client, [row(START_MS)])
        await client.close()
