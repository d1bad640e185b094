"""The audit log: what creates an entry, who can read it, and that it cannot be changed."""

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from msgspec.structs import replace
from pydantic.alias_generators import to_camel
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from analytics_sql.recognitions import RecognitionRow, recognition_row
from api.actors import Action, Actor, ActorKind
from api.app import create_app
from api.audit.actions import ActionSubject, AuditAction
from api.audit.audit_buffer import AuditBuffer
from api.audit.plates import PlateHashes
from api.audit.repository import delete_expired_entries, write_actions
from api.db.database import Database
from api.security.permissions import Access, Role, Scope
from common.plates.normalise import mask_plate
from common.records.alerts import ALERT_FIELDS
from common.records.codec import encode
from common.records.deliveries import recognition_delivery
from tests.integration.api.application import (
    PASSWORD,
    Application,
    Caller,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.people import browser_of, invite, logged_in, new_address, new_person
from tests.records import recognition

pytestmark = pytest.mark.integration

ACCESS: Mapping[tuple[str, str], Access] = create_app().state.permissions.access
PASS = recognition(0)
CHANGES: Mapping[tuple[str, str], str] = {
    ("PUT", "/api/account"): "account.updated",
    ("POST", "/api/alertas"): "alert.created",
    ("PUT", "/api/alertas/{id}"): "alert.updated",
    ("DELETE", "/api/alertas/{id}"): "alert.deleted",
    ("POST", "/api/alertas/{id}/deliveries/{deliveryId}/redeliver"): "delivery.repeated",
    ("POST", "/api/alertas/{id}/notifications/test"): "alert.tested",
    ("POST", "/api/api-keys"): "key.created",
    ("PUT", "/api/api-keys/{id}"): "key.updated",
    ("DELETE", "/api/api-keys/{id}"): "key.revoked",
    ("POST", "/api/cameras"): "camera.created",
    ("PUT", "/api/cameras/{id}"): "camera.updated",
    ("DELETE", "/api/cameras/{id}"): "camera.deleted",
    ("POST", "/api/erasures"): "plate.erasure_asked",
    ("POST", "/api/invitations"): "invitation.created",
    ("DELETE", "/api/invitations/{id}"): "invitation.revoked",
    ("POST", "/api/invitations/accept"): "person.joined",
    ("PUT", "/api/people/{id}"): "person.updated",
    ("DELETE", "/api/people/{id}"): "person.removed",
    ("PUT", "/api/recognitions/{id}/correction"): "correction.written",
    ("DELETE", "/api/recognitions/{id}/correction"): "correction.removed",
    ("POST", "/api/session"): "session.started",
    ("DELETE", "/api/session"): "session.ended",
    ("DELETE", "/api/sessions/{id}"): "session.ended",
    ("POST", "/api/webhooks"): "webhook.created",
    ("PUT", "/api/webhooks/{id}"): "webhook.updated",
    ("DELETE", "/api/webhooks/{id}"): "webhook.deleted",
    ("POST", "/api/webhooks/{id}/deliveries/{deliveryId}/redeliver"): "delivery.repeated",
    ("POST", "/api/webhooks/{id}/replay"): "events.replayed",
    ("POST", "/api/webhooks/{id}/rotate-secret"): "webhook.updated",
    ("POST", "/api/alertas/rotate-notification-secret"): "account.updated",
    ("POST", "/api/webhooks/{id}/test"): "webhook.tested",
}
UNNOTED = {
    ("POST", "/api/recognize"): "the ledger has a row of each",
    ("POST", "/api/demo"): "belongs to no account",
    ("POST", "/api/alertas/plates/import"): "reads the caller's file and stores nothing",
    ("POST", "/api/cameras/import"): "reads the caller's file and stores nothing",
    ("POST", "/api/session/oidc"): "starts a login; the account is still unknown",
    ("POST", "/api/session/oidc/return"): "a session that starts, in test_oidc_log_in.py",
    ("DELETE", "/api/people/{id}/identity"): "who was bound is, in test_oidc_people.py",
    ("POST", "/api/invitations/find"): "shows the invited what the mail with the link said",
    ("GET", "/api/erasures"): "shows two characters of each plate",
    ("GET", "/api/erasures/{id}"): "shows two characters of the plate, for who knows the id",
    ("GET", "/api/recognitions/{id}/crop"): "the plate, as in the list that linked it",
}
NOTED = {key: access.audit for key, access in ACCESS.items() if access.audit is not None}


class OnePass(StandInStore):
    """Has one recognition, for any caller."""

    async def find(self, owner_id: UUID, recognition_id: UUID) -> RecognitionRow | None:
        return replace(recognition_row(PASS), user_id=owner_id)


@pytest.fixture
def stored() -> StandInStore:
    return OnePass()


@pytest.fixture
async def application(database: Database, stored: StandInStore) -> AsyncIterator[Application]:
    options = Options(store=stored)
    async with running_application(database, options) as app, taking_cameras(app):
        yield app


async def rows(application: Application, owner: Caller) -> list[dict[str, Any]]:
    """Return the account's entries, oldest first, after writing the buffered entries."""
    await application.services.audit_buffer.sweep()
    wanted = text("SELECT * FROM audit_entries WHERE owner_id = :owner ORDER BY at")

    def work(session: Session) -> list[dict[str, Any]]:
        return [dict(row) for row in session.execute(wanted, {"owner": owner.owner_id}).mappings()]

    return await application.database.run(work)


async def read(client: httpx.AsyncClient, **query: Any) -> Any:
    answer = await client.get("/api/audit", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_route_that_changes_data_or_shows_plates_is_listed() -> None:
    unsafe = {key for key in ACCESS if key[0] != "GET"}
    assert set(CHANGES) | {key for key in UNNOTED if key[0] != "GET"} == unsafe - set(NOTED)
    tells = {Scope.RECOGNITIONS_READ, Scope.ANALYTICS_READ, Scope.AUDIT_READ}
    reading = {key for key, one in ACCESS.items() if key[0] == "GET" and one.scope in tells}
    # The route of deliveries returns receivers but no plate.
    assert reading - set(NOTED) - set(UNNOTED) == {("GET", "/api/recognitions/{id}/deliveries")}


PARENTS = {
    "alertas": (
        "alert",
        {"name": "A", "notifications": [{"type": "webhook", "url": "https://1.1.1.1/"}]},
    ),
    "api-keys": ("apiKey", {"name": "K", "scopes": ["credits:read"]}),
    "cameras": ("camera", {"name": "C", "rtspUrl": "rtsp://10.0.0.8/2"}),
    "webhooks": ("webhook", {"name": "W", "url": "https://1.1.1.1/", "events": ["camera.online"]}),
    "invitations": ("invitation", {"email": "invited@platestream.example", "role": "viewer"}),
}
"""The resource of a path with an ID: its name in responses, and the body that creates it."""

SECRETS = ("stream-password", "url-secret", "signing-secret", "header-secret", PASSWORD)
CAMERA = {"name": "C", "rtspUrl": "rtsp://u@10.0.0.8/1", "password": "stream-password"}
BODIES: Mapping[str, Any] = {
    "/api/account": {"timezone": "Europe/Lisbon"},
    "/api/alertas": {"name": "A", "plates": ["AB12CD"]},
    "/api/api-keys": {"name": "K", "scopes": ["credits:read"]},
    "/api/cameras": CAMERA,
    "/api/erasures": {"plate": "AB12CD"},
    "/api/invitations": {"email": "another@platestream.example", "role": "viewer"},
    "/api/people/{id}": {"role": "operator"},
    "/api/recognitions/{id}/correction": {"plate": "AB12CD"},
    "/api/webhooks": {
        "name": "W",
        "url": "https://1.1.1.1/url-secret",
        "events": ["camera.online"],
        "secret": "signing-secret",
        "headers": {"Authorization": "header-secret"},
    },
    "/api/webhooks/{id}/replay": {"from": "2026-09-01T00:00:00Z", "to": "2026-09-02T00:00:00Z"},
}


async def _made(
    application: Application, browser: httpx.AsyncClient, stored: StandInStore, path: str
) -> str:
    """Create the resource of a path unless it exists, and return the path with the real ID."""
    kind = path.split("/")[2]
    if "{id}" in path and kind in PARENTS:
        wrapper, body = PARENTS[kind]
        listed = (await browser.get(f"/api/{kind}")).json()
        (found,) = (some for some in listed.values() if isinstance(some, list))
        if not found:
            found = [(await browser.post(f"/api/{kind}", json=body)).json()[wrapper]]
        path = path.replace("{id}", found[0]["id"])
    elif path.endswith("rotate-notification-secret"):
        await browser.post("/api/alertas", json=PARENTS["alertas"][1])
    elif kind == "people":
        await new_person(application, browser, Role.VIEWER)
        (newest, *_) = (await browser.get("/api/people")).json()["people"]
        path = path.replace("{id}", newest["id"])
    elif kind == "recognitions":
        path = path.replace("{id}", str(PASS.id))
        await browser.put(path, json={"plate": "AB12CE"})
    elif kind == "sessions":
        (*_, oldest) = (await browser.get("/api/sessions")).json()["sessions"]
        path = path.replace("{id}", oldest["id"])
    dead = recognition_delivery(recognition(1), UUID(int=1), created_ms=5)
    stored.contents[dead.id] = encode(dead)
    return path.replace("{deliveryId}", str(dead.id))


async def test_each_change_leaves_one_entry_and_no_secret(
    application: Application, owner: Caller, stored: StandInStore
) -> None:
    async with logged_in(application, owner.email), logged_in(application, owner.email) as browser:
        for (method, path), action in CHANGES.items():
            if path == "/api/session":
                continue
            body = BODIES.get(path, {"name": "N"} if method == "PUT" else {})
            if path == "/api/invitations/accept":
                made = await invite(browser, new_address(), Role.VIEWER)
                body = {"token": made["token"], "name": "Ana", "password": PASSWORD}
            url = await _made(application, browser, stored, path)
            before = len(await rows(application, owner))
            answer = await browser.request(method, url, json=None if method == "DELETE" else body)
            assert answer.status_code < 300, (path, answer.text)
            told = (await rows(application, owner))[before:]
            assert [entry["action"] for entry in told] == [action], path
            (entry,) = told
            assert entry["actor_kind"] == "person"
            assert entry["request_id"] == answer.headers["X-Request-Id"]
            assert entry["address"] == "127.0.0.1"
            joined = path == "/api/invitations/accept"
            assert (entry["actor_name"] == owner.email) != joined
        await browser.delete("/api/session")
    told = await rows(application, owner)
    assert [told[-1]["action"], told[-1]["actor_name"]] == ["session.ended", owner.email]
    started = [one for one in told if one["action"] == "session.started"]
    assert {one["actor_name"] for one in started} == {owner.email}
    everything = json.dumps(told, default=str)
    assert [secret for secret in (*SECRETS, owner.key) if secret in everything] == []


async def test_changes_are_recorded_with_the_names_of_the_api(client: httpx.AsyncClient) -> None:
    plates = {"name": "Gate", "plates": ["AB12CD", "XY99Z"]}
    alert = (await client.post("/api/alertas", json=plates)).json()["alert"]
    change = {"plates": ["XY99Z", "CD34EF"], "minConfidence": 0.9, "notifications": []}
    await client.put(f"/api/alertas/{alert['id']}", json=change)
    # Sending the same values again changes nothing.
    await client.put(f"/api/alertas/{alert['id']}", json=change)
    webhook = {"name": "W", "url": "https://1.1.1.1/", "events": ["camera.online"]}
    made = (await client.post("/api/webhooks", json=webhook)).json()["webhook"]
    await client.put(f"/api/webhooks/{made['id']}", json={**webhook, "name": "V"})
    await client.put(f"/api/webhooks/{made['id']}", json={"secret": "another"})

    page = await read(client, actor="test")
    secret, renamed, _, updated, created = page["entries"][:5]
    assert updated["changes"] == [
        {"field": "minConfidence", "before": 0.5, "after": 0.9},
        {"field": "plates", "added": 1, "removed": 1},
    ]
    assert updated["subject"] == {"kind": "alert", "id": alert["id"]}
    assert (updated["actor"]["kind"], updated["actor"]["name"]) == ("key", "test")
    assert updated["actor"]["prefix"].startswith("pk_")
    assert {"field": "plates", "added": 2} in created["changes"]
    assert renamed["changes"] == [{"field": "name", "before": "W", "after": "V"}]
    assert secret["changes"] == [{"field": "secret"}]


async def test_what_is_refused_or_undone_leaves_none(
    application: Application, owner: Caller
) -> None:
    async with application.client(owner) as client:
        await client.post("/api/alertas", json={"name": ""})
        await client.put(f"/api/alertas/{uuid.uuid4()}", json={"name": "N"})
        await client.delete(f"/api/webhooks/{uuid.uuid4()}")
    before = await rows(application, owner)

    def work(session: Session) -> None:
        session.execute(text("UPDATE owners SET timezone = 'Europe/Lisbon'"))
        raise RuntimeError("undone")

    with pytest.raises(RuntimeError, match="undone"):
        await application.database.run(work)
    assert await rows(application, owner) == before
    assert {one["action"] for one in before} == {"account.created", "person.joined", "key.created"}


async def test_searches_are_recorded_with_their_filters_and_repeats_once(
    application: Application, owner: Caller
) -> None:
    async with application.client(owner) as client:
        for query in ({"plate": "ab 12", "limit": "5"}, {"plate": "ab 12"}, {"plate": "ab\x0012"}):
            assert (await client.get("/api/recognitions", params=query)).status_code == 200
        await client.get("/api/recognitions", params={"limit": "0"})
        await client.get("/api/recognitions/export")
        await client.get(f"/api/recognitions/{PASS.id}")
        await rows(application, owner)
        page = await read(client, **{"from": "2026-01-01T00:00:00Z"})
    noted = page["entries"][:3]
    assert [one["action"] for one in noted] == [
        "recognition.viewed",
        "recognitions.exported",
        "recognitions.searched",
    ]
    assert noted[0]["subject"] == {"kind": "recognition", "id": str(PASS.id)}
    # Different spellings of a plate are the same search.
    assert noted[2]["parameters"]["plate"] == "A**2"
    assert "recognitions.searched" not in {one["action"] for one in page["entries"][3:]}


async def test_a_wrong_password_is_in_the_audit_log_of_its_account(
    application: Application, owner: Caller
) -> None:
    async with browser_of(application) as browser:
        for email in (owner.email, new_address()):
            body = {"email": email, "password": "guessed by another"}
            assert (await browser.post("/api/session", json=body)).status_code == 401
    entry = (await rows(application, owner))[-1]
    assert (entry["action"], entry["actor_kind"]) == ("password.refused", "nobody")
    assert (entry["subject_name"], entry["address"]) == (owner.email, "127.0.0.1")


async def test_pages_filters_and_who_may_read(
    application: Application, owner: Caller, administrator: httpx.AsyncClient
) -> None:
    alert = (await administrator.post("/api/alertas", json={"name": "A"})).json()["alert"]
    for minutes in (1, 2, 3):
        await administrator.put(f"/api/alertas/{alert['id']}", json={"cooldownMinutes": minutes})
    found: list[dict[str, Any]] = []
    key: str | None = None
    while key is not None or not found:
        page = await read(
            administrator, action="alert", limit=2, **({"lastKey": key} if key else {})
        )
        found += page["entries"]
        key = page["nextKey"]
    assert [one["changes"][0]["after"] for one in found[:-1]] == [3, 2, 1]
    assert found[-1]["action"] == "alert.created"
    for query, count in (
        ({"subject": alert["id"]}, 4),
        ({"action": "alert.updated", "actor": owner.email.upper()}, 3),
        ({"actor": found[0]["actor"]["id"], "action": "alert"}, 4),
        ({"to": found[-1]["timestamp"], "action": "alert"}, 0),
        ({"actor": "another person"}, 0),
    ):
        assert len((await read(administrator, **query))["entries"]) == count, query
    for wrong in ({"lastKey": "x"}, {"action": "A%"}, {"subject": "1"}, {"plates": "A"}):
        assert (await administrator.get("/api/audit", params=wrong)).status_code == 400
    email = await new_person(application, administrator, Role.OPERATOR)
    async with logged_in(application, email) as operator:
        assert (await operator.get("/api/audit")).status_code == 403
    stranger = await application.new_owner(scopes=frozenset({Scope.AUDIT_READ}))
    async with application.client(stranger) as client:
        foreign = (await read(client))["entries"]
    assert {one["action"] for one in foreign} == {"account.created", "person.joined", "key.created"}
    assert not {one["id"] for one in foreign} & {one["id"] for one in found}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entries SET actor_name = 'another person'",
        "UPDATE audit_entries SET changes = '{}'",
        "DELETE FROM audit_entries",
        "TRUNCATE audit_entries",
        # Each permission covers only its own operation.
        "SET LOCAL platestream.audit_way = 'retention'; DELETE FROM audit_entries",
        "SET LOCAL platestream.audit_way = 'erasure'; UPDATE audit_entries SET changes = '{}'",
        "SET LOCAL platestream.audit_way = 'account'; TRUNCATE audit_entries",
    ],
)
async def test_the_database_rejects_changes(
    application: Application, owner: Caller, statement: str
) -> None:
    before = await rows(application, owner)
    with pytest.raises(ProgrammingError, match="the audit log cannot be changed"):
        await application.database.run(
            lambda session: [session.execute(text(part)) for part in statement.split(";")]
        )
    assert await rows(application, owner) == before


