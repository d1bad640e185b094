"""The commands ``plate erase`` and ``owner remove`` with real servers and the running API."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from analytics_sql.client import ClickHouseClient
from analytics_sql.deliveries import insert_attempts
from analytics_sql.erased_images import list_images_to_remove
from analytics_sql.outcomes import insert_outcomes, outcome_row
from analytics_sql.recognitions import insert_recognitions, recognition_row
from analytics_sql.triggers import insert_triggers, trigger_row
from api.accounts import repository as accounts
from api.adapters.clickhouse import ClickHouseStore
from api.cameras.repository import confirm_camera, insert_camera
from api.cli.app import app as commands
from api.db.database import Database
from api.erasure.images import ErasedImageRemoval
from api.erasure.service import Counts, delete_account, erase_stored_plate
from api.errors import Dependency, DependencyUnavailableError
from api.live.recent import LiveRecord, StreamCursor
from api.live.service import ErasureSync
from common.records.alerts import AlertTrigger
from common.records.deliveries import DeliveryAttempt, recognition_delivery
from common.records.object_keys import snapshot_key
from common.records.recognitions import Recognition
from common.records.topics import CONFIG_ALERTS, CONFIG_CAMERAS, CONFIG_WEBHOOKS
from common.settings import DatabaseSettings, S3Settings
from common.timestamps import now_ms
from tests.integration.api.application import Application, Caller, Options, running_application
from tests.integration.api.cameras import values as camera_values
from tests.integration.api.locked_images import lock_images
from tests.integration.api.outbox import outbox_of
from tests.integration.api.waiting import until
from tests.records import (
    CAMERAS,
    alert,
    alert_trigger,
    dead_attempt,
    image_call_outcome,
    owned_recognition,
)
from tests.services.clickhouse import ClickHouseAddress
from tests.services.s3 import s3_client

pytestmark = pytest.mark.integration

PLATE, OTHER = "AB12CD", "XY99Z"
NOBODY = "http://127.0.0.1:1"


@dataclass(frozen=True)
class World:
    """An application with real servers and two accounts, of which the first has more data."""

    application: Application
    clickhouse: ClickHouseClient
    s3: S3Settings
    owner: Caller
    stranger: Caller

    def objects(self) -> set[str | None]:
        found = s3_client(self.s3).list_objects(self.s3.s3_bucket, recursive=True)
        return {one.object_name for one in found}

    async def store(self, records: Iterable[Recognition]) -> None:
        """Store recognitions as the service does: images, rows, triggers, deliveries."""
        records = list(records)
        client = self.clickhouse
        for record in records:
            for key in (record.photo_key, record.crop_key):
                assert key is not None
                await asyncio.to_thread(self._put, key)
        await insert_recognitions(client, [recognition_row(record) for record in records])
        await insert_triggers(client, [trigger_row(trigger_of(record)) for record in records])
        await insert_attempts(client, [attempt(record) for record in records])
        self.application.recent.post(
            LiveRecord(0, number, recognition_row(record)) for number, record in enumerate(records)
        )

    def _put(self, key: str) -> None:
        s3_client(self.s3).put_object(self.s3.s3_bucket, key, io.BytesIO(b"jpeg"), 4)

    async def json(self, path: str, caller: Caller | None = None) -> Any:
        async with self.application.client(caller or self.owner) as client:
            answer = await client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def plates(self, caller: Caller | None = None) -> list[str]:
        """Return the listed plates, newest first."""
        listed = await self.json("/api/recognitions", caller)
        return [one["plate"] for one in listed["recognitions"]]


@pytest.fixture
async def world(
    database: Database,
    clickhouse: ClickHouseClient,
    migrated_clickhouse: ClickHouseAddress,
    s3_settings: S3Settings,
    api_database: DatabaseSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[World]:
    settings = migrated_clickhouse.settings()
    environment = {
        "DATABASE_URL": api_database.database_url.get_secret_value(),
        "CLICKHOUSE_URL": settings.clickhouse_url,
        "CLICKHOUSE_USER": settings.clickhouse_user,
        "CLICKHOUSE_PASSWORD": settings.clickhouse_password.get_secret_value(),
        "CLICKHOUSE_DATABASE": settings.clickhouse_database,
        "OPERATOR_ACCOUNTS": "operator@platestream.example",
        "S3_ENDPOINT": s3_settings.s3_endpoint,
        "S3_ACCESS_KEY": s3_settings.s3_access_key,
        "S3_SECRET_KEY": s3_settings.s3_secret_key.get_secret_value(),
        "S3_BUCKET": s3_settings.s3_bucket,
    }
    for name, value in environment.items():
        monkeypatch.setenv(f"PLATESTREAM_{name}", value)
    store = ClickHouseStore(settings)
    options = Options(
        store=store,
        s3=s3_settings,
        erase_plate=partial(erase_stored_plate, settings, s3_settings),
        now_ms=now_ms,
    )
    async with running_application(database, options) as application:
        application.recent.reset({0: 0})
        owner, stranger = await application.new_owner(credits=7), await application.new_owner()
        yield World(application, clickhouse, s3_settings, owner, stranger)
    await store.close()


def seen(caller: Caller, plate: str, age_ms: int = 5_000) -> Recognition:
    return owned_recognition(caller.owner_id, now_ms() - age_ms, plate)


def trigger_of(record: Recognition) -> AlertTrigger:
    return alert_trigger(alert(1, owner_id=record.owner_id), record)


def attempt(record: Recognition) -> DeliveryAttempt:
    return dead_attempt(recognition_delivery(record, UUID(int=7), created_ms=record.captured_ms))


async def run(*arguments: str, given: str = "") -> Any:
    """Return the result of a command, which runs in a thread without an event loop."""
    return await asyncio.to_thread(lambda: CliRunner().invoke(commands, arguments, given))


async def erase(caller: Caller, plate: str = PLATE) -> Any:
    result = await run("plate", "erase", "--email", caller.email, "--plate", plate, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def remove(caller: Caller) -> Any:
    result = await run("owner", "remove", "--email", caller.email, "--yes", "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def column(client: ClickHouseClient, table: str, what: str, caller: Caller) -> list[Any]:
    """Return a table's column for all rows of an account."""
    query = f"SELECT {what} FROM {table} WHERE user_id = {{owner:UUID}} ORDER BY 1"
    found = await client.run(query, parameters={"owner": caller.owner_id})
    return [value for (value,) in found.rows]


