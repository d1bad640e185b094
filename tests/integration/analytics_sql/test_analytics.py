"""Counts over a time range, on a real engine."""

import random
from collections import Counter
from dataclasses import replace
from uuid import UUID

import pytest

from analytics_sql.client import ClickHouseClient
from analytics_sql.outcomes import OutcomeRow, insert_outcomes
from analytics_sql.recognitions import RecognitionRow, insert_recognitions
from analytics_sql.traffic.analytics import (
    QUARTER_MS,
    CameraCount,
    OutcomeCount,
    OwnerSpan,
    PlateCount,
    QuarterCount,
    Traffic,
    count_traffic,
)
from analytics_sql.traffic.camera_counts import (
    CameraHour,
    CameraMinute,
    CameraSpan,
    ReportedHour,
    camera_hours,
    insert_camera_minutes,
    reported_hours,
)
from common.records.counts import COUNT_NAMES, FrameCounts
from common.records.ids import NIL_UUID, image_call_id
from common.records.recognitions import RecognitionSource
from tests.integration.analytics_sql.conftest import migrated_client
from tests.records import plain_row

pytestmark = pytest.mark.integration

client = migrated_client

OWNER, STRANGER = UUID(int=1), UUID(int=2)
GATE, YARD = UUID(int=10), UUID(int=11)
# 2026-11-01 00:00:00 UTC. The time range includes two months, which are two partitions.
START_MS = 1_793_491_200_000
DAY_MS = 86_400_000
SPAN = OwnerSpan(OWNER, START_MS - DAY_MS, START_MS + DAY_MS)


def row(
    at_ms: int,
    plate: str = "AB12CD",
    *,
    user_id: UUID = OWNER,
    camera_id: UUID = GATE,
    camera_name: str = "Gate",
) -> RecognitionRow:
    return plain_row(user_id, at_ms, plate, camera_id, camera_name=camera_name)


async def counted(client: ClickHouseClient, span: OwnerSpan = SPAN, *, plates: int = 10) -> Traffic:
    """Return the traffic of a time range, with quarters in order of time."""
    traffic = await count_traffic(client, span, plates=plates)
    ordered = sorted(traffic.quarters, key=lambda quarter: quarter.start_ms)
    return replace(traffic, quarters=tuple(ordered))


async def test_recognitions_are_counted_exactly(client: ClickHouseClient) -> None:
    await insert_recognitions(
        client,
        [
            row(START_MS - 1, "AA1", camera_name="Old name"),
            row(START_MS, "AA1", camera_name="New name"),
            row(START_MS + QUARTER_MS - 1, "BB2", camera_name="New name"),
            row(START_MS + QUARTER_MS, "CC3", camera_id=YARD, camera_name="Yard"),
            row(START_MS, "AA1", user_id=STRANGER),
        ],
    )

    assert await counted(client) == Traffic(
        quarters=(
            QuarterCount(START_MS - QUARTER_MS, 1),
            QuarterCount(START_MS, 2),
            QuarterCount(START_MS + QUARTER_MS, 1),
        ),
        cameras=(CameraCount(GATE, "New name", 3), CameraCount(YARD, "Yard", 1)),
        plates=(
            PlateCount("AA1", 2, START_MS),
            PlateCount("CC3", 1, START_MS + QUARTER_MS),
            PlateCount("BB2", 1, START_MS + QUARTER_MS - 1),
        ),
    )


async def test_without_recognitions_nothing_is_counted(client: ClickHouseClient) -> None:
    assert await counted(client) == Traffic((), (), ())


async def test_outcomes_count_once_and_for_their_owner(client: ClickHouseClient) -> None:
    def outcome(number: int, *, accepted: bool, user_id: UUID = OWNER) -> OutcomeRow:
        at_ms = START_MS + number
        return OutcomeRow(
            user_id=user_id,
            at_ms=at_ms,
            id=image_call_id(at_ms, UUID(int=number)),
            camera_id=NIL_UUID,
            source=RecognitionSource.API,
            accepted=accepted,
        )

    rows = [outcome(number, accepted=number < 3) for number in range(5)]
    beyond = [
        replace(outcome(7, accepted=True), at_ms=at_ms) for at_ms in (SPAN.from_ms - 1, SPAN.to_ms)
    ]
    await client.run("SYSTEM STOP MERGES pass_outcomes")
    for _ in range(3):
        await insert_outcomes(client, rows)
    await insert_outcomes(client, [*beyond, outcome(9, accepted=True, user_id=STRANGER)])

    assert (await counted(client)).outcomes == OutcomeCount(accepted=3, refused=2)