async def test_no_plate_is_in_the_log_and_a_known_one_is_found(
    application: Application, owner: Caller
) -> None:
    spellings = ("AB12CD", "ab 12-cd", "ab12cd")
    named = {
        "name": "Plate AB-12 CD",
        "description": "Ana's AB12CD",
        "plates": ["ab 12 cd", "XY99Z"],
    }
    async with application.client(owner) as client:
        made = (await client.post("/api/alertas", json=named)).json()["alert"]
        change = {"plates": ["ab 12 cd", "CD34EF"], "plateNames": {"CD34EF": "Bob"}}
        await client.put(f"/api/alertas/{made['id']}", json=change)
        await client.delete(f"/api/alertas/{made['id']}")
        for path in ("/api/recognitions", "/api/recognitions/export", "/api/corrections"):
            assert (await client.get(path, params={"plate": "ab12-cd"})).status_code == 200
        correction = f"/api/recognitions/{PASS.id}/correction"
        assert (await client.put(correction, json={"plate": "AB12CD"})).status_code == 200
        await client.delete(correction)
        everything = json.dumps(await rows(application, owner), default=str)
        found = await read(client, plate="ab-12.CD")
        removed = await read(client, plate="XY99Z")
        assert (await read(client, plate="AB12CE"))["entries"] == []
    assert [
        text for text in (*spellings, PASS.plate, "CD34EF", "XY99Z") if text in everything
    ] == []
    assert {one["action"] for one in found["entries"]} == {
        "alert.created",
        "alert.deleted",
        "recognitions.searched",
        "recognitions.exported",
        "corrections.searched",
        "correction.written",
        "correction.removed",
    }
    by_action = {one["action"]: one for one in found["entries"]}
    assert by_action["recognitions.searched"]["parameters"]["plate"] == "A****D"
    updated, created = removed["entries"]
    assert (updated["action"], created["action"]) == ("alert.updated", "alert.created")
    assert updated["changes"] == [
        {"field": "plateNames"},
        {"field": "plates", "added": 1, "removed": 1},
    ]
    assert updated["subject"] == {"kind": "alert", "id": made["id"]}
    corrected = {one["field"]: one["after"] for one in by_action["correction.written"]["changes"]}
    assert corrected == {"plate": "A****D", "reading": mask_plate(PASS.plate)}


