"""camera.online and camera.offline are sent once each, and not for a short interruption."""

from common.records.cameras import CameraState, CameraStatus
from common.records.webhooks import EventName
from streams.runtime import camera_presence
from tests.records import CAMERAS, OWNER


def _status(state: CameraState, at_ms: int, last_seen_ms: int | None = None) -> CameraStatus:
    return CameraStatus(
        camera_id=CAMERAS[0],
        owner_id=OWNER,
        state=state,
        revision=1,
        worker="w",
        at_ms=at_ms,
        last_seen_ms=last_seen_ms,
    )


def _announced(*statuses: CameraStatus) -> list[EventName]:
    known, events = None, []
    for one in statuses:
        step = camera_presence.apply_status(known, one, offline_after_ms=15_000)
        known = step.presence
        if step.event is not None:
            events.append(step.event)
    return events


ON, OFF = EventName.CAMERA_ONLINE, EventName.CAMERA_OFFLINE
CONNECTING, ONLINE, OFFLINE, DISABLED = (
    CameraState.CONNECTING,
    CameraState.ONLINE,
    CameraState.OFFLINE,
    CameraState.DISABLED,
)


def test_online_once_and_offline_once() -> None:
    events = _announced(
        _status(CONNECTING, 0),
        _status(ONLINE, 1_000, 1_000),
        _status(ONLINE, 6_000, 6_000),
        _status(OFFLINE, 21_000, 6_000),
        _status(OFFLINE, 26_000, 6_000),
        _status(ONLINE, 30_000, 30_000),
    )

    assert events == [ON, OFF, ON]


def test_a_short_gap_is_no_event() -> None:
    events = _announced(
        _status(ONLINE, 0, 0),
        _status(OFFLINE, 14_999, 0),
        _status(ONLINE, 16_000, 16_000),
    )

    assert events == [ON]


def test_a_dead_worker_is_no_event_but_a_camera_that_stays_offline_is() -> None:
    taken_over = (_status(ONLINE, 0, 0), _status(CONNECTING, 30_000))
    assert _announced(*taken_over, _status(ONLINE, 31_000, 31_000)) == [ON]
    assert _announced(*taken_over, _status(OFFLINE, 45_000)) == [ON, OFF]


def test_a_camera_that_was_never_online_or_is_disabled_is_no_event() -> None:
    assert _announced(_status(CONNECTING, 0), _status(OFFLINE, 15_000)) == []
    events = _announced(_status(ONLINE, 0, 0), _status(DISABLED, 1), _status(ONLINE, 2, 2))
    assert events == [ON, ON]
