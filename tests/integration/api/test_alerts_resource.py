"""Alerts through the API, with a real database."""

import json
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.cameras import repository as cameras_repository
from common.records.alerts import (
    AlertConfig,
    AppriseNotification,
    Notification,
    WebhookNotification,
)
from common.records.codec import decode
from common.records.ids import NIL_UUID
from common.records.topics import CONFIG_ALERTS
from tests.integration.api.application import PER_OWNER, Application, Caller
from tests.integration.api.cameras import values as camera_values
from tests.integration.api.outbox import outbox_of

pytestmark = pytest.mark.integration

PATH = "/api/alertas"
BODY = {"name": "Stolen cars"}
SCHEDULE = {"startTime": "22:00", "endTime": "06:00", "daysOfWeek": ["fri", "sat"]}
NOTIFICATIONS: list[dict[str, Any]] = [
    {"type": "email", "addresses": ["guard@example.com", "o'brien+gate@mail.example.co.uk"]},
    {"type": "webhook", "url": "https://receiver.example.com/hook?token=t0ken"},
]


@pytest.fixture
async def alerts(application: Application, owner: Caller) -> httpx.AsyncClient:
    return application.client(owner)


async def test_every_field_is_stored_and_listed_newest_first(
    application: Application, alerts: httpx.AsyncClient, owner: Caller
) -> None:
    camera_id = await _new_camera(application, owner)
    body = {
        "name": "Night",
        "description": "who comes at night",
        "enabled": False,
        "plateMatchMode": "allowlist",
        "plates": ["ab-12 cde", "XY*", "?Z99"],
        "plateNames": {"XY*": "Ärzte ☂ <b>", "?Z99": "Family"},
        "cameraScope": "specific",
        "cameraIds": [str(camera_id), str(NIL_UUID)],
        "scheduleEnabled": True,
        "schedule": SCHEDULE,
        "timezone": "America/Sao_Paulo",
        "minConfidence": 1,
        "cooldownMinutes": 0.5,
        "cooldownScope": "plate_camera",
        "matchTolerance": 2,
        "early": True,
        "notifications": NOTIFICATIONS,
    }
    first = (await alerts.post(PATH, json=BODY)).json()["alert"]
    second = (await alerts.post(PATH, json=body)).json()["alert"]

    assert {name: second[name] for name in body} == body
    listed = await alerts.get(PATH)
    assert listed.json()["alerts"] == [second, first]
    assert listed.json()["notificationSecret"].startswith("whsec_")
    assert listed.headers["cache-control"] == "private, no-store"


async def test_without_alerts_there_is_no_secret(alerts: httpx.AsyncClient) -> None:
    listing = (await alerts.get(PATH)).json()
    assert listing.pop("countedAt") is not None
    assert listing == {"alerts": [], "notificationSecret": None, "sendsEmail": False}


async def test_an_update_changes_what_is_sent_and_nothing_else(alerts: httpx.AsyncClient) -> None:
    current = (await alerts.post(PATH, json=BODY)).json()["alert"]
    path = f"{PATH}/{current['id']}"
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"name": "Other"},
        {"description": "x"},
        {"enabled": False},
        {"plateMatchMode": "any"},
        {"plates": ["AB12"]},
        {"plates": []},
        {"cameraScope": "specific"},
        {"scheduleEnabled": True},
        {"schedule": SCHEDULE},
        {"timezone": "Asia/Kathmandu"},
        {"minConfidence": 0},
        {"cooldownMinutes": 0},
        {"cooldownScope": "plate"},
        {"matchTolerance": 1},
        {"early": True},
        {"notifications": NOTIFICATIONS},
    )
    for change in changes:
        answer = await alerts.put(path, json=change)
        assert answer.status_code == 200
        current = current | change
        assert answer.json() == {"alert": current}
    assert (await alerts.get(PATH)).json()["alerts"] == [current]


