"""Erasure of plates and accounts on a real engine."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import msgspec
import pytest

from analytics_sql.client import ClickHouseClient
from analytics_sql.deliveries import insert_attempts, plates_of
from analytics_sql.erased_images import insert_erased_images, list_images_to_remove, mark_removed
from analytics_sql.erasure import (
    Erasure,
    Subject,
    erase_camera_counts,
    erase_deliveries,
    erase_outcomes,
    erase_recognitions,
    erase_triggers,
    insert_erasure,
    list_erasures,
)
from analytics_sql.outcomes import insert_outcomes, outcome_row
from analytics_sql.recognitions import (
    RecognitionFilter,
    RecognitionRow,
    insert_recognitions,
    list_recognitions,
    recognition_row,
)
from analytics_sql.traffic.analytics import OwnerSpan, count_traffic
from analytics_sql.traffic.camera_counts import camera_minute, insert_camera_minutes
from analytics_sql.triggers import insert_triggers, trigger_row
from common.plates.matching import MatchMode
from common.plates.normalise import normalise_plate
from common.records.alerts import AlertTrigger, EarlyTrigger, TriggerPhase
from common.records.counts import CameraCounts, FrameCounts
from common.records.deliveries import (
    Delivery,
    WebhookTarget,
    recognition_delivery,
    trigger_delivery,
)
from common.records.ids import NIL_UUID, recognition_id
from common.records.object_keys import uploaded_photo_key
from common.records.recognitions import (
    ProvisionalPlate,
    Recognition,
    RecognitionSource,
)
from streams.sink.store import RowStore
from streams.sink.tables import RECOGNITION_TABLE
from tests.characters import varied_characters
from tests.integration.analytics_sql.conftest import migrated_client
from tests.records import (
    CAMERAS,
    alert,
    alert_trigger,
    dead_attempt,
    image_call_outcome,
    owned_recognition,
)
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

client = migrated_client

OWNER, STRANGER = uuid4(), uuid4()
PLATE, OTHER = "AB12CD", "XY99Z"
DAY_MS = 86_400_000
# The rows must be recent, because delivery attempts are stored for only three months.
NOW_MS = time.time_ns() // 1_000_000
BEFORE_MS = NOW_MS - 1000
ERASURE = Erasure(OWNER, PLATE, BEFORE_MS)


def seen(at_ms: int, plate: str = PLATE, owner: UUID = OWNER, camera: int = 0) -> Recognition:
    return owned_recognition(owner, at_ms, plate, camera)


async def store(client: ClickHouseClient, records: Iterable[Recognition]) -> None:
    await insert_recognitions(client, [recognition_row(record) for record in records])


async def plates_left(client: ClickHouseClient, owner: UUID = OWNER) -> list[str]:
    page = await list_recognitions(client, RecognitionFilter(owner), None, 100)
    return [row.plate for row in page.rows]


async def test_a_plate_is_gone_and_nothing_else_is(client: ClickHouseClient) -> None:
    old_ms = NOW_MS - 70 * DAY_MS
    mine = [seen(old_ms), seen(BEFORE_MS - 1, camera=1), seen(BEFORE_MS - 1, OTHER)]
    stays = [seen(BEFORE_MS, camera=2), seen(BEFORE_MS - 5, PLATE + "E"), seen(old_ms, "AB12C")]
    await store(client, [*mine, *stays, seen(old_ms, owner=STRANGER)])
    await store(client, mine)

    assert await erase_recognitions(client, ERASURE) == 2
    assert await erase_recognitions(client, ERASURE) == 0

    assert await plates_left(client) == [PLATE, OTHER, PLATE + "E", "AB12C"]
    assert await plates_left(client, STRANGER) == [PLATE]
    exact = RecognitionFilter(OWNER, plate=PLATE, camera_id=CAMERAS[1], match=MatchMode.EXACT)
    assert (await list_recognitions(client, exact, None, 9)).rows == ()
    span = OwnerSpan(OWNER, old_ms - 1, NOW_MS + 1)
    traffic = await count_traffic(client, span, plates=9)
    assert {each.plate: each.recognitions for each in traffic.plates} == dict.fromkeys(
        (PLATE, OTHER, PLATE + "E", "AB12C"), 1
    )
    assert sum(each.recognitions for each in traffic.cameras) == 4
    left = await client.run("SELECT count() FROM analysis_recognitions WHERE ts < now()")
    assert left.rows == [(5,)]


async def test_the_statements_that_the_server_keeps_do_not_name_the_plate(
    client: ClickHouseClient,
) -> None:
    await store(client, [seen(BEFORE_MS - 1)])
    await erase_recognitions(client, ERASURE)

    kept = await client.run(
        "SELECT command FROM system.mutations WHERE database = currentDatabase()"
        " AND table = 'recognitions'"
    )
    assert kept.rows
    assert not [text for (text,) in kept.rows if PLATE in text]


async def test_images_are_noted_until_they_are_removed(client: ClickHouseClient) -> None:
    first, second = seen(BEFORE_MS - 2), seen(BEFORE_MS - 1, owner=STRANGER)
    bare = msgspec.structs.replace(seen(BEFORE_MS - 3), photo_key=None, crop_key=None)
    await store(client, [first, second, bare])
    await erase_recognitions(client, ERASURE)
    await erase_recognitions(client, Erasure(STRANGER))

    noted = await list_images_to_remove(client, 9)
    assert {each.keys for each in noted} == {
        (first.photo_key, first.crop_key),
        (second.photo_key, second.crop_key),
    }
    assert await list_images_to_remove(client, 9, None, noted[0]) == noted[1:]
    assert await list_images_to_remove(client, 9, None, noted[1]) == ()
    assert await list_images_to_remove(client, 1) == noted[:1]
    (mine,) = await list_images_to_remove(client, 9, OWNER)
    assert await list_images_to_remove(client, 9, OWNER, mine) == ()
    await mark_removed(client, [mine])
    assert await list_images_to_remove(client, 9, OWNER) == ()
    assert len(await list_images_to_remove(client, 9)) == 1
    # A later copy of the same record is listed, and removed, again.
    await insert_erased_images(client, [replace(mine, noted_ms=mine.noted_ms + 5)])
    (found,) = await list_images_to_remove(client, 9, OWNER)
    assert (found.id, found.noted_ms) == (first.id, mine.noted_ms + 5)


@pytest.mark.parametrize("what", ["plate", "owner", "removed owner", "late row"])
async def test_images_that_may_still_be_stored_are_noted_for_later_too(
    client: ClickHouseClient, sink: RowStore, what: str
) -> None:
    fresh, old = seen(BEFORE_MS - 2), seen(NOW_MS - 3 * DAY_MS)
    if what == "late row":
        await insert_erasure(client, ERASURE)
        await sink.insert(RECOGNITION_TABLE, [recognition_row(fresh)])
        await erase_recognitions(client, ERASURE)
    else:
        await store(client, [fresh, old])
        erasure = ERASURE if what == "plate" else Erasure(OWNER)
        await erase_recognitions(client, erasure, records_images=what != "removed owner")
    result = await client.run(
        "SELECT id, dateDiff('minute', now(), noted_at) FROM erased_images ORDER BY noted_at"
    )
    notes = [(identifier, minutes > 30) for identifier, minutes in result.rows]
    assert [each for each in notes if each[1]] == [(fresh.id, True)]
    now = {identifier for identifier, is_later in notes if not is_later}
    expected = {fresh.id, old.id} if what in ("plate", "owner") else {fresh.id}
    assert now == (set() if what == "removed owner" else expected)
    assert {each.id for each in await list_images_to_remove(client, 9)} == now


async def test_a_photo_of_several_plates_goes_and_no_row_names_it(client: ClickHouseClient) -> None:
    at_ms = BEFORE_MS - 9
    calls = [image_call(at_ms, call, "png") for call in (1, 2)]
    jpeg = image_call(at_ms, 3, "jpg", (PLATE, OTHER))
    await store(client, [*calls[0], *calls[1][:1], *jpeg])

    assert await erase_recognitions(client, ERASURE) == 2

    page = await list_recognitions(client, RecognitionFilter(OWNER), None, 9)
    assert {row.id: row.photo_key for row in page.rows} == {
        calls[0][0].id: None,
        calls[1][0].id: calls[1][0].photo_key,
        jpeg[1].id: None,
    }
    keys = {key for each in await list_images_to_remove(client, 9) for key in each.keys}
    assert keys == {calls[0][0].photo_key, jpeg[0].photo_key}


@pytest.fixture
async def sink(migrated_clickhouse: ClickHouseAddress) -> AsyncIterator[RowStore]:
    """The sink's row store, over separate connections."""
    own = ClickHouseClient(migrated_clickhouse.settings())
    yield RowStore(own)
    await own.close()