@pytest.mark.parametrize(
    ("plate", "name"),
    [
        ("UGL2559", "Watch \u00dcGL 2559"),
        ("AB1234", "\u0410\u0412 1234"),
        ("AB*34", "Car AB1234"),
        ("A1", "Car A1"),
        ("GODFATHR", "Godfathr"),
    ],
)
async def test_the_log_has_no_name_or_description_of_an_alert(
    application: Application, owner: Caller, plate: str, name: str
) -> None:
    texts = {field for field, kind in ALERT_FIELDS.items() if kind is str} - {"timezone"}
    named = {to_camel(field): f"{name}!" for field in texts} | {"plates": [plate]}
    async with application.client(owner) as client:
        made = (await client.post("/api/alertas", json=named)).json()["alert"]
        path = f"/api/alertas/{made['id']}"
        mail = {
            "name": f"{name}?",
            "notifications": [{"type": "email", "addresses": ["a@b.example"]}],
        }
        changed = await client.put(path, json=mail)
        tested = await client.post(f"{path}/notifications/test", json={})
        await client.delete(path)
        found = await read(client, action="alert")
    assert (changed.status_code, tested.status_code) == (200, 202), changed.text
    stored = json.dumps(await rows(application, owner), default=str, ensure_ascii=False)
    assert name not in stored
    assert len(found["entries"]) == 4
    assert texts <= {each["field"] for each in found["entries"][-1]["changes"]}


