"""What is told about a camera, and when."""

from uuid import UUID

from contracts.cameras import CameraState, CameraStatus
from ingest.faults import CaptureFault
from ingest.moments import Moment
from ingest.status import CameraIdentity, StatusRules, StatusTracker

START = Moment(1_800_000_000_000, 5_000.0)
RULES = StatusRules(offline_after_seconds=15)
CAMERA = CameraIdentity(camera_id=UUID(int=1), owner_id=UUID(int=2), revision=7, worker="w1")


def _told(tracker: StatusTracker, seconds: float) -> CameraStatus | None:
    return tracker.due(START.later(seconds), CAMERA)


def test_a_taken_camera_is_told_at_once_with_its_revision() -> None:
    status = _told(StatusTracker(RULES, START), 0)

    assert status == CameraStatus(
        camera_id=UUID(int=1),
        owner_id=UUID(int=2),
        revision=7,
        worker="w1",
        state=CameraState.CONNECTING,
        at_ms=START.unix_ms,
    )


def test_the_first_frame_brings_it_online_at_once() -> None:
    tracker = StatusTracker(RULES, START)
    _told(tracker, 0)
    tracker.failed(CaptureFault.UNREACHABLE)
    tracker.frame_seen(START.later(2), 1920, 1080)

    status = _told(tracker, 2.1)

    assert status is not None
    assert status.state is CameraState.ONLINE
    assert status.last_seen_ms == START.unix_ms + 2000
    assert (status.frame_width_px, status.frame_height_px) == (1920, 1080)
    assert status.last_error is None


def test_a_sign_of_life_comes_every_five_seconds() -> None:
    tracker = StatusTracker(RULES, START)
    told = []
    for tenth in range(300):
        tracker.frame_seen(START.later(tenth / 10), 640, 480)
        if _told(tracker, tenth / 10) is not None:
            told.append(tenth / 10)

    assert told == [0, 5, 10, 15, 20, 25]


def test_a_camera_without_frames_is_offline_after_its_time_not_before() -> None:
    tracker = StatusTracker(RULES, START)
    tracker.frame_seen(START, 640, 480)
    tracker.failed(CaptureFault.ENDED)
    _told(tracker, 0)

    before, after = _told(tracker, 14.9), _told(tracker, 15)

    assert before is not None
    assert before.state is CameraState.ONLINE
    assert after is not None
    assert after.state is CameraState.OFFLINE
    assert after.last_error == CaptureFault.ENDED.value
    assert after.last_seen_ms == START.unix_ms


def test_silence_without_a_fault_is_named() -> None:
    tracker = StatusTracker(RULES, START)

    status = _told(tracker, 20)

    assert status is not None
    assert status.last_error == CaptureFault.SILENT.value


def test_a_camera_comes_back_online() -> None:
    tracker = StatusTracker(RULES, START)
    _told(tracker, 20)
    tracker.frame_seen(START.later(21), 640, 480)

    status = _told(tracker, 21)

    assert status is not None
    assert status.state is CameraState.ONLINE
    assert status.last_error is None


def test_a_disabled_camera_is_told_once() -> None:
    tracker = StatusTracker(RULES, START, enabled=False)

    first, later = _told(tracker, 0), _told(tracker, 100)

    assert first is not None
    assert first.state is CameraState.DISABLED
    assert later is None


def test_a_change_of_configuration_is_told_at_once() -> None:
    tracker = StatusTracker(RULES, START, enabled=False)
    _told(tracker, 0)

    tracker.retold()

    assert _told(tracker, 0.1) is not None


def test_no_fault_tells_whether_a_host_is_there() -> None:
    words = " ".join(fault.value.lower() for fault in CaptureFault)

    assert not any(word in words for word in ("refused the connection", "port", "timed out", "dns"))