async def erase_plate(client: ClickHouseClient, *, removing: bool = True) -> None:
    """Erase a plate and its images, as the command does."""
    await insert_erasure(client, ERASURE)
    await erase_recognitions(client, ERASURE)
    if removing:
        await mark_removed(client, await list_images_to_remove(client, 99))


async def photos_named(client: ClickHouseClient) -> set[tuple[str, str]]:
    """Return the plate and the photo of every copy of a row."""
    result = await client.run("SELECT plate, photo_key FROM recognitions")
    return {(plate, key) for plate, key in result.rows}


EXTENSIONS = pytest.mark.parametrize("extension", ["jpg", "png"])


@EXTENSIONS
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["as sent", "the other first"])
@pytest.mark.parametrize("at_once", [True, False], ids=["one batch", "two batches"])
async def test_a_photo_whose_plate_arrives_after_its_erasure_is_not_referenced(
    client: ClickHouseClient, sink: RowStore, extension: str, order: tuple[int, int], at_once: bool
) -> None:
    rows = [recognition_row(each) for each in image_call(BEFORE_MS - 9, 1, extension)]
    other = [
        recognition_row(each) for each in image_call(BEFORE_MS - 9, 2, extension, (OTHER, "Q1"))
    ]
    await erase_plate(client)
    ordered = [rows[number] for number in order]
    for batch in [ordered] if at_once else [ordered[:1], ordered[1:]]:
        await sink.insert(RECOGNITION_TABLE, batch)
    await sink.insert(RECOGNITION_TABLE, other)

    page = await list_recognitions(client, RecognitionFilter(OWNER), None, 9)
    assert {row.id: row.photo_key for row in page.rows} == {
        rows[0].id: None,
        **{row.id: row.photo_key for row in other},
    }
    keys = {key for each in await list_images_to_remove(client, 9) for key in each.keys}
    assert keys == {rows[1].photo_key}