async def test_from_is_inclusive_and_to_exclusive(client: ClickHouseClient) -> None:
    await insert_recognitions(
        client,
        [
            row(SPAN.from_ms - 1, "BEFORE"),
            row(SPAN.from_ms, "FIRST"),
            row(SPAN.to_ms - 1, "LAST"),
            row(SPAN.to_ms, "AFTER"),
        ],
    )

    traffic = await counted(client)
    assert [plate.plate for plate in traffic.plates] == ["LAST", "FIRST"]
    assert sum(quarter.recognitions for quarter in traffic.quarters) == 2
    assert [camera.recognitions for camera in traffic.cameras] == [2]


async def test_only_the_most_frequent_plates_are_listed(client: ClickHouseClient) -> None:
    await insert_recognitions(
        client, [row(START_MS + n, f"P{plate}") for plate in range(15) for n in range(plate + 1)]
    )

    traffic = await counted(client, plates=3)
    assert [(plate.plate, plate.recognitions) for plate in traffic.plates] == [
        ("P14", 15),
        ("P13", 14),
        ("P12", 13),
    ]


async def test_rows_inserted_again_and_again_count_once(client: ClickHouseClient) -> None:
    chance = random.Random(3)
    rows = [
        row(chance.randrange(SPAN.from_ms, SPAN.to_ms), f"P{chance.randrange(40)}")
        for _ in range(600)
    ]
    rows = list({one.id: one for one in rows}.values())
    by_quarter = Counter(one.captured_ms // QUARTER_MS * QUARTER_MS for one in rows)
    by_plate = Counter(one.plate for one in rows)
    await client.run("SYSTEM STOP MERGES recognitions")

    for _ in range(5):
        await insert_recognitions(client, rows)
        await insert_recognitions(client, chance.sample(rows, 200))
    copies = (await client.run("SELECT count() FROM recognitions")).rows[0][0]
    traffic = await counted(client)

    assert copies == 5 * (len(rows) + 200), "the copies are still there"
    assert {q.start_ms: q.recognitions for q in traffic.quarters} == by_quarter
    assert [camera.recognitions for camera in traffic.cameras] == [len(rows)]
    assert [plate.recognitions for plate in traffic.plates] == [
        count for _, count in by_plate.most_common(10)
    ]


def minute(
    at_ms: int, counts: FrameCounts, records: int = 60, camera_id: UUID = GATE
) -> CameraMinute:
    return CameraMinute(
        user_id=OWNER, camera_id=camera_id, minute_ms=at_ms, records=records, counts=counts
    )


async def test_minutes_of_a_camera_are_summed_by_hour_the_more_complete_one_of_two(
    client: ClickHouseClient,
) -> None:
    hour_ms = 3_600_000
    each = FrameCounts(**{name: number for number, name in enumerate(COUNT_NAMES, 1)})
    await insert_camera_minutes(
        client,
        [
            minute(START_MS - 60_000, each),
            minute(START_MS, FrameCounts(read=7)),
            minute(START_MS + 60_000, FrameCounts(read=5)),
            minute(START_MS + 60_000, FrameCounts(read=50), camera_id=YARD),
            minute(START_MS + 2 * hour_ms, FrameCounts(read=9)),
        ],
    )
    # A replay that started within the same minute.
    await insert_camera_minutes(client, [minute(START_MS, FrameCounts(read=1), records=3)])

    found = await camera_hours(
        client, CameraSpan(OWNER, GATE, START_MS - hour_ms, START_MS + 2 * hour_ms)
    )

    assert found == (
        CameraHour(START_MS - hour_ms, each),
        CameraHour(START_MS, FrameCounts(read=12)),
    )


async def test_what_all_cameras_reported_in_some_hours(client: ClickHouseClient) -> None:
    hour_ms = 3_600_000
    await insert_camera_minutes(
        client,
        [
            minute(START_MS - 60_000, FrameCounts(reported=1)),
            minute(START_MS, FrameCounts(reported=7)),
            minute(START_MS + 60_000, FrameCounts(reported=5)),
            minute(START_MS, FrameCounts(read=3), camera_id=YARD),
            minute(START_MS + 2 * hour_ms, FrameCounts(reported=9)),
        ],
    )
    await insert_camera_minutes(client, [minute(START_MS, FrameCounts(reported=2), records=3)])

    found = await reported_hours(client, [START_MS, START_MS + 2 * hour_ms])

    assert set(found) == {
        ReportedHour(GATE, START_MS, 12),
        ReportedHour(YARD, START_MS, 0),
        ReportedHour(GATE, START_MS + 2 * hour_ms, 9),
    }