async def test_nothing_shows_an_erased_plate(world: World) -> None:
    mine = [seen(world.owner, PLATE, age_ms) for age_ms in (9_000, 8_000)]
    others = [seen(world.owner, OTHER), seen(world.stranger, PLATE, 7_000)]
    misread = seen(world.owner, OTHER, 200_000)
    reader = StreamCursor(world.application.recent, world.owner.owner_id)
    await world.store([*mine, *others, misread])
    async with world.application.client(world.owner) as client:
        body = {"name": "gate", "plates": ["ab 12-cd"]}
        assert (await client.post("/api/alertas", json=body)).status_code == 201
        for record, plate in ((mine[0], "AB12CE"), (misread, PLATE)):
            path = f"/api/recognitions/{record.id}/correction"
            assert (await client.put(path, json={"plate": plate})).status_code == 200

    assert await erase(world.owner, "ab-12 cd") == {
        "recognitions": 3,
        "images": 6,
        "imagesLeft": False,
        "alertTriggers": 3,
        "deliveries": 3,
        "alertsNamingIt": 1,
        "corrections": 2,
        "misread": 1,
        "outbox": 0,
    }
    assert (await world.json("/api/corrections"))["corrections"] == []
    assert await world.application.services.erasure_sync.sweep() == 2

    assert await world.plates() == [OTHER]
    assert await world.plates(world.stranger) == [PLATE]
    async with world.application.client(world.owner) as client:
        gone = await client.get(f"/api/recognitions/{mine[0].id}")
        searched = await client.get("/api/recognitions", params={"plate": "12C"})
    assert (gone.status_code, searched.json()["recognitions"]) == (404, [])
    analytics = await world.json("/api/analytics")
    assert analytics["stats"]["total30d"] == 1
    assert [one["plate"] for one in analytics["topPlates"]] == [OTHER]
    assert [one["plate"] for one in analytics["recent"]] == [OTHER]
    # A misread plate stays in memory until 20,000 other recognitions arrive.
    assert [one.recognition.plate for one in reader.next_batch(9)] == [OTHER, OTHER]
    assert world.objects() == {key for one in others for key in (one.photo_key, one.crop_key)}
    assert await column(world.clickhouse, "alert_triggers", "plate", world.owner) == [
        *[""] * 3,
        OTHER,
    ]
    contents = await column(world.clickhouse, "delivery_attempts", "delivery", world.owner)
    assert [PLATE in content for content in contents] == [False] * 4
    assert contents[:3] == [""] * 3
    assert await column(world.clickhouse, "alert_triggers", "plate", world.stranger) == [PLATE]