async def test_names_of_plates_follow_the_list(alerts: httpx.AsyncClient) -> None:
    names = {"AB12": "Courier", "cd-34": " Family "}
    body = {"plates": ["ab 12", "CD34"], "plateNames": names}
    made = (await alerts.post(PATH, json=BODY | body)).json()["alert"]
    assert made["plateNames"] == {"ab 12": "Courier", "CD34": "Family"}
    path = f"{PATH}/{made['id']}"

    for change, left in (
        ({"name": "Other"}, {"ab 12": "Courier", "CD34": "Family"}),
        ({"plates": ["AB-12", "EF56"]}, {"AB-12": "Courier"}),
        ({"plateNames": {"EF56": "Guest"}}, {"EF56": "Guest"}),
        ({"plates": []}, {}),
    ):
        answer = await alerts.put(path, json=change)
        assert (answer.status_code, answer.json()["alert"]["plateNames"]) == (200, left)


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        ({"XY1": "Courier"}, {"path": "plateNames.XY1", "message": "must be one of the plates"}),
        ({"AB12": ""}, None),
        ({"AB12": " "}, None),
        ({"AB12": 7}, None),
        ({"AB12": "x" * 101}, None),
        ({"AB12": "a\u0000b"}, None),
        (["AB12"], None),
        (None, None),
    ],
)
async def test_a_bad_name_of_a_plate_is_refused_and_changes_nothing(
    alerts: httpx.AsyncClient, names: Any, fault: dict[str, str] | None
) -> None:
    body = BODY | {"plates": ["AB12"], "plateNames": {"AB12": "Courier"}}
    made = (await alerts.post(PATH, json=body)).json()["alert"]

    for answer in (
        await alerts.post(PATH, json=body | {"plateNames": names}),
        await alerts.put(f"{PATH}/{made['id']}", json={"plateNames": names}),
    ):
        assert answer.status_code == 400
        found = answer.json()["fields"]
        assert all(one["path"].startswith("plateNames") for one in found)
        assert fault is None or found == [fault]
    assert (await alerts.get(PATH)).json()["alerts"] == [made]


async def test_parts_of_a_schedule_can_be_changed_alone(alerts: httpx.AsyncClient) -> None:
    created = (await alerts.post(PATH, json=BODY | {"schedule": {"startTime": "07:30"}})).json()
    alert = created["alert"]
    assert alert["schedule"] == {"startTime": "07:30", "endTime": "23:59", "daysOfWeek": []}
    changed = await alerts.put(
        f"{PATH}/{alert['id']}", json={"schedule": {"daysOfWeek": ["mon", "tue", "mon"]}}
    )

    assert changed.json()["alert"]["schedule"] == {
        "startTime": "07:30",
        "endTime": "23:59",
        "daysOfWeek": ["mon", "tue"],
    }


async def test_the_owners_time_zone_is_the_default(
    application: Application, alerts: httpx.AsyncClient
) -> None:
    await application.database.run(
        lambda session: session.execute(text("UPDATE owners SET timezone = 'Europe/Lisbon'"))
    )
    alert = (await alerts.post(PATH, json=BODY)).json()["alert"]
    path = f"{PATH}/{alert['id']}"
    zones = [alert["timezone"]] + [
        (await alerts.put(path, json={"timezone": zone})).json()["alert"]["timezone"]
        for zone in ("Asia/Tokyo", None)
    ]

    assert zones == ["Europe/Lisbon", "Asia/Tokyo", "Europe/Lisbon"]
    configs = [
        decode(AlertConfig, value).timezone
        for _, value in await outbox_of(application.database, CONFIG_ALERTS)
        if value is not None
    ]
    assert configs == zones


async def test_every_change_leaves_for_the_topic(
    application: Application, alerts: httpx.AsyncClient
) -> None:
    body = BODY | {"notifications": NOTIFICATIONS, "plates": ["ab 12"], "schedule": SCHEDULE}
    alert = (await alerts.post(PATH, json=body)).json()["alert"]
    path = f"{PATH}/{alert['id']}"
    await alerts.put(path, json={"enabled": False})
    await alerts.put(path, json={"enabled": False, "schedule": {}})
    await alerts.delete(path)

    rows = await outbox_of(application.database, CONFIG_ALERTS)
    assert [key for key, _ in rows] == [alert["id"]] * 3
    created, changed, deleted = (value for _, value in rows)
    assert created is not None
    assert changed is not None
    assert deleted is None
    config = decode(AlertConfig, created)
    assert (config.revision, decode(AlertConfig, changed).revision) == (1, 2)
    assert config.plates == ("ab 12",)
    assert config.schedule.start_time == "22:00"
    sealed = application.box.decrypt(config.notifications_encrypted)
    notifications = msgspec.json.decode(sealed, type=tuple[Notification, ...])
    assert notifications[1] == WebhookNotification(url=str(NOTIFICATIONS[1]["url"]))
    secret = application.box.decrypt(config.notification_secret_encrypted)
    assert (await alerts.get(PATH)).json()["notificationSecret"] == secret
    assert b"t0ken" not in created


