"""An account with data of one month: cameras, passes, alerts, webhooks and deliveries."""

import uuid
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
from msgspec.structs import replace

from analytics_sql.traffic.camera_counts import CameraMinute
from analytics_sql.triggers import TriggerRow
from common.records.alerts import TriggerPhase
from common.records.cameras import CameraState
from common.records.counts import FrameCounts
from common.records.recognitions import Recognition
from common.timestamps import now_ms
from tests.e2e.console.footage import SEEN, pictures
from tests.e2e.console.stack import OPERATOR, Account, ConsoleStack, passed

_HOUR_MS = 3_600_000
_CAMERAS = (
    ("Gate north", "Yard", CameraState.ONLINE, None),
    ("Gate south", "Yard, loading bay", CameraState.ONLINE, None),
    ("Car park, level -1", "Main building", CameraState.ONLINE, None),
    (
        "Access road",
        "Fence east",
        CameraState.OFFLINE,
        "192.168.1.24 did not answer within ten seconds.",
    ),
)
# Passes per hour of the day: quiet nights, two rush hours.
_BY_HOUR = (0, 0, 0, 0, 0, 1, 2, 5, 8, 6, 4, 3, 4, 4, 3, 4, 6, 8, 5, 3, 2, 1, 1, 0)


@dataclass(frozen=True)
class Camera:
    """A camera of the account."""

    id: UUID
    name: str


@dataclass(frozen=True)
class Scene:
    """Data of the account. ``newest`` is a recognition with images that triggered ``alert_id``."""

    account: Account
    cameras: tuple[Camera, ...]
    newest: Recognition
    alert_id: str
    webhook_id: str


def furnish(stack: ConsoleStack) -> Scene:
    account = stack.new_account(email=OPERATOR)
    headers = {"Authorization": f"Bearer {account.key}"}
    with httpx.Client(base_url=stack.address, headers=headers, timeout=30) as api:
        cameras = tuple(_camera(stack, api, account, number) for number in range(len(_CAMERAS)))
        alert = _made(
            api,
            "/api/alertas",
            "alert",
            {
                "name": "Stolen at night",
                "plates": [SEEN[0].plate, "XY*", "AB12CDE"],
                "scheduleEnabled": True,
                "schedule": {
                    "startTime": "22:00",
                    "endTime": "06:00",
                    "daysOfWeek": ["fri", "sat"],
                },
                "cooldownMinutes": 10,
            },
        )
        webhook = _made(
            api,
            "/api/webhooks",
            "webhook",
            {
                "name": "Gate controller",
                "url": "http://127.0.0.1:9/plates",
                "events": ["recognition.created", "alert.triggered"],
            },
        )
    now = now_ms()
    stack.publish(*_month(account, cameras, now), is_live=False)
    recent = _recent(stack, account, cameras, now)
    stack.fire(_trigger(recent[0], alert["id"]))
    stack.count(*_counted(account, cameras[0], now))
    return Scene(account, cameras, recent[0], alert["id"], webhook["id"])


def _made(api: httpx.Client, path: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(path, json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()[name]
    return made


def _camera(stack: ConsoleStack, api: httpx.Client, account: Account, number: int) -> Camera:
    name, location, state, error = _CAMERAS[number]
    body: dict[str, Any] = {
        "name": name,
        "location": location,
        "rtspUrl": f"rtsp://viewer:secret@192.168.1.2{number}/1",
    }
    if number == 0:
        points = [(0.02, 0.45), (0.98, 0.45), (0.98, 0.98), (0.02, 0.98)]
        zone = {"kind": "include", "points": [{"x": x, "y": y} for x, y in points]}
        body |= {"zones": [zone], "minPlateWidth": 60}
    made = _made(api, "/api/cameras", "camera", body)
    camera = Camera(UUID(made["id"]), name)
    stack.set_camera(camera.id, state, error)
    stack.put_snapshot(account.id, camera.id, pictures()[number].photo)
    return camera


def _month(account: Account, cameras: tuple[Camera, ...], now: int) -> list[Recognition]:
    """Return the passes of the previous thirty days, without images."""
    rows = []
    for hours in range(2, 30 * 24):
        captured = now - hours * _HOUR_MS
        of_day = (captured // _HOUR_MS) % 24
        weekend = ((captured // (24 * _HOUR_MS)) + 3) % 7 >= 5
        count = _BY_HOUR[of_day] // (2 if weekend else 1)
        for number in range(count):
            at = captured - number * 400_000 - hours * 1000
            camera = cameras[(hours + number) % 3]
            which = (hours * 7 + number * 3) % (len(SEEN) + 8)
            plate = (
                None if which < len(SEEN) else f"{'ABCDEFGHK'[which % 9]}{hours:03}{number}XY"[:7]
            )
            row = passed(
                account, camera.id, camera.name, which % len(SEEN), captured_ms=at, plate=plate
            )
            rows.append(replace(row, photo_key=None, crop_key=None))
    return rows


def _recent(
    stack: ConsoleStack, account: Account, cameras: tuple[Camera, ...], now: int
) -> list[Recognition]:
    """Return the latest passes with images, newest first."""
    rows = []
    for number in range(len(SEEN) * 2):
        camera, seen = cameras[number % 3], number % len(SEEN)
        at = now - 20_000 - number * 95_000
        row = passed(account, camera.id, camera.name, seen, captured_ms=at)
        stack.put_images(row, seen)
        rows.append(row)
    stack.publish(*rows, is_live=False)
    return rows


def _counted(account: Account, camera: Camera, now: int) -> list[CameraMinute]:
    """Return the counts of a camera: four normal weeks, and a day with fewer vehicles."""
    this_hour = now - now % _HOUR_MS
    usual = FrameCounts(still=15_000, read=3000, found=420, readings=430, unread=900, reported=40)
    less = FrameCounts(
        still=16_000, slow=200, read=900, found=44, readings=44, unread=90, reported=11
    )
    hours = [(day * 24 + hour, usual) for day in (7, 14, 21, 28) for hour in range(25)]
    return [
        CameraMinute(
            user_id=account.id,
            camera_id=camera.id,
            minute_ms=this_hour - ago * _HOUR_MS,
            records=1,
            counts=counts,
        )
        for ago, counts in (*hours, *((hour, less) for hour in range(24)))
    ]


def _trigger(row: Recognition, alert_id: str) -> TriggerRow:
    return TriggerRow(
        user_id=row.owner_id,
        alert_id=UUID(alert_id),
        captured_ms=row.captured_ms,
        id=uuid.uuid4(),
        recognition_id=row.id,
        camera_id=row.camera_id,
        camera_name=row.camera_name,
        plate=row.plate,
        confidence=row.confidence,
        alert_name="Stolen at night",
        alert_revision=1,
        decided_ms=row.captured_ms + 900,
        is_late=False,
        phase=TriggerPhase.FINAL,
    )