async def test_a_plate_is_erased_through_the_api(world: World) -> None:
    kept = seen(world.owner, OTHER)
    await world.store([seen(world.owner, PLATE), kept])
    async with world.application.client(world.owner) as client:
        asked = await client.post("/api/erasures", json={"plate": "ab-12 cd"})
    erasure = asked.json()["erasure"]
    path = f"/api/erasures/{erasure['id']}"
    assert (asked.status_code, erasure["state"], erasure["plate"]) == (202, "waiting", "A****D")
    assert erasure["counts"] is None

    assert await world.application.services.erasure_jobs.sweep() == 1

    done = (await world.json(path))["erasure"]
    assert (done["state"], done["error"], done["requestedBy"]) == ("done", None, "test")
    assert done["counts"] == {
        "recognitions": 1,
        "images": 2,
        "imagesLeft": 0,
        "alertTriggers": 1,
        "deliveries": 1,
        "misread": 0,
        "corrections": 0,
        "outbox": 0,
    }
    assert await world.plates() == [OTHER]
    assert world.objects() == {kept.photo_key, kept.crop_key}


async def test_erasing_again_is_harmless_and_later_passes_remain(world: World) -> None:
    await world.store([seen(world.owner, PLATE)])
    await erase(world.owner)
    assert await erase(world.owner) == {
        "recognitions": 0,
        "images": 0,
        "imagesLeft": False,
        "alertTriggers": 0,
        "deliveries": 0,
        "alertsNamingIt": 0,
        "corrections": 0,
        "misread": 0,
        "outbox": 0,
    }
    later = seen(world.owner, PLATE, age_ms=0)
    await world.application.services.erasure_sync.sweep()
    await world.store([later])

    assert await world.plates() == [PLATE]
    assert world.objects() == {later.photo_key, later.crop_key}


async def test_images_are_removed_when_s3_has_recovered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.store([seen(world.owner, PLATE), seen(world.owner, OTHER)])
    with monkeypatch.context() as changed:
        changed.setenv("PLATESTREAM_S3_ENDPOINT", NOBODY)
        result = await run(
            "plate", "erase", "--email", world.owner.email, "--plate", PLATE, "--json"
        )
    assert (result.exit_code, "image store" in result.stderr) == (1, True)
    said = json.loads(result.stdout)
    assert (said["recognitions"], said["images"], said["imagesLeft"]) == (1, 0, True)
    assert await world.plates() == [OTHER]
    assert len(world.objects()) == 4

    assert await world.application.services.erased_images.sweep() == 2
    assert await world.application.services.erased_images.sweep() == 0
    assert len(world.objects()) == 2
    assert await list_images_to_remove(world.clickhouse, 9) == ()


async def test_a_locked_image_keeps_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = [seen(world.owner, PLATE, age_ms) for age_ms in (9_000, 8_000)]
    await world.store([*mine, seen(world.owner, OTHER)])
    with monkeypatch.context() as locked:
        lock_images(locked, [mine[0].crop_key])
        result = await run(
            "plate", "erase", "--email", world.owner.email, "--plate", PLATE, "--json"
        )
        removal = await run("owner", "remove", "--email", world.owner.email, "--yes")
        left = world.objects()
    assert (result.exit_code, "refused to delete some images (1)" in result.stderr) == (1, True)
    assert "not responding" not in result.stderr
    said = json.loads(result.stdout)
    assert (said["images"], said["imagesLeft"]) == (3, True)
    assert (removal.exit_code, "refused to delete images (1); run" in removal.stderr) == (1, True)
    assert left == {mine[0].crop_key}

    assert (await remove(world.owner))["images"] == 1
    assert world.objects() == set()


async def test_the_erasure_of_a_plate_that_was_cut_off_is_resumed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.store([seen(world.owner, PLATE)])

    async def die(*_: object) -> int:
        raise SystemExit(137)

    with monkeypatch.context() as killed:
        killed.setattr("api.erasure.service.erase_triggers", die)
        result = await run("plate", "erase", "--email", world.owner.email, "--plate", PLATE)
    assert result.exit_code == 137
    assert len(world.objects()) == 2

    again = await erase(world.owner)
    assert (again["recognitions"], again["alertTriggers"], again["images"]) == (0, 1, 2)
    assert world.objects() == set()