async def test_a_service_url_is_masked_and_unchanged_if_sent_back(
    application: Application, alerts: httpx.AsyncClient
) -> None:
    """Without an ID, a masked URL means the stored URL at the same position of the list."""
    sent = [
        {"type": "apprise", "url": "ntfys://push.example.com/s3cret"},
        {"type": "apprise", "url": "ntfys://push.example.com/t0psecret"},
    ]
    answer = await alerts.post(PATH, json=BODY | {"notifications": sent})
    assert answer.status_code == 201, answer.text
    alert = answer.json()["alert"]
    shown = alert["notifications"]
    assert [each.pop("url") for each in ([*map(dict, shown)])] == ["ntfys://***"] * 2
    path = f"{PATH}/{alert['id']}"

    for change in (
        [{"type": "apprise", "url": "ntfys://***"}] * 2,
        [shown[1]],
        [NOTIFICATIONS[0], shown[1]],
    ):
        changed = await alerts.put(path, json={"notifications": change})
        assert changed.status_code == 200, changed.text
    assert changed.json()["alert"]["notifications"] == [NOTIFICATIONS[0], shown[1]]
    rows = await outbox_of(application.database, CONFIG_ALERTS)
    kept = [
        [each.url for each in _opened(application, value) if isinstance(each, AppriseNotification)]
        for _, value in rows
    ]
    first, second = (each["url"] for each in sent)
    assert kept == [[first, second], [second], [second]]
    assert all(b"s3cret" not in (value or b"") for _, value in rows)

    made = await alerts.post(f"{path}/notifications/test", json={"notification": 1})
    assert made.status_code == 202
    unknown = await alerts.put(path, json={"notifications": [shown[0]]})
    assert unknown.status_code == 400
    assert unknown.json()["fields"][0]["path"] == "notifications.0.url"


def _opened(application: Application, value: bytes | None) -> tuple[Notification, ...]:
    assert value is not None
    config = decode(AlertConfig, value)
    sealed = application.box.decrypt(config.notifications_encrypted)
    return msgspec.json.decode(sealed, type=tuple[Notification, ...])


async def test_a_service_of_the_local_network_is_refused_by_a_setting_that_is_named(
    application: Application, alerts: httpx.AsyncClient
) -> None:
    application.resolver.names["inside.example.com"] = "192.168.0.8"
    for url in ("gotify://192.168.0.8/t0ken", "ntfys://inside.example.com/gate"):
        sent = {"notifications": [{"type": "apprise", "url": url}]}
        answer = await alerts.post(PATH, json=BODY | sent)
        assert answer.status_code == 400
        (fault,) = answer.json()["fields"]
        assert fault["path"] == "notifications.0.url"
        assert "PLATESTREAM_WEBHOOK_ALLOWED_NETWORKS" in fault["message"]
        assert "t0ken" not in answer.text


def _addresses(number: int) -> dict[str, Any]:
    return {"type": "email", "addresses": [f"guard{n}@example.com" for n in range(number)]}


