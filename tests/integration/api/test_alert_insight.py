"""Trigger counts, explanations and tests of alerts, from a real ClickHouse."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import insert_recognitions, recognition_row
from analytics_sql.triggers import TriggerCount, insert_triggers, trigger_row
from api.adapters.clickhouse import ClickHouseStore
from api.db.database import Database
from common.records.alerts import AlertTrigger, EarlyTrigger, TriggerPhase
from common.records.ids import recognition_id, trigger_id
from common.records.recognitions import Recognition
from common.timestamps import format_timestamp
from tests.integration.api.application import Application, Caller, Options, running_application
from tests.integration.api.waiting import until
from tests.records import alert, recognition
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

PATH = "/api/alertas"
START_MS = 1_790_000_000_000
MINUTE_MS = 60_000


@dataclass
class Place:
    """The API with a ClickHouse database, and an account."""

    application: Application
    clickhouse: ClickHouseClient
    store: ClickHouseStore
    owner: Caller
    client: httpx.AsyncClient

    async def make(self, **body: Any) -> UUID:
        answer = await self.client.post(PATH, json={"name": "Gate", **body})
        assert answer.status_code == 201, answer.text
        return UUID(answer.json()["alert"]["id"])

    async def see(self, minute: float, plate: str = "AB12", **changes: Any) -> Recognition:
        captured_ms = START_MS + round(minute * MINUTE_MS)
        made = recognition(1, captured_ms=captured_ms)
        seen = msgspec.structs.replace(
            made,
            id=recognition_id(captured_ms, made.camera_id, plate),
            owner_id=self.owner.owner_id,
            plate=plate,
            **changes,
        )
        await insert_recognitions(self.clickhouse, [recognition_row(seen)])
        return seen

    async def trigger(self, alert_id: UUID, *seen: Recognition, is_late: bool = False) -> None:
        rows = [
            trigger_row(
                AlertTrigger(
                    id=trigger_id(each.captured_ms, alert_id, each.id),
                    owner_id=self.owner.owner_id,
                    alert=msgspec.structs.replace(alert(1), alert_id=alert_id),
                    recognition=each,
                    decided_ms=each.captured_ms + 1500,
                    is_late=is_late,
                )
            )
            for each in seen
        ]
        await insert_triggers(self.clickhouse, rows)

    async def resolve(
        self, alert_id: UUID, phase: TriggerPhase, first: Recognition, last: Recognition
    ) -> None:
        """Store an early trigger for a reading of a pass, and the resolution of the trigger."""
        early = AlertTrigger(
            id=trigger_id(first.captured_ms, alert_id, first.id),
            owner_id=self.owner.owner_id,
            alert=msgspec.structs.replace(alert(1), alert_id=alert_id),
            recognition=first,
            decided_ms=first.captured_ms + 1500,
            phase=TriggerPhase.EARLY,
        )
        resolved = msgspec.structs.replace(
            early,
            recognition=last,
            decided_ms=first.captured_ms + 5000,
            phase=phase,
            early=EarlyTrigger(
                plate=first.plate, captured_ms=first.captured_ms, decided_ms=early.decided_ms
            ),
        )
        # The rows are inserted together, and again separately; the row written last counts.
        await insert_triggers(self.clickhouse, [trigger_row(early), trigger_row(resolved)])
        for each in (early, resolved):
            await insert_triggers(self.clickhouse, [trigger_row(each)])

    async def explain(self, seen: Recognition) -> dict[UUID, dict[str, Any]]:
        """Return the API's explanation of each alert for a recognition."""
        answer = await self.client.get(f"/api/recognitions/{seen.id}/alerts")
        assert answer.status_code == 200, answer.text
        return {UUID(each.pop("alertId")): each for each in answer.json()["alerts"]}

    async def try_alert(self, alert_body: dict[str, Any], minutes: float = 60) -> dict[str, Any]:
        """Test an alert, and return the response: the recognitions that would have triggered it."""
        body = {
            "alert": alert_body,
            "from": format_timestamp(START_MS),
            "to": format_timestamp(START_MS + round(minutes * MINUTE_MS)),
        }
        answer = await self.client.post(f"{PATH}/test", json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
async def place(
    database: Database, clickhouse: ClickHouseClient, migrated_clickhouse: ClickHouseAddress
) -> AsyncIterator[Place]:
    store = ClickHouseStore(migrated_clickhouse.settings())
    async with running_application(database, Options(store=store)) as application:
        owner = await application.new_owner()
        async with application.client(owner) as client:
            yield Place(application, clickhouse, store, owner, client)
    await store.close()


async def _listed(place: Place) -> tuple[dict[UUID, tuple[int, str | None]], str | None]:
    body = (await place.client.get(PATH)).json()
    counts = {
        UUID(each["id"]): (each["triggerCount"], each["lastTriggeredAt"]) for each in body["alerts"]
    }
    return counts, body["countedAt"]


async def _counted(place: Place) -> tuple[dict[UUID, tuple[int, str | None]], str | None]:
    """Return the counts of all alerts and their time, once ClickHouse has counted fast enough."""

    async def known() -> bool:
        return (await _listed(place))[1] is not None

    await until(known, seconds=60)
    return await _listed(place)


async def test_counts_are_right_after_replays(place: Place) -> None:
    often, never = await place.make(), await place.make()
    seen = [await place.see(minute, f"AB{minute}") for minute in range(3)]
    for _ in range(2):
        await place.trigger(often, *seen)
    await place.trigger(often, seen[0])

    counts, counted_at = await _counted(place)
    last = format_timestamp(seen[-1].captured_ms)
    assert counts == {often: (3, last), never: (0, None)}
    assert counted_at is not None

    changed = (await place.client.put(f"{PATH}/{often}", json={"name": "B"})).json()["alert"]
    assert (changed["triggerCount"], changed["lastTriggeredAt"]) == (3, last)


async def test_an_early_trigger_counts_once_and_one_that_was_withdrawn_not_at_all(
    place: Place,
) -> None:
    rule = await place.make(plates=["AB12"], cooldownMinutes=10)
    first, last = await place.see(0, "AB1Z"), await place.see(0.1)
    wrong, other = await place.see(30), await place.see(30.1, "ZZ9")
    await place.resolve(rule, TriggerPhase.CONFIRMED, first, last)
    await place.resolve(rule, TriggerPhase.WITHDRAWN, wrong, other)

    # Ask the store directly: on a busy machine, the list does not wait for the counts.
    counts = await place.store.trigger_counts(place.owner.owner_id)
    assert counts == {rule: TriggerCount(1, first.captured_ms)}
    (confirmed,) = (await place.explain(last)).values()
    assert (confirmed["outcome"], confirmed["phase"]) == ("fired", "confirmed")
    assert confirmed["triggeredAt"] == format_timestamp(first.captured_ms + 1500)
    (withdrawn,) = (await place.explain(other)).values()
    assert (withdrawn["outcome"], withdrawn["phase"]) == ("withdrawn", "withdrawn")
    assert withdrawn["unmet"] == ["plate"]
    # A withdrawn trigger suppresses nothing; a confirmed one does from its first reading on.
    (after,) = (await place.explain(await place.see(30.2))).values()
    assert (after["outcome"], after["phase"]) == ("not_then", None)
    (held,) = (await place.explain(await place.see(9))).values()
    assert (held["outcome"], held["heldBackBy"]) == ("held_back", str(last.id))


async def _fired(place: Place, rule: UUID, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Return all recognitions that triggered an alert, and the number of pages."""
    found, pages, last_key = list[dict[str, Any]](), 0, None
    while pages == 0 or last_key is not None:
        asked = {"limit": limit} | ({} if last_key is None else {"lastKey": last_key})
        answer = await place.client.get(f"{PATH}/{rule}/triggers", params=asked)
        assert answer.status_code == 200, answer.text
        found += answer.json()["triggers"]
        last_key, pages = answer.json()["nextKey"], pages + 1
        assert pages < 50
    return found, pages


async def test_triggers_of_an_alert_are_listed_newest_first_page_by_page(place: Place) -> None:
    rule = await place.make(plates=["AB*", "AB 4"], plateNames={"AB4": "Courier"})
    other = await place.make()
    seen = [await place.see(minute, f"AB{minute}") for minute in range(5)]
    for _ in range(3):
        await place.trigger(rule, *seen)
    await place.trigger(other, seen[0])
    first, last = await place.see(10, "AB1Z"), await place.see(10.1, "AB7")
    await place.resolve(rule, TriggerPhase.CORRECTED, first, last)

    for limit in (1, 2, 3, 200):
        found, _ = await _fired(place, rule, limit)
        assert [one["plate"] for one in found] == ["AB7", "AB4", "AB3", "AB2", "AB1", "AB0"]
    assert found[1] == {
        "id": str(trigger_id(seen[4].captured_ms, rule, seen[4].id)),
        "recognitionId": str(seen[4].id),
        "cameraId": str(seen[4].camera_id),
        "cameraName": seen[4].camera_name,
        "plate": "AB4",
        "plateName": "Courier",
        "confidence": pytest.approx(seen[4].confidence, abs=1e-6),
        "timestamp": format_timestamp(seen[4].captured_ms),
        "triggeredAt": format_timestamp(seen[4].captured_ms + 1500),
        "isLate": False,
        "phase": "final",
    }
    assert (found[0]["phase"], found[0]["recognitionId"]) == ("corrected", str(last.id))


async def test_triggers_after_many_withdrawn_ones_are_listed(
    place: Place,
) -> None:
    rule = await place.make()
    fired = await place.see(0)
    await place.trigger(rule, fired)
    for minute in range(1, 12):
        wrong, right = await place.see(minute, "AB1Z"), await place.see(minute + 0.1, "ZZ9")
        await place.resolve(rule, TriggerPhase.WITHDRAWN, wrong, right)

    found, pages = await _fired(place, rule, 1)
    assert [one["recognitionId"] for one in found] == [str(fired.id)]
    assert pages > 1


async def test_the_list_of_triggers_is_the_accounts_and_takes_only_its_cursors(
    place: Place,
) -> None:
    rule, other = await place.make(), await place.make()
    seen = [await place.see(minute, f"AB{minute}") for minute in range(3)]
    await place.trigger(rule, *seen)
    path = f"{PATH}/{rule}/triggers"
    last_key = (await place.client.get(path, params={"limit": 1})).json()["nextKey"]
    elsewhere = {"lastKey": last_key}
    refused = await place.client.get(f"{PATH}/{other}/triggers", params=elsewhere)
    stranger = await place.application.new_owner()
    async with place.application.client(stranger) as client:
        foreign = await client.get(path)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_cursor")
    assert foreign.status_code == 404
    for wrong in ({"limit": 0}, {"limit": 201}, {"lastKey": "x"}):
        assert (await place.client.get(path, params=wrong)).status_code == 400


async def test_alerts_are_listed_and_changed_while_clickhouse_is_unavailable(
    place: Place, database: Database
) -> None:
    nobody = ClickHouseStore(ClickHouseAddress("127.0.0.1", 9, "tester", "none").settings())
    async with (
        running_application(database, Options(store=nobody)) as elsewhere,
        elsewhere.client(place.owner) as client,
    ):
        alert_id = UUID((await client.post(PATH, json={"name": "A"})).json()["alert"]["id"])
        body = (await client.get(PATH)).json()
        assert [UUID(each["id"]) for each in body["alerts"]] == [alert_id]
        assert body["countedAt"] is None
        answer = await client.put(f"{PATH}/{alert_id}", json={"name": "B"})
        assert answer.status_code == 200
    await nobody.close()


async def test_each_alert_says_why(place: Place) -> None:
    seen = await place.see(10, confidence=0.6)
    earlier = await place.see(7, "XY9")
    named = {"plates": [seen.plate], "plateNames": {seen.plate: "Courier"}}
    matching = await place.make(plateMatchMode="any", **named)
    strict = await place.make(
        plates=["ZZ*"], minConfidence=0.9, enabled=False, cameraScope="specific"
    )
    held = await place.make(plateMatchMode="any")
    by_plate = await place.make(plateMatchMode="any", cooldownScope="plate")
    await place.trigger(matching, seen, is_late=True)
    await place.trigger(held, earlier)
    await place.trigger(by_plate, earlier)

    said = await place.explain(seen)
    nothing: dict[str, Any] = {
        "alertName": "Gate",
        "plateName": None,
        "unmet": [],
        "triggeredAt": None,
        "isLate": None,
        "phase": None,
        "heldBackBy": None,
        "cooldownUntil": None,
    }
    assert said == {
        matching: nothing
        | {
            "outcome": "fired",
            "plateName": "Courier",
            "triggeredAt": format_timestamp(seen.captured_ms + 1500),
            "isLate": True,
            "phase": "final",
        },
        strict: nothing
        | {
            "outcome": "not_set_off",
            "unmet": ["enabled", "plate", "camera", "confidence"],
        },
        held: nothing
        | {
            "outcome": "held_back",
            "heldBackBy": str(earlier.id),
            "cooldownUntil": format_timestamp(earlier.captured_ms + 5 * MINUTE_MS),
        },
        by_plate: nothing | {"outcome": "not_then"},
    }


async def test_what_an_alert_would_have_triggered_for(place: Place) -> None:
    seen = [await place.see(minute, plate) for minute, plate in enumerate(["AB1", "AB2"] * 5)]
    await place.see(0.5, "ab 3", confidence=0.2)
    found = await place.try_alert({"plates": ["ab*"], "cooldownMinutes": 4, "enabled": False})
    assert (found["evaluated"], found["matched"], found["fired"]) == (11, 10, 3)
    assert found["isComplete"]
    assert [each["recognitionId"] for each in found["triggers"]] == [
        str(seen[at].id) for at in (0, 4, 8)
    ]
    assert found["triggers"][0] == {
        "recognitionId": str(seen[0].id),
        "cameraId": str(seen[0].camera_id),
        "cameraName": seen[0].camera_name,
        "plate": "AB1",
        "confidence": 0.93,
        "timestamp": format_timestamp(seen[0].captured_ms),
    }
    assert (await place.try_alert({"plates": ["ab*"]}, minutes=0))["evaluated"] == 0
    strangers = await place.application.new_owner()
    async with place.application.client(strangers) as other:
        place.client = other
        assert (await place.try_alert({"plateMatchMode": "any"}))["evaluated"] == 0
        answer = await other.get(f"/api/recognitions/{seen[0].id}/alerts")
        assert answer.status_code == 404


async def test_bad_trials_are_refused_as_bad_alerts_are(place: Place) -> None:
    body = {
        "alert": {"matchTolerance": 9, "cameraIds": [str(UUID(int=5))]},
        "from": "2026-01-01T00:00:00Z",
        "to": "2026-01-02T00:00:00Z",
    }
    answer = await place.client.post(f"{PATH}/test", json=body)
    assert answer.status_code == 400
    assert [each["path"] for each in answer.json()["fields"]] == ["alert.matchTolerance"]
    body["alert"] = {"cameraIds": [str(UUID(int=5))]}
    answer = await place.client.post(f"{PATH}/test", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    body["from"] = "2025-01-01T00:00:00Z"
    answer = await place.client.post(f"{PATH}/test", json=body)
    assert [each["path"] for each in answer.json()["fields"]] == ["to"]


async def test_a_list_that_is_too_slow_to_be_saved_is_not_tried(place: Place) -> None:
    slow = [f"*?*?*?*?*?{number:03}*" for number in range(300)]
    alert_body: dict[str, Any] = {"plates": slow, "matchTolerance": 2}
    span = {"from": format_timestamp(START_MS), "to": format_timestamp(START_MS + MINUTE_MS)}
    body = {"alert": alert_body, **span}
    refused = await place.client.post(f"{PATH}/test", json=body)
    saved = await place.client.post(PATH, json={"name": "Gate", **alert_body})
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    assert refused.json()["error"] == saved.json()["error"]
    alert_body["plates"] = slow[:3]
    assert (await place.client.post(f"{PATH}/test", json=body)).status_code == 200