async def test_an_unavailable_clickhouse_says_what_to_do(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.store([seen(world.owner, PLATE)])
    monkeypatch.setenv("PLATESTREAM_CLICKHOUSE_URL", NOBODY)
    for command in (("plate", "erase", "--plate", PLATE), ("owner", "remove", "--yes")):
        result = await run(*command, "--email", world.owner.email)
        assert (result.exit_code, "run the command again" in result.stderr) == (1, True)
        assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plate", "erase", "--plate", PLATE), "no account"),
        (("plate", "erase", "--plate", " - "), "must have 1 to 16 letters and digits"),
        (("plate", "erase", "--plate", "A" * 17), "must have 1 to 16 letters and digits"),
        (("owner", "remove", "--yes"), "no account"),
        (("owner", "remove"), "no account"),
    ],
)
async def test_what_cannot_be_erased_is_refused(
    world: World, arguments: tuple[str, ...], said: str
) -> None:
    result = await run(*arguments, "--email", "nobody@platestream.example")
    assert (result.exit_code, said in result.stderr) == (1, True), result.output


async def furnish(world: World) -> dict[str, UUID]:
    """Create a camera, a snapshot, an outcome, an alert and a webhook, and return the IDs."""
    owner_id = world.owner.owner_id

    def insert(session: Session) -> UUID:
        row = insert_camera(session, owner_id, camera_values("Gate"))
        assert confirm_camera(session, row.id)
        return row.id

    camera_id = await world.application.database.run(insert)
    key = snapshot_key(owner_id, camera_id)
    s3_client(world.s3).put_object(world.s3.s3_bucket, key, io.BytesIO(b"jpeg"), 4)
    outcome = image_call_outcome(now_ms(), owner_id)
    await insert_outcomes(world.clickhouse, [outcome_row(outcome)])
    async with world.application.client(world.owner) as client:
        made = await client.post("/api/alertas", json={"name": "any", "plateMatchMode": "any"})
        hook = {"name": "h", "url": "https://1.1.1.1/", "events": ["recognition.created"]}
        webhook = await client.post("/api/webhooks", json=hook)
    assert (made.status_code, webhook.status_code) == (201, 201), webhook.text
    return {
        "config-cameras": camera_id,
        "config-alerts": UUID(made.json()["alert"]["id"]),
        "config-webhooks": UUID(webhook.json()["webhook"]["id"]),
    }


async def rows_of(database: Database, owner_id: UUID) -> dict[str, int]:
    """Return the number of an account's rows in each PostgreSQL table."""

    def work(session: Session) -> dict[str, int]:
        tables = session.execute(
            text(
                "SELECT table_name FROM information_schema.columns"
                " WHERE table_schema = 'public' AND column_name = 'owner_id'"
            )
        ).scalars()
        counts = {
            table: session.execute(
                text(f'SELECT count(*) FROM "{table}" WHERE owner_id = :owner'), {"owner": owner_id}
            ).scalar_one()
            for table in tables
        }
        owners = text("SELECT count(*) FROM owners WHERE id = :owner")
        return {**counts, "owners": session.execute(owners, {"owner": owner_id}).scalar_one()}

    return await database.run(work)


async def test_an_account_is_gone_from_everywhere(world: World) -> None:
    made = await furnish(world)
    await world.store([seen(world.owner, PLATE), seen(world.owner, OTHER, 6_000)])
    stays = seen(world.stranger, PLATE)
    await world.store([stays])

    removed = await remove(world.owner)

    assert removed == {
        "id": str(world.owner.owner_id),
        "email": world.owner.email,
        "sessions": 0,
        "apiKeys": 1,
        "cameras": 1,
        "alerts": 1,
        "webhooks": 1,
        "ledger": 1,
        "recognitions": 2,
        "images": 5,
        "alertTriggers": 2,
        "deliveryAttempts": 2,
        "outcomes": 1,
    }
    database = world.application.database
    assert set((await rows_of(database, world.owner.owner_id)).values()) == {0}
    for topic in (CONFIG_CAMERAS, CONFIG_ALERTS, CONFIG_WEBHOOKS):
        assert (await outbox_of(database, topic))[-1] == (str(made[topic.name]), None)
    for table in ("recognitions", "alert_triggers", "delivery_attempts", "pass_outcomes"):
        assert await column(world.clickhouse, table, "count()", world.owner) == [0]
    assert world.objects() == {stays.photo_key, stays.crop_key}
    assert await world.plates(world.stranger) == [PLATE]
    assert await world.application.services.erasure_sync.sweep() > 0
    again = await run("owner", "remove", "--email", world.owner.email, "--yes")
    assert (again.exit_code, "no account" in again.stderr) == (1, True)