JSON = {"Content-Type": "application/json"}
FAULTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": None}, "name"),
    ({"name": ""}, "name"),
    ({"name": "\t"}, "name"),
    ({"name": 7}, "name"),
    ({"description": None}, "description"),
    ({"description": "x" * 2001}, "description"),
    ({"enabled": "true"}, "enabled"),
    ({"plateMatchMode": "exact"}, "plateMatchMode"),
    ({"plateMatchMode": None}, "plateMatchMode"),
    ({"plates": "AB12"}, "plates"),
    ({"plates": [7]}, "plates.0"),
    ({"plates": ["AB12", ""]}, "plates.1"),
    ({"plates": ["- ."]}, "plates.0"),
    ({"plates": ["AB%12"]}, "plates.0"),
    ({"plates": ["AB12", "AB/123"]}, "plates.1"),
    ({"plates": ["\u042f1*"]}, "plates.0"),
    ({"plates": ["\u00df" * 8 + "1"]}, "plates.0"),
    ({"plates": ["A" * 17]}, "plates.0"),
    ({"plates": ["*A" * 17]}, "plates.0"),
    ({"cameraScope": "some"}, "cameraScope"),
    ({"cameraIds": ["7"]}, "cameraIds.0"),
    ({"cameraIds": [str(NIL_UUID), str(UUID(int=7))]}, "cameraIds.1"),
    ({"scheduleEnabled": 0}, "scheduleEnabled"),
    ({"schedule": None}, "schedule"),
    ({"schedule": []}, "schedule"),
    ({"schedule": {"startTime": "24:00"}}, "schedule.startTime"),
    ({"schedule": {"startTime": "7:00"}}, "schedule.startTime"),
    ({"schedule": {"startTime": "07:00:00"}}, "schedule.startTime"),
    ({"schedule": {"startTime": "07:00\n"}}, "schedule.startTime"),
    ({"schedule": {"endTime": "12:60"}}, "schedule.endTime"),
    ({"schedule": {"endTime": 700}}, "schedule.endTime"),
    ({"schedule": {"daysOfWeek": ["monday"]}}, "schedule.daysOfWeek.0"),
    ({"schedule": {"daysOfWeek": ["mon", "Tue"]}}, "schedule.daysOfWeek.1"),
    ({"schedule": {"days": []}}, "schedule.days"),
    ({"timezone": "Mars/Olympus"}, "timezone"),
    ({"timezone": "europe/lisbon"}, "timezone"),
    ({"timezone": "../../etc/passwd"}, "timezone"),
    ({"timezone": "+02:00"}, "timezone"),
    ({"minConfidence": -0.01}, "minConfidence"),
    ({"minConfidence": 1.01}, "minConfidence"),
    ({"minConfidence": "0.5"}, "minConfidence"),
    ({"minConfidence": True}, "minConfidence"),
    ({"minConfidence": float("nan")}, "minConfidence"),
    ({"cooldownMinutes": -1}, "cooldownMinutes"),
    ({"cooldownMinutes": float("inf")}, "cooldownMinutes"),
    ({"cooldownMinutes": None}, "cooldownMinutes"),
    ({"cooldownScope": "camera"}, "cooldownScope"),
    ({"matchTolerance": 3}, "matchTolerance"),
    ({"matchTolerance": 0.5}, "matchTolerance"),
    ({"notifications": {}}, "notifications"),
    ({"notifications": ["email"]}, "notifications.0"),
    ({"notifications": [{"type": "sms"}]}, "notifications.0"),
    ({"notifications": [{"type": []}]}, "notifications.0"),
    ({"notifications": [{"type": "email"}]}, "notifications.0.addresses"),
    ({"notifications": [{"type": "email", "addresses": []}]}, "notifications.0.addresses"),
    (
        {"notifications": [{"type": "email", "addresses": ["a@b.c", "a@b"]}]},
        "notifications.0.addresses.1",
    ),
    ({"notifications": [{"type": "webhook"}]}, "notifications.0.url"),
    (
        {"notifications": [NOTIFICATIONS[0], {"type": "webhook", "url": "http://[::1]/"}]},
        "notifications.1.url",
    ),
    (
        {"notifications": [{"type": "webhook", "url": "https://inside.example.com/"}]},
        "notifications.0.url",
    ),
    ({"notifications": [NOTIFICATIONS[0] | {"url": "x"}]}, "notifications.0.url"),
    *(
        ({"notifications": [{"type": "apprise", "url": url}]}, "notifications.0.url")
        for url in (
            "",
            "dbus://",
            "ntfy://push.example.com/a/b",
            "ntfys://***",
            "gotify://[::1",
            "ntfy://push.example.com/a?template=/etc/passwd",
        )
    ),
    ({"notifications": [NOTIFICATIONS[0]] * 21}, "notifications"),
    ({"notifications": [_addresses(50), _addresses(50), _addresses(1)]}, "notifications"),
    ({"colour": "red"}, "colour"),
)


async def test_a_fault_is_named(application: Application, alerts: httpx.AsyncClient) -> None:
    application.resolver.names["inside.example.com"] = "192.168.0.8"
    created = (await alerts.post(PATH, json=BODY)).json()["alert"]
    for change, path in FAULTS:
        for method, where, body in (
            ("POST", PATH, {**BODY, **change}),
            ("PUT", f"{PATH}/{created['id']}", change),
        ):
            answer = await alerts.request(method, where, content=json.dumps(body), headers=JSON)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), change
            assert [fault["path"] for fault in answer.json()["fields"]] == [path], change
    assert (await alerts.get(PATH)).json()["alerts"] == [created]


async def test_all_faults_are_reported_at_once(alerts: httpx.AsyncClient) -> None:
    plates = [plate for number in range(500) for plate in (f"AB{number}", "!?")]
    body = {
        "plates": plates,
        "minConfidence": 2,
        "schedule": {"startTime": "25:00", "daysOfWeek": ["x"]},
        "notifications": [{"type": "email", "addresses": ["x"]}, {"type": "webhook", "url": "x"}],
        "colour": "red",
    }
    answer = await alerts.post(PATH, json=body)

    assert answer.status_code == 400
    paths = [fault["path"] for fault in answer.json()["fields"]]
    assert set(paths) == {f"plates.{number}" for number in range(1, 1000, 2)} | {
        "name",
        "minConfidence",
        "schedule.startTime",
        "schedule.daysOfWeek.0",
        "notifications.0.addresses.0",
        "notifications.1.url",
        "colour",
    }
    assert len(paths) == 507