@EXTENSIONS
async def test_a_replay_does_not_name_a_removed_photo(
    client: ClickHouseClient, sink: RowStore, extension: str
) -> None:
    rows = [recognition_row(each) for each in image_call(BEFORE_MS - 9, 1, extension)]
    await sink.insert(RECOGNITION_TABLE, rows)
    await erase_plate(client)
    assert await photos_named(client) == {(OTHER, "")}
    await sink.insert(RECOGNITION_TABLE, rows[:1])
    assert await photos_named(client) == {(OTHER, "")}
    # A worker that crashed before its second check left a copy with the key.
    await insert_recognitions(client, rows[:1])
    await sink.insert(RECOGNITION_TABLE, rows)
    assert await photos_named(client) == {(OTHER, "")}


async def test_a_photo_that_goes_while_a_row_is_written_is_taken_from_it(
    client: ClickHouseClient, sink: RowStore
) -> None:
    rows = [recognition_row(each) for each in image_call(BEFORE_MS - 9, 1, "png")]
    await sink.insert(RECOGNITION_TABLE, rows[1:])

    async def insert_late(_: ClickHouseClient, late: Sequence[RecognitionRow]) -> None:
        await erase_plate(client, removing=False)
        await insert_recognitions(client, late)

    await sink.insert(replace(RECOGNITION_TABLE, insert=insert_late), rows[:1])
    assert await photos_named(client) == {(OTHER, "")}


def image_call(
    at_ms: int, call: int, extension: str, plates: tuple[str, ...] = (OTHER, PLATE)
) -> list[Recognition]:
    """Return the recognitions of an image call, which share one photo."""
    ids = [recognition_id(at_ms, NIL_UUID, f"call {call} {number}") for number in (0, 1)]
    photo = uploaded_photo_key(OWNER, ids[0], extension)
    return [
        msgspec.structs.replace(
            seen(at_ms, plate),
            id=identifier,
            camera_id=NIL_UUID,
            source=RecognitionSource.API,
            photo_key=photo,
            crop_key=None,
        )
        for identifier, plate in zip(ids, plates, strict=True)
    ]


