"""Corrections through the API, with a real ClickHouse."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import msgspec
import pytest

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import insert_recognitions, recognition_row
from api.adapters.clickhouse import ClickHouseStore
from api.db.database import Database
from api.recognitions.repository import erase_corrections
from api.security.permissions import Role
from common.records.ids import recognition_id
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import Recognition
from tests.integration.api.application import Application, Caller, Options, running_application
from tests.integration.api.conftest import owner_client, searching_application
from tests.integration.api.people import logged_in, new_person
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

application, client = searching_application, owner_client

START_MS = 1_790_000_000_000
CAMERA = UUID(int=1)


async def _passed(clickhouse: ClickHouseClient, owner: Caller, *plates: str) -> list[str]:
    """Store passes at intervals of a second, and return their IDs, oldest first."""
    records = [_pass(owner.owner_id, number, plate) for number, plate in enumerate(plates)]
    await insert_recognitions(clickhouse, [recognition_row(record) for record in records])
    return [str(record.id) for record in records]


def _pass(owner_id: UUID, number: int, plate: str) -> Recognition:
    captured_ms = START_MS + 1000 * number
    identifier = recognition_id(captured_ms, CAMERA, "1")
    return Recognition(
        id=identifier,
        owner_id=owner_id,
        camera_id=CAMERA,
        camera_name="Gate",
        plate=plate,
        confidence=0.9,
        character_confidences=(0.9,) * len(plate),
        captured_ms=captured_ms,
        first_seen_ms=captured_ms,
        last_seen_ms=captured_ms,
        readings_count=2,
        photo_key=photo_key(owner_id, identifier),
        crop_key=crop_key(owner_id, identifier),
    )


async def _put(client: httpx.AsyncClient, identifier: str, **body: Any) -> httpx.Response:
    return await client.put(f"/api/recognitions/{identifier}/correction", json=body)


async def test_it_is_shown_with_the_reading_until_it_is_deleted(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    first, second = await _passed(clickhouse, owner, "A812CD", "XY99Z")
    answer = await _put(client, first, plate="\u00e4b-12 \u0421d", region="PT")
    written = answer.json()["correction"]

    assert answer.status_code == 200
    assert (written["plate"], written["region"], written["correctedBy"]) == ("AB12CD", "PT", "test")
    newest, oldest = (await client.get("/api/recognitions")).json()["recognitions"]
    assert (newest["id"], "correction" in newest) == (second, False)
    assert (oldest["plate"], oldest["correction"]) == ("A812CD", written)
    one = (await client.get(f"/api/recognitions/{first}")).json()["recognition"]
    assert (one["plate"], one["correction"]) == ("A812CD", written)
    by_reading = await client.get("/api/recognitions", params={"plate": "A812"})
    by_correction = await client.get("/api/recognitions", params={"plate": "AB12"})
    assert [each["id"] for each in by_reading.json()["recognitions"]] == [first]
    assert by_correction.json()["recognitions"] == []

    assert (await _put(client, first, plate=None)).json()["correction"]["plate"] is None
    path = f"/api/recognitions/{first}/correction"
    assert (await client.delete(path)).status_code == 204
    assert (await client.delete(path)).status_code == 404
    one = (await client.get(f"/api/recognitions/{first}")).json()["recognition"]
    assert "correction" not in one


@pytest.mark.parametrize(
    "body",
    [{}, {"plate": ""}, {"plate": "AB*"}, {"plate": "A" * 17}, {"plate": "A\u0416"}],
)
async def test_what_no_plate_can_be_is_refused(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller, body: dict[str, str]
) -> None:
    (identifier,) = await _passed(clickhouse, owner, "A812CD")
    answer = await _put(client, identifier, **body)

    assert answer.status_code == 400
    assert [fault["path"] for fault in answer.json()["fields"]] == ["plate"]


async def test_recognitions_of_others_cannot_be_corrected(
    application: Application, clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    (identifier,) = await _passed(clickhouse, owner, "A812CD")
    async with application.client(await application.new_owner()) as stranger:
        assert (await _put(stranger, identifier, plate="AB12CD")).status_code == 404
        assert (await stranger.get("/api/corrections")).json()["corrections"] == []
    assert (await _put(client, str(uuid4()), plate="AB12CD")).status_code == 404


async def test_they_are_listed_with_images_page_by_page(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    ids = await _passed(clickhouse, owner, "A812CD", "XY99Z", "QQ00")
    for identifier, plate in zip(ids, ("AB12CD", "XY98Z", None), strict=True):
        await _put(client, identifier, plate=plate)

    first = (await client.get("/api/corrections", params={"limit": 2})).json()
    query = {"limit": 2, "lastKey": first["nextKey"]}
    second = (await client.get("/api/corrections", params=query)).json()
    listed = [*first["corrections"], *second["corrections"]]
    assert [each["recognitionId"] for each in listed] == ids[::-1]
    assert second["nextKey"] is None
    assert listed[0]["correction"]["plate"] is None
    assert listed[2]["reading"] == "A812CD"
    assert listed[2]["cropUrl"].startswith("https://images.example/")
    found = (await client.get("/api/corrections", params={"plate": "b12"})).json()["corrections"]
    assert [each["recognitionId"] for each in found] == ids[:1]
    other = await client.get("/api/corrections", params={**query, "plate": "b12"})
    assert (other.status_code, other.json()["code"]) == (400, "invalid_cursor")


async def test_a_search_finds_what_was_corrected_page_by_page_each_once(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    # Four recognitions share each millisecond, so the IDs determine the order.
    records = [
        msgspec.structs.replace(
            _pass(owner.owner_id, number // 4, plate),
            id=recognition_id(START_MS + 1000 * (number // 4), CAMERA, str(number)),
            confidence=0.5 if number == 9 else 0.9,
        )
        for number, plate in enumerate(["AB12CD", "A812CD", "XY99Z", "A812CD"] * 8)
    ]
    await insert_recognitions(clickhouse, [recognition_row(record) for record in records])
    corrected = records[1::2]
    for record in corrected:
        await _put(client, str(record.id), plate="AB12CD")
    # A plate found by its reading is listed once, whatever it was corrected to.
    await _put(client, str(records[0].id), plate="AB12CE")
    gone = _pass(owner.owner_id, 99, "A812CD")
    await insert_recognitions(clickhouse, [recognition_row(gone)])
    await _put(client, str(gone.id), plate="AB12CD")
    await clickhouse.run(
        f"ALTER TABLE recognitions DELETE WHERE id = '{gone.id}' SETTINGS mutations_sync = 2"
    )

    async def pages(limit: int, **filters: Any) -> list[str]:
        found: list[str] = []
        last: str | None = None
        while True:
            query = {"limit": limit, **filters} | ({"lastKey": last} if last else {})
            query["corrected"] = "true"
            page = (await client.get("/api/recognitions", params=query)).json()
            assert len(page["recognitions"]) <= limit
            found += [each["id"] for each in page["recognitions"]]
            last = page["nextKey"]
            if last is None:
                return found

    everything = await pages(200)
    read = {str(record.id) for record in records if record.plate == "AB12CD"}
    wanted = read | {str(record.id) for record in corrected}
    for filters in (
        {"plate": "12CD", "match": "substring"},
        {"plate": "AB12CD", "match": "exact"},
        {"plate": "AB*", "match": "wildcard"},
    ):
        expected = [one for one in everything if one in wanted]
        assert [await pages(limit, **filters) for limit in (1, 3, 24, 200)] == [expected] * 4
    sure = [one for one in everything if one in wanted and one != str(records[9].id)]
    assert await pages(5, plate="AB12CD", minConfidence=0.8) == sure
    span = {"from": "2026-09-21T14:13:21Z", "to": "2026-09-21T14:13:23Z"}
    within = {str(record.id) for record in records[4:12]}
    assert await pages(3, plate="AB12CD", **span) == [
        one for one in everything if one in wanted & within
    ]
    elsewhere = str(uuid4())
    assert await pages(3, plate="AB12CD", cameraId=elsewhere) == []
    plain = (await client.get("/api/recognitions", params={"plate": "AB12CD"})).json()
    assert {each["id"] for each in plain["recognitions"]} == read
    shown = {"plate": "AB12CD", "corrected": "true", "cameraId": str(CAMERA)}
    found = (await client.get("/api/recognitions", params=shown)).json()["recognitions"]
    assert {each["correction"]["plate"] for each in found if each["plate"] == "A812CD"} == {
        "AB12CD"
    }


async def test_erasing_a_plate_reaches_what_was_corrected_from_it_and_to_it(
    database: Database, clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    ids = await _passed(clickhouse, owner, "AB12CD", "A812CD", "XY99Z", "AB12CD")
    for identifier, plate in zip(ids, ("AB12CE", "AB12CD", "XY98Z", "AB12CE"), strict=True):
        await _put(client, identifier, plate=plate)
    before_ms = START_MS + 3000
    erased = await database.run(
        lambda session: erase_corrections(session, owner.owner_id, "AB12CD", before_ms=before_ms)
    )

    assert erased == 2
    left = (await client.get("/api/corrections")).json()["corrections"]
    assert [each["recognitionId"] for each in left] == [ids[3], ids[2]]


async def test_they_are_deleted_once_their_recognitions_expire(
    database: Database,
    clickhouse: ClickHouseClient,
    migrated_clickhouse: ClickHouseAddress,
    owner: Caller,
) -> None:
    store, now_ms = ClickHouseStore(migrated_clickhouse.settings()), START_MS
    kept = timedelta(days=400 + 31) // timedelta(milliseconds=1)
    options = Options(store=store, now_ms=lambda: now_ms)
    async with running_application(database, options) as app, app.client(owner) as client:
        corrections = app.services.corrections
        for identifier in await _passed(clickhouse, owner, "A812CD", "XY99Z"):
            await _put(client, identifier, plate="AB12CD")
        assert await corrections.sweep() == 0
        now_ms = START_MS + kept + 500
        assert await corrections.sweep() == 1
        now_ms += 1000
        assert await corrections.sweep() == 0, "it looks once an hour"
        now_ms += 3_600_000
        assert await corrections.sweep() == 1
        assert (await client.get("/api/corrections")).json()["corrections"] == []
    await store.close()


async def test_it_names_the_person_who_wrote_it_also_when_they_have_left(
    application: Application, clickhouse: ClickHouseClient, owner: Caller
) -> None:
    (first,) = await _passed(clickhouse, owner, "A812CD")
    async with logged_in(application, owner.email) as administrator:
        email = await new_person(application, administrator, Role.OPERATOR)
        async with logged_in(application, email) as operator:
            assert (await _put(operator, first, plate="AB12CD")).status_code == 200
        person = (await administrator.get("/api/people")).json()["people"][0]["id"]
        assert (await administrator.delete(f"/api/people/{person}")).status_code == 204
        one = (await administrator.get(f"/api/recognitions/{first}")).json()["recognition"]

    assert one["correction"]["correctedBy"] == email