async def test_the_limits_hold(alerts: httpx.AsyncClient) -> None:
    just_enough = await alerts.post(PATH, json=BODY | {"plates": [f"AB{n}" for n in range(1000)]})
    too_many = await alerts.post(PATH, json=BODY | {"plates": [f"AB{n}" for n in range(1001)]})
    assert (just_enough.status_code, too_many.status_code) == (201, 409)
    assert too_many.json()["code"] == "limit_reached"
    answers = [await alerts.post(PATH, json=BODY) for _ in range(PER_OWNER)]

    assert [answer.status_code for answer in answers] == [201] * (PER_OWNER - 1) + [409]
    assert answers[-1].json()["code"] == "limit_reached"


async def test_a_camera_of_the_alert_that_was_deleted_is_no_fault(
    application: Application, alerts: httpx.AsyncClient, owner: Caller
) -> None:
    camera_id = await _new_camera(application, owner)
    body = BODY | {"cameraScope": "specific", "cameraIds": [str(camera_id)]}
    alert = (await alerts.post(PATH, json=body)).json()["alert"]
    assert (await alerts.delete(f"/api/cameras/{camera_id}")).status_code == 200

    same = await alerts.put(f"{PATH}/{alert['id']}", json=body | {"name": "Other"})
    assert same.json()["alert"]["cameraIds"] == [str(camera_id)]
    assert (await alerts.post(PATH, json=body)).status_code == 400


async def test_a_camera_of_another_owner_is_a_fault(
    application: Application, owner: Caller
) -> None:
    camera_id = await _new_camera(application, owner)
    async with application.client(await application.new_owner()) as other:
        answer = await other.post(PATH, json=BODY | {"cameraIds": [str(camera_id)]})
    assert [fault["path"] for fault in answer.json()["fields"]] == ["cameraIds.0"]


async def _new_camera(application: Application, owner: Caller) -> UUID:
    def work(session: Session) -> UUID:
        row = cameras_repository.insert_camera(session, owner.owner_id, camera_values())
        assert cameras_repository.confirm_camera(session, row.id)
        return row.id

    return await application.database.run(work)


async def test_lists_that_are_slow_to_compare_have_a_limit_for_the_account(
    application: Application, alerts: httpx.AsyncClient, owner: Caller
) -> None:
    slow = [f"*?*?*?*?*?{number:03}*" for number in range(300)]
    crafted = BODY | {"plates": slow, "matchTolerance": 2}
    ordinary = BODY | {"plates": [f"AB{n:03}CD" for n in range(1000)], "matchTolerance": 2}
    refused = await alerts.post(PATH, json=crafted)
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    assert "units of rule cost" in refused.json()["error"]
    assert (await alerts.post(PATH, json=ordinary)).status_code == 201

    # A disabled alert costs nothing; enabling an alert, or making one more expensive, is checked.
    made = await alerts.post(PATH, json=crafted | {"enabled": False})
    path = f"{PATH}/{made.json()['alert']['id']}"
    assert (await alerts.put(path, json={"enabled": True})).status_code == 409
    assert (await alerts.put(path, json={"name": "Another"})).status_code == 200
    few = {"plates": slow[:3], "enabled": True}
    assert (await alerts.put(path, json=few)).status_code == 200
    assert (await alerts.put(path, json={"plates": slow})).status_code == 409
    listed = (await alerts.get(PATH)).json()["alerts"]
    assert [len(each["plates"]) for each in listed] == [3, 1000]


async def test_plates_in_any_spelling_are_taken_and_others_named(alerts: httpx.AsyncClient) -> None:
    plates = ["B \u00c4B 123", "V\u0410677VR", "\u00fcgl*"]
    made = await alerts.post(PATH, json=BODY | {"plates": plates})
    refused = await alerts.post(PATH, json=BODY | {"plates": ["AB1", "A \u0416 1"]})

    assert (made.status_code, made.json()["alert"]["plates"]) == (201, plates)
    assert refused.status_code == 400
    (fault,) = refused.json()["fields"]
    assert fault["path"] == "plates.1"
    assert fault["message"].startswith('must not contain "\u0416" (U+0416) at position 3;')
