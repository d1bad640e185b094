"""Recognitions through the API, with a real ClickHouse."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from analytics_sql.client import ClickHouseClient
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import Direction
from common.timestamps import format_timestamp
from tests.integration.api.application import Application, Caller
from tests.integration.api.conftest import owner_client, searching_application
from tests.integration.api.stored_recognitions import insert, passed

pytestmark = pytest.mark.integration

application, client = searching_application, owner_client

START_MS = 1_790_000_000_000
CAMERAS = [UUID(int=number) for number in range(1, 4)]


async def _list(client: httpx.AsyncClient, **parameters: Any) -> dict[str, Any]:
    answer = await client.get("/api/recognitions", params=parameters)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def _walk(client: httpx.AsyncClient, **parameters: Any) -> list[str]:
    """Return the IDs of all pages, in order."""
    ids: list[str] = []
    page = await _list(client, **parameters)
    while True:
        ids += [row["id"] for row in page["recognitions"]]
        if page["nextKey"] is None:
            return ids
        page = await _list(client, **parameters, lastKey=page["nextKey"])


async def test_a_row_has_the_fields_of_the_interface_and_what_is_known_besides(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    record = passed(
        owner.owner_id,
        START_MS + 7,
        first_seen_ms=START_MS,
        last_seen_ms=START_MS + 9,
        region="Portugal",
        region_confidence=0.875,
        direction=Direction.AWAY,
    )
    await insert(clickhouse, record)

    assert await _list(client) == {
        "recognitions": [
            {
                "id": str(record.id),
                "userId": str(owner.owner_id),
                "cameraId": str(CAMERAS[0]),
                "cameraName": "Gate",
                "plate": "AB12CD",
                "confidence": 0.97,
                "timestamp": format_timestamp(START_MS + 7),
                "photoUrl": photo_key(owner.owner_id, record.id),
                "cropUrl": crop_key(owner.owner_id, record.id),
                "plateCoordinates": {"x": 10.5, "y": 20, "width": 120, "height": 40},
                "region": {"code": "PT", "confidence": 0.875},
                "plateType": "car",
                "characterConfidences": [0.97] * 6,
                "firstSeenAt": format_timestamp(START_MS),
                "lastSeenAt": format_timestamp(START_MS + 9),
                "readingsCount": 4,
                "source": "camera",
                "direction": "away",
            }
        ],
        "nextKey": None,
    }


async def test_what_is_not_there_is_left_out(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    bare = passed(owner.owner_id, START_MS, box=None, photo_key=None, crop_key=None)
    await insert(clickhouse, bare)
    (row,) = (await _list(client))["recognitions"]

    assert {"photoUrl", "cropUrl", "plateCoordinates", "region", "direction"}.isdisjoint(row)


async def test_filters_select_their_rows(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    rows = {
        "first": passed(owner.owner_id, START_MS, plate="AB12CD"),
        "second": passed(owner.owner_id, START_MS + 1000, plate="XY99ZZ"),
        "third": passed(owner.owner_id, START_MS + 2000, plate="QAB12", camera_id=CAMERAS[1]),
    }
    await insert(clickhouse, *rows.values())
    names = {str(record.id): name for name, record in rows.items()}

    async def found(**parameters: Any) -> list[str]:
        page = await _list(client, **parameters)
        return [names[row["id"]] for row in page["recognitions"]]

    at = [format_timestamp(START_MS + offset) for offset in (0, 1000, 2000)]
    assert await found() == ["third", "second", "first"]
    assert await found(plate="ab-1 2") == ["third", "first"]
    assert await found(plate="") == ["third", "second", "first"]
    assert await found(cameraId=str(CAMERAS[1])) == ["third"]
    assert await found(**{"from": at[1]}) == ["third", "second"]
    assert await found(to=at[1]) == ["first"]
    assert await found(**{"from": at[1], "to": at[1]}) == []
    assert await found(**{"from": "0001-01-01T00:00:00+14:00", "to": "9999-12-31T23:59:59Z"}) == [
        "third",
        "second",
        "first",
    ]
    assert await found(to="1969-12-31T00:00:00Z") == []
    assert await found(limit=1) == ["third"]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"plate": "b12"}, ["XAB12CD", "AB12CDE", "AB12CD"]),
        ({"plate": "ab-12 cd", "match": "exact"}, ["AB12CD"]),
        ({"plate": "\u00e4b\u200b12c\u0110", "match": "exact"}, ["AB12CD"]),
        ({"plate": "\u0410\u041212"}, ["XAB12CD", "AB12CDE", "AB12CD"]),
        ({"plate": "\u00c4*d", "match": "wildcard"}, ["AB12CD"]),
        ({"plate": "ab", "match": "prefix"}, ["AB12CDE", "AB12CD"]),
        ({"plate": "?B*D", "match": "wildcard"}, ["AB12CD"]),
        ({"plate": "AB12CD", "match": "fuzzy"}, ["A81ZCO", "XAB12CD", "AB12CDE", "AB12CD"]),
        ({"plate": "AB12CD", "match": "fuzzy", "minConfidence": "0.92"}, ["A81ZCO", "XAB12CD"]),
        ({"minConfidence": "0.92"}, ["ZZ99", "A81ZCO", "XAB12CD"]),
    ],
    ids=str,
)
async def test_each_match_mode_finds_its_plates(
    clickhouse: ClickHouseClient,
    client: httpx.AsyncClient,
    owner: Caller,
    parameters: dict[str, str],
    found: list[str],
) -> None:
    plates = ["AB12CD", "AB12CDE", "XAB12CD", "A81ZCO", "ZZ99"]
    await insert(
        clickhouse,
        *(
            passed(owner.owner_id, START_MS + at, plate=plate, confidence=(90 + at) / 100)
            for at, plate in enumerate(plates)
        ),
    )

    assert [row["plate"] for row in (await _list(client, **parameters))["recognitions"]] == found
    assert len(await _walk(client, **parameters, limit=1)) == len(found)


async def test_a_search_that_makes_no_sense_is_refused_with_what_is_wrong(
    client: httpx.AsyncClient,
) -> None:
    parameters = {"plate": "*", "match": "wildcard", "minConfidence": "1.5", "limit": "0"}
    answer = await client.get("/api/recognitions", params=parameters)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    paths = {fault["path"] for fault in answer.json()["fields"]}
    assert paths == {"plate", "minConfidence", "limit"}


async def test_a_cursor_is_good_for_its_own_list_only(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller, application: Application
) -> None:
    await insert(
        clickhouse,
        *(passed(owner.owner_id, START_MS + number) for number in range(4)),
    )
    key = (await _list(client, limit=2, plate="AB12"))["nextKey"]
    assert key is not None

    # The page size and the spelling of the plate may change between pages.
    assert len((await _list(client, limit=1, plate="ab-12", lastKey=key))["recognitions"]) == 1
    others: list[dict[str, Any]] = [
        {},
        {"plate": "AB1"},
        {"plate": "AB12", "cameraId": str(CAMERAS[0])},
        {"plate": "AB12", "from": format_timestamp(START_MS - 1)},
        {"plate": "AB12", "to": format_timestamp(START_MS + 100)},
        {"plate": "AB12", "match": "prefix"},
        {"plate": "AB12", "minConfidence": "0.1"},
    ]
    for parameters in others:
        answer = await client.get("/api/recognitions", params=parameters | {"lastKey": key})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")
        assert answer.json()["fields"][0]["path"] == "lastKey"
    async with application.client(await application.new_owner()) as stranger:
        answer = await stranger.get("/api/recognitions", params={"plate": "AB12", "lastKey": key})
        assert answer.status_code == 400


async def test_one_by_id_has_links_of_the_public_endpoint(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    record = passed(owner.owner_id, START_MS)
    await insert(clickhouse, record)
    answer = await client.get(f"/api/recognitions/{record.id}")

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "private, no-store"
    shown = answer.json()["recognition"]
    for name, key in (("photoUrl", record.photo_key), ("cropUrl", record.crop_key)):
        link = httpx.URL(shown[name])
        assert link.host == "images.example"
        assert link.path.endswith(f"/{key}")
        assert link.params["X-Amz-Expires"] == "3600"