def triggered(number: int, plate: str, at_ms: int, **changed: object) -> AlertTrigger:
    """Return a trigger of the account's alert with this ``number``."""
    return alert_trigger(alert(number, owner_id=OWNER), seen(at_ms, plate), **changed)


async def test_plates_of_triggers_are_emptied_and_the_rows_stay(client: ClickHouseClient) -> None:
    at_ms = BEFORE_MS - 1
    early = EarlyTrigger(plate="ab-12 cd", captured_ms=at_ms, decided_ms=at_ms)
    triggers = [
        triggered(1, PLATE, at_ms),
        triggered(2, OTHER, at_ms, early=early, phase=TriggerPhase.WITHDRAWN),
        triggered(3, OTHER, at_ms),
        triggered(4, PLATE, BEFORE_MS),
    ]
    await insert_triggers(client, [trigger_row(trigger) for trigger in triggers])

    assert await erase_triggers(client, Erasure(STRANGER, PLATE, BEFORE_MS)) == 0
    assert await erase_triggers(client, ERASURE) == 2
    assert await erase_triggers(client, ERASURE) == 0

    rows = await client.run("SELECT plate FROM alert_triggers FINAL ORDER BY alert_id")
    assert [plate for (plate,) in rows.rows] == ["", "", OTHER, PLATE]


def delivery_of(trigger: AlertTrigger) -> Delivery:
    return trigger_delivery(trigger, "hook", WebhookTarget(webhook_id=UUID(int=5)))


NAMING = {
    "what passed": recognition_delivery(seen(1), UUID(int=5), created_ms=1),
    "written otherwise": recognition_delivery(seen(1, " ab·12 ｃd"), UUID(int=5), created_ms=1),
    "a provisional reading": recognition_delivery(
        msgspec.structs.replace(
            seen(1, OTHER),
            provisional_plates=(ProvisionalPlate(plate=PLATE, confidence=0.5, captured_ms=1),),
        ),
        UUID(int=5),
        created_ms=1,
    ),
    "a trigger": delivery_of(triggered(1, PLATE, 1)),
    "an early trigger": delivery_of(
        triggered(1, OTHER, 2, early=EarlyTrigger(plate=PLATE, captured_ms=1, decided_ms=1))
    ),
    "a list": delivery_of(
        msgspec.structs.replace(
            triggered(1, OTHER, 1), alert=alert(1, owner_id=OWNER, plates=("QQ1", "ab 12-cd"))
        )
    ),
}


@pytest.mark.parametrize("delivery", NAMING.values(), ids=NAMING)
async def test_what_deliveries_carried_is_emptied(
    client: ClickHouseClient, delivery: Delivery
) -> None:
    at_ms = BEFORE_MS - 1
    erased = msgspec.structs.replace(delivery, occurred_ms=at_ms)
    kept = recognition_delivery(seen(at_ms, OTHER), UUID(int=6), created_ms=at_ms)
    later = msgspec.structs.replace(erased, id=uuid4(), occurred_ms=BEFORE_MS)
    await insert_attempts(client, [dead_attempt(each) for each in (erased, kept, later)])

    assert PLATE in plates_of(erased)
    assert await erase_deliveries(client, ERASURE) == 1
    assert await erase_deliveries(client, ERASURE) == 0

    rows = await client.run("SELECT delivery_id, delivery != '' FROM delivery_attempts FINAL")
    assert {row[0]: bool(row[1]) for row in rows.rows} == {
        erased.id: False,
        kept.id: True,
        later.id: True,
    }


SPELLINGS = [
    "A -\u0308B12",
    "\u0390B12",
    "A\u00a8B12",
    "\u0410\u0412 12",
    "ﬁ\u2028ß1",
    "\u00c6\u00d8\u0661",
]


