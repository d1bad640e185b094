"""Analytics through the API, with a real ClickHouse and a real PostgreSQL."""

import random
import uuid
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from analytics_sql.client import ClickHouseClient
from analytics_sql.outcomes import OutcomeRow, insert_outcomes
from analytics_sql.recognitions import RecognitionRow, insert_recognitions, recognition_row
from api.accounts.service import create_key
from api.adapters.clickhouse import ClickHouseStore
from api.analytics.service import SPAN_MS, Analytics
from api.db.database import Database
from api.db.tables import ApiKey, Camera, Owner
from api.security.permissions import ALL_SCOPES
from common.records.ids import image_call_id
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import RecognitionSource
from common.timestamps import format_timestamp
from tests.integration.api.application import (
    NOW_MS,
    Application,
    Caller,
    Options,
    running_application,
)
from tests.integration.api.conftest import owner_client, searching_application
from tests.integration.api.stored_recognitions import CAMERA, passed
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

application, client = searching_application, owner_client

DAY_MS = 86_400_000
NIL = UUID(int=0)
PATH = "/api/analytics"


def _row(owner_id: UUID, captured_ms: int, plate: str = "AB12CD", **changes: Any) -> RecognitionRow:
    fields = {"track": plate, "plate": plate, "character_confidences": (), **changes}
    return recognition_row(passed(owner_id, captured_ms, **fields))