async def test_a_plate_that_no_entry_can_have_is_refused_with_its_position(
    application: Application, owner: Caller
) -> None:
    async with application.client(owner) as client:
        refused = await client.get("/api/audit", params={"plate": "AB\u04161"})

    assert refused.status_code == 400
    (fault,) = refused.json()["fields"]
    assert fault["path"] == "plate"
    assert "at position 3" in fault["message"]


async def test_equal_plates_of_two_accounts_have_different_hashes(application: Application) -> None:
    told = []
    for _ in range(2):
        owner = await application.new_owner()
        async with application.client(owner) as client:
            await client.get("/api/recognitions", params={"plate": "AB12CD"})
        told.append((await rows(application, owner))[-1]["parameters"])
    assert told[0]["plate"] == told[1]["plate"] == "A****D"
    assert told[0]["plateHashes"] != told[1]["plateHashes"]


async def test_old_entries_go(application: Application, owner: Caller) -> None:
    ages = (400, 366, 364)
    now = datetime.now(UTC)
    acts = [
        AuditAction(
            owner.owner_id, Action.AUDIT_READ, Actor(ActorKind.NOBODY), at=now - timedelta(days=age)
        )
        for age in ages
    ]
    await application.database.run(lambda session: write_actions(session, acts))
    before = now - timedelta(days=365)
    dropped = [
        await application.database.run(lambda session: delete_expired_entries(session, before))
        for _ in range(2)
    ]
    left = {one["id"] for one in await rows(application, owner)}

    assert dropped == [2, 0]
    assert {act.id for act in acts} & left == {acts[2].id}


async def test_entries_over_capacity_are_counted_and_reported(
    application: Application, owner: Caller
) -> None:
    notes = AuditBuffer(application.database, PlateHashes("key"), capacity=2)
    for number in range(5):
        subject = ActionSubject("recognition", UUID(int=number))
        notes.add(
            AuditAction(owner.owner_id, Action.RECOGNITION_VIEWED, Actor(ActorKind.NOBODY), subject)
        )
    # Nothing is stored for a deleted account.
    assert await notes.sweep() == 0
    (metric,) = notes.collect()
    *_, first, second, told = await rows(application, owner)

    assert metric.samples[0].value == 3
    assert [first["subject_id"], second["subject_id"]] == [UUID(int=0), UUID(int=1)]
    assert (told["action"], told["parameters"]) == ("audit.incomplete", {"count": 3})
    notes.add(AuditAction(uuid.uuid4(), Action.AUDIT_READ, Actor(ActorKind.NOBODY)))
    await notes.close()
    counted = text("SELECT count(*) FROM audit_entries WHERE action = 'audit.read'")
    assert await application.database.run(lambda session: session.scalar(counted)) == 0