async def test_a_plate_is_found_however_it_was_written(client: ClickHouseClient) -> None:
    spellings = [f"AB12{text}CD" for text in varied_characters() if text != "\0"]
    written = [text for text in spellings if normalise_plate(text) == PLATE]
    ignored = [text[4] for text in written]
    assert {"\v", "\x1c", "\x1f", "\x85", "\u1680", "\u2028", "\u2029", "\u00a0"} <= {*ignored}
    at_ms = BEFORE_MS - 1
    deliveries = [
        recognition_delivery(
            msgspec.structs.replace(seen(at_ms, text), id=uuid4()), UUID(int=5), created_ms=at_ms
        )
        for text in (*written, *(f"{PLATE}{twice}{twice}" for twice in ignored))
    ]
    await insert_attempts(client, [dead_attempt(each) for each in deliveries])
    assert await erase_deliveries(client, ERASURE) == len({each.id for each in deliveries})
    left = await client.run("SELECT count() FROM delivery_attempts WHERE delivery != ''")
    assert left.rows == [(0,)]


@pytest.mark.parametrize("text", SPELLINGS, ids=ascii)
async def test_a_delivery_is_found_by_its_folded_plate(client: ClickHouseClient, text: str) -> None:
    delivery = recognition_delivery(seen(BEFORE_MS - 1, text), UUID(int=5), created_ms=1)
    await insert_attempts(client, [dead_attempt(delivery)])
    (plate,) = plates_of(delivery)
    assert await erase_deliveries(client, Erasure(OWNER, plate, BEFORE_MS)) == 1


async def test_all_of_an_owner_is_gone(client: ClickHouseClient) -> None:
    at_ms = NOW_MS
    for owner in (OWNER, STRANGER):
        await store(client, [seen(at_ms, owner=owner), seen(at_ms, OTHER, owner)])
        trigger = msgspec.structs.replace(triggered(1, PLATE, at_ms), owner_id=owner)
        await insert_triggers(client, [trigger_row(trigger)])
        delivery = recognition_delivery(seen(at_ms, owner=owner), UUID(int=7), created_ms=at_ms)
        await insert_attempts(client, [dead_attempt(delivery)])
        outcome = image_call_outcome(at_ms, owner)
        await insert_outcomes(client, [outcome_row(outcome)])
        counted = CameraCounts(
            camera_id=NIL_UUID,
            owner_id=owner,
            minute_ms=at_ms,
            records=1,
            counts=FrameCounts(read=1),
        )
        await insert_camera_minutes(client, [camera_minute(counted)])
    erasure = Erasure(OWNER)
    erase = (
        erase_recognitions,
        erase_triggers,
        erase_deliveries,
        erase_outcomes,
        erase_camera_counts,
    )

    assert [await each(client, erasure) for each in erase] == [2, 1, 1, 1, 1]
    assert [await each(client, erasure) for each in erase] == [0, 0, 0, 0, 0]

    tables = ("recognitions", "alert_triggers", "delivery_attempts", "pass_outcomes")
    for table in (*tables, "camera_counts"):
        owners = await client.run(f"SELECT DISTINCT user_id FROM {table}")
        assert owners.rows == [(STRANGER,)], table


async def test_erasures_are_remembered_the_latest_of_each(client: ClickHouseClient) -> None:
    assert not (await list_erasures(client)).covers(Subject(OWNER, 1, frozenset({PLATE})))
    await insert_erasure(client, ERASURE)
    await insert_erasure(client, Erasure(OWNER, PLATE, BEFORE_MS - 500))
    await insert_erasure(client, Erasure(STRANGER))
    known = await list_erasures(client)

    assert list(known.covering(Subject(OWNER, BEFORE_MS - 1, frozenset({OTHER, PLATE})))) == [
        ERASURE
    ]
    assert not known.covers(Subject(OWNER, BEFORE_MS, frozenset({PLATE})))
    assert not known.covers(Subject(OWNER, 1, frozenset({OTHER})))
    assert list(known.covering(Subject(STRANGER, NOW_MS * 2))) == [Erasure(STRANGER)]
    held = await client.run("SELECT * FROM erasures")
    assert PLATE not in str(held.rows)


async def test_erasures_at_once_all_take_effect(client: ClickHouseClient) -> None:
    await store(client, [seen(BEFORE_MS - 1), seen(BEFORE_MS - 1, OTHER)])
    await asyncio.gather(
        *(erase_recognitions(client, ERASURE) for _ in range(3)),
        erase_recognitions(client, Erasure(OWNER, OTHER, BEFORE_MS)),
    )
    assert await plates_left(client) == []