async def _get(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get(PATH)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def _set_zone(database: Database, owner_id: UUID, zone: str) -> None:
    def work(session: Session) -> None:
        session.execute(update(Owner).where(Owner.id == owner_id).values(timezone=zone))

    await database.run(work)


async def test_an_account_without_anything_has_empty_charts(client: httpx.AsyncClient) -> None:
    days = [date(2026, 8, 22) + timedelta(days=number) for number in range(31)]

    assert await _get(client) == {
        "stats": {"total30d": 0, "activeCameras": 0, "activeApiKeys": 1, "successRate": 0},
        "dailyChart": [{"date": str(day), "count": 0} for day in days],
        "hourlyChart": [{"hour": hour, "count": 0} for hour in range(24)],
        "heatMap": [[0] * 24 for _ in range(7)],
        "topPlates": [],
        "cameraChart": [],
        "recent": [],
    }


async def test_the_fields_of_the_interface_and_what_is_known_besides(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    at_ms = NOW_MS - DAY_MS
    one = _row(owner.owner_id, at_ms)
    called = _row(
        owner.owner_id,
        at_ms - 1,
        camera_id=NIL,
        camera_name="API",
        source=RecognitionSource.API,
        photo_key=None,
        crop_key=None,
        box=None,
    )
    await insert_recognitions(clickhouse, [one, called])
    body = await _get(client)

    # The time is 2026-09-20T14:13:20Z.
    assert body["stats"] == {
        "total30d": 2,
        "activeCameras": 0,
        "activeApiKeys": 1,
        "successRate": 100,
    }
    assert [day for day in body["dailyChart"] if day["count"]] == [
        {"date": "2026-09-20", "count": 2}
    ]
    assert [hour for hour in body["hourlyChart"] if hour["count"]] == [{"hour": 14, "count": 2}]
    # This day is a Sunday.
    assert body["heatMap"][6] == [2 if hour == 14 else 0 for hour in range(24)]
    assert sum(map(sum, body["heatMap"])) == 2
    assert body["topPlates"] == [
        {"plate": "AB12CD", "count": 2, "lastSeenAt": format_timestamp(at_ms)}
    ]
    assert body["cameraChart"] == [
        {"cameraId": str(NIL), "cameraName": "API", "count": 1},
        {"cameraId": str(CAMERA), "cameraName": "Gate", "count": 1},
    ]
    common = {
        "userId": str(owner.owner_id),
        "plate": "AB12CD",
        "confidence": 0.97,
        "plateType": "car",
        "readingsCount": 4,
    }
    assert body["recent"] == [
        {
            **common,
            "id": str(one.id),
            "cameraId": str(CAMERA),
            "cameraName": "Gate",
            "timestamp": format_timestamp(at_ms),
            "photoUrl": photo_key(owner.owner_id, one.id),
            "cropUrl": crop_key(owner.owner_id, one.id),
            "plateCoordinates": {"x": 10.5, "y": 20, "width": 120, "height": 40},
            "firstSeenAt": format_timestamp(at_ms),
            "lastSeenAt": format_timestamp(at_ms),
            "source": "camera",
        },
        {
            **common,
            "id": str(called.id),
            "cameraId": str(NIL),
            "cameraName": "API",
            "timestamp": format_timestamp(at_ms - 1),
            "firstSeenAt": format_timestamp(at_ms - 1),
            "lastSeenAt": format_timestamp(at_ms - 1),
            "source": "api",
        },
    ]


async def test_thirty_days_count_and_ten_of_each_list_are_shown(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    first_ms = NOW_MS - SPAN_MS
    edges = [_row(owner.owner_id, at, "EDGE") for at in (first_ms - 1, first_ms, NOW_MS)]
    many = [
        _row(owner.owner_id, NOW_MS - DAY_MS - n, f"P{plate}", camera_id=UUID(int=100 + plate))
        for plate in range(12)
        for n in range(plate + 2)
    ]
    await insert_recognitions(clickhouse, [*edges, *many])
    body = await _get(client)

    assert body["stats"]["total30d"] == len(many) + 1
    assert [plate["plate"] for plate in body["topPlates"]] == [f"P{n}" for n in range(11, 1, -1)]
    assert len(body["cameraChart"]) == 13
    for chart in ("dailyChart", "hourlyChart", "cameraChart"):
        assert sum(entry["count"] for entry in body[chart]) == len(many) + 1
    assert len(body["recent"]) == 10
    times = [row["timestamp"] for row in body["recent"]]
    assert times == sorted(times, reverse=True)
    assert times[0] == format_timestamp(NOW_MS - DAY_MS)


async def test_success_counts_passes_and_image_calls(
    clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    def outcome(number: int, camera_id: UUID, *, accepted: bool) -> OutcomeRow:
        at_ms = NOW_MS - DAY_MS - number
        return OutcomeRow(
            user_id=owner.owner_id,
            at_ms=at_ms,
            id=image_call_id(at_ms, UUID(int=number)),
            camera_id=camera_id,
            source=RecognitionSource.API if camera_id == NIL else RecognitionSource.CAMERA,
            accepted=accepted,
        )

    # A merge could delete these rows, because they may be past their retention by now.
    await clickhouse.run("SYSTEM STOP MERGES pass_outcomes")
    # Three passes that became recognitions, and two plates of one stored image call.
    passes = [_row(owner.owner_id, NOW_MS - DAY_MS + n, f"P{n}") for n in range(3)]
    stored = [
        _row(owner.owner_id, NOW_MS - n, camera_id=NIL, source=RecognitionSource.API)
        for n in (5, 6)
    ]
    await insert_recognitions(clickhouse, [*passes, *stored])
    # The stored call, and a call that found nothing; two passes that were not accepted.
    calls = [outcome(1, NIL, accepted=True), outcome(2, NIL, accepted=False)]
    missed = [outcome(n, CAMERA, accepted=False) for n in (3, 4)]
    for _ in range(2):
        await insert_outcomes(clickhouse, [*calls, *missed])
    body = await _get(client)

    assert body["stats"]["total30d"] == 5
    assert body["stats"]["successRate"] == pytest.approx(100 * 4 / 7)


async def test_other_owners_count_nothing(
    application: Application, clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    stranger = await application.new_owner()
    await insert_recognitions(
        clickhouse,
        [_row(stranger.owner_id, NOW_MS - 5, "THEIRS"), _row(owner.owner_id, NOW_MS - 9, "OURS")],
    )
    await _add_camera(application.database, stranger.owner_id, "Theirs")
    body = await _get(client)

    assert body["stats"] == {
        "total30d": 1,
        "activeCameras": 0,
        "activeApiKeys": 1,
        "successRate": 100,
    }
    assert [plate["plate"] for plate in body["topPlates"]] == ["OURS"]
    assert "THEIRS" not in str(body)


async def _add_camera(database: Database, owner_id: UUID, name: str, **values: Any) -> UUID:
    def work(session: Session) -> UUID:
        camera = Camera(
            owner_id=owner_id,
            identifier=uuid.uuid4().hex,
            identifier_derived=False,
            name=name,
            stream_url_encrypted="",
            stream_url_shown="",
            **{"confirmed": True, **values},
        )
        session.add(camera)
        session.flush()
        return camera.id

    return await database.run(work)


async def test_cameras_and_keys_that_work(
    application: Application, clickhouse: ClickHouseClient, client: httpx.AsyncClient, owner: Caller
) -> None:
    database, owner_id = application.database, owner.owner_id
    renamed = await _add_camera(database, owner_id, "New name")
    await _add_camera(database, owner_id, "Disabled", enabled=False)
    await _add_camera(database, owner_id, "Not taken yet", confirmed=False)
    now = datetime.fromtimestamp(NOW_MS / 1000, UTC)
    second = timedelta(seconds=1)

    def add_keys(session: Session) -> None:
        for values in (
            {"enabled": False},
            {"expires_at": now - second},
            {"expires_at": now},
            {"expires_at": now + second},
        ):
            key = create_key(session, owner_id, name="another", scopes=ALL_SCOPES)
            session.execute(update(ApiKey).where(ApiKey.id == key.record.id).values(**values))

    await database.run(add_keys)
    await insert_recognitions(
        clickhouse, [_row(owner_id, NOW_MS - 5, camera_id=renamed, camera_name="Old name")]
    )
    body = await _get(client)

    assert (body["stats"]["activeCameras"], body["stats"]["activeApiKeys"]) == (1, 2)
    assert body["cameraChart"] == [{"cameraId": str(renamed), "cameraName": "New name", "count": 1}]
    # A recognition contains the name that its camera had at the time.
    assert body["recent"][0]["cameraName"] == "Old name"


@pytest.mark.parametrize(
    ("zone", "now"),
    [
        ("UTC", "2026-11-21T12:00Z"),
        ("Europe/Lisbon", "2026-11-10T08:20Z"),
        ("Europe/Lisbon", "2026-04-10T08:20Z"),
        ("America/New_York", "2026-11-20T03:59Z"),
        ("America/Santiago", "2026-09-21T01:00Z"),
        ("Asia/Kathmandu", "2026-11-21T18:14:59Z"),
        ("Australia/Lord_Howe", "2026-10-20T13:00Z"),
    ],
)
async def test_days_and_hours_of_the_owners_zone(
    application: Application,
    clickhouse: ClickHouseClient,
    search_store: ClickHouseStore,
    owner: Caller,
    zone: str,
    now: str,
) -> None:
    """The clocks change within most of these time ranges."""
    now_ms = round(datetime.fromisoformat(now).timestamp() * 1000)
    chance = random.Random(zone + now)
    moments = sorted({now_ms - chance.randint(1, SPAN_MS) for _ in range(3000)})
    rows = [_row(owner.owner_id, at, f"P{at % 9}") for at in moments]
    for batch in (rows, chance.sample(rows, 500)):
        await insert_recognitions(clickhouse, batch)
    await _set_zone(application.database, owner.owner_id, zone)
    analytics = Analytics(application.database, search_store, lambda: now_ms)
    overview = await analytics.get_overview(owner.owner_id)

    wall = ZoneInfo(zone)
    local = [datetime.fromtimestamp(at / 1000, wall) for at in moments]
    by_day = Counter(moment.date() for moment in local)
    by_hour = Counter(moment.hour for moment in local)
    assert overview.stats.total30d == len(rows)
    assert {day.date: day.count for day in overview.daily_chart if day.count} == by_day
    assert len(overview.daily_chart) in (30, 31)
    assert [hour.count for hour in overview.hourly_chart] == [by_hour[n] for n in range(24)]


async def test_an_outage_is_a_500_that_ends(database: Database) -> None:
    nowhere = ClickHouseStore(ClickHouseAddress("127.0.0.1", 1, "nobody", "none").settings())
    async with (
        running_application(database, Options(store=nowhere)) as application,
        application.client(await application.new_owner()) as client,
    ):
        answer = await client.get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (500, "dependency_unavailable")