async def test_a_removal_that_was_cut_off_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await furnish(world)
    await world.store([seen(world.owner, PLATE)])
    with monkeypatch.context() as changed:
        changed.setenv("PLATESTREAM_S3_ENDPOINT", NOBODY)
        result = await run("owner", "remove", "--email", world.owner.email, "--yes")
    assert (result.exit_code, "run the command again" in result.stderr) == (1, True)

    database = world.application.database
    left = await rows_of(database, world.owner.owner_id)
    assert {name for name, count in left.items() if count} == {
        "owners",
        "people",
        "credit_accounts",
        "credit_entries",
        "audit_entries",
        "config_outbox",
    }
    # No person can log in meanwhile, whatever the method.
    assert await database.run(lambda s: accounts.find_log_ins(s, world.owner.email)) == []
    assert await column(world.clickhouse, "recognitions", "count()", world.owner) == [0]

    # Rows that a call adds meanwhile are deleted too, and the stages are notified.
    def insert(session: Session) -> UUID:
        return insert_camera(session, world.owner.owner_id, camera_values("Late")).id

    late = await database.run(insert)
    removed = await remove(world.owner)

    assert (removed["cameras"], removed["images"], removed["ledger"]) == (1, 3, 1)
    assert (await outbox_of(database, CONFIG_CAMERAS))[-1] == (str(late), None)
    assert set((await rows_of(database, world.owner.owner_id)).values()) == {0}
    assert world.objects() == set()


@pytest.mark.parametrize("is_unavailable", [False, True])
async def test_what_is_stored_until_the_account_is_gone_goes_too(
    world: World, monkeypatch: pytest.MonkeyPatch, is_unavailable: bool
) -> None:
    late = seen(world.owner, PLATE)
    stays = snapshot_key(world.stranger.owner_id, uuid4())

    def delete_late(session: Session, owner_id: UUID) -> Counts:
        for key in (late.photo_key, snapshot_key(owner_id, CAMERAS[0]), stays):
            assert key is not None
            s3_client(world.s3).put_object(world.s3.s3_bucket, key, io.BytesIO(b"jpeg"), 4)
        if is_unavailable:
            monkeypatch.setattr("api.erasure.service.ImageStore.remove_some", refuse)
        return delete_account(session, owner_id)

    async def refuse(*_: object) -> int:
        raise DependencyUnavailableError(Dependency.IMAGES)

    monkeypatch.setattr("api.erasure.service.delete_account", delete_late)
    result = await run("owner", "remove", "--email", world.owner.email, "--yes", "--json")

    if is_unavailable:
        assert (result.exit_code, len(world.objects())) == (1, 3)
        assert f"{world.owner.email} was removed, but images" in result.stderr
        assert f"recognitions/{world.owner.owner_id}/" in result.stderr
    else:
        assert (result.exit_code, json.loads(result.stdout)["images"]) == (0, 2)
        assert world.objects() == {stays}


async def test_the_operating_account_is_not_removed_before_another_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATESTREAM_OPERATOR_ACCOUNTS", "")
    first = ("owner", "remove", "--email", world.owner.email, "--yes")

    refused = await run(*first)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Set PLATESTREAM_OPERATOR_ACCOUNTS first" in refused.stderr
    assert (await rows_of(world.application.database, world.owner.owner_id))["owners"] == 1
    await remove(world.stranger)
    assert (await run(*first)).exit_code == 0


@pytest.mark.parametrize("typed", ["other@platestream.example", "no address", ""])
async def test_who_types_another_address_removes_nothing(world: World, typed: str) -> None:
    result = await run("owner", "remove", "--email", world.owner.email, given=f"{typed}\n")
    assert result.exit_code == 1
    assert (await rows_of(world.application.database, world.owner.owner_id))["owners"] == 1


async def test_who_types_the_address_removes_it(world: World) -> None:
    typed = f" {world.owner.email.upper()}\n"
    result = await run("owner", "remove", "--email", world.owner.email, given=typed)
    assert result.exit_code == 0, result.output
    assert f"removed {world.owner.email}" in result.stdout
    assert (await rows_of(world.application.database, world.owner.owner_id))["owners"] == 0


async def test_what_is_shown_waits_for_no_removal_of_images(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    async def never_ends(removal: object) -> int:
        begun.append("images")
        await asyncio.Event().wait()
        return 0

    async def watch(_: object) -> int:
        begun.append("watch")
        return 0

    monkeypatch.setattr(ErasedImageRemoval, "sweep", never_ends)
    monkeypatch.setattr(ErasureSync, "sweep", watch)
    monkeypatch.setattr("api.adapters.periodic_tasks._SWEEP_SECONDS", 0.01)
    running = [
        asyncio.create_task(sweeper.run()) for sweeper in world.application.services.sweepers()
    ]

    async def goes_on() -> bool:
        return "images" in begun and begun.count("watch") > 3

    await until(goes_on, seconds=20)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert begun.count("images") == 1
