"""The status of a camera, and when it is published."""

from uuid import UUID

from common.records.cameras import CameraConfig, CameraState, CameraStatus
from ingest.clocks import Instant
from ingest.errors import CaptureErrorCode
from ingest.status import StatusTracker

START = Instant(1_800_000_000_000, 5_000.0)
OFFLINE_AFTER_SECONDS = 15
CAMERA = CameraConfig(
    camera_id=UUID(int=1),
    owner_id=UUID(int=2),
    name="gate",
    stream_url_encrypted="x",
    enabled=True,
    revision=7,
)


def _due(tracker: StatusTracker, seconds: float) -> CameraStatus | None:
    return tracker.due(START.later(seconds), CAMERA, "w1")


def test_a_taken_camera_is_reported_at_once_with_its_revision() -> None:
    status = _due(StatusTracker(OFFLINE_AFTER_SECONDS, START), 0)

    assert status == CameraStatus(
        camera_id=UUID(int=1),
        owner_id=UUID(int=2),
        revision=7,
        worker="w1",
        state=CameraState.CONNECTING,
        at_ms=START.unix_ms,
    )


def test_the_first_frame_brings_it_online_at_once() -> None:
    tracker = StatusTracker(OFFLINE_AFTER_SECONDS, START)
    _due(tracker, 0)
    tracker.failed(CaptureErrorCode.UNREACHABLE)
    tracker.on_frame(START.later(2), 1920, 1080, "software")

    status = _due(tracker, 2.1)

    assert status is not None
    assert status.state is CameraState.ONLINE
    assert status.last_seen_ms == START.unix_ms + 2000
    assert (status.frame_width_px, status.frame_height_px) == (1920, 1080)
    assert status.decoder == "software"
    assert status.last_error is None


def test_a_sign_of_life_comes_every_five_seconds() -> None:
    tracker = StatusTracker(OFFLINE_AFTER_SECONDS, START)
    reported = []
    for tenth in range(300):
        tracker.on_frame(START.later(tenth / 10), 640, 480, "software")
        if _due(tracker, tenth / 10) is not None:
            reported.append(tenth / 10)

    assert reported == [0, 5, 10, 15, 20, 25]


def test_a_camera_without_frames_is_offline_after_its_time_not_before() -> None:
    tracker = StatusTracker(OFFLINE_AFTER_SECONDS, START)
    tracker.on_frame(START, 640, 480, "software")
    tracker.failed(CaptureErrorCode.ENDED)
    _due(tracker, 0)

    before, after = _due(tracker, 14.9), _due(tracker, 15)

    assert before is not None
    assert before.state is CameraState.ONLINE
    assert after is not None
    assert after.state is CameraState.OFFLINE
    assert after.last_error == CaptureErrorCode.ENDED.value
    assert after.last_seen_ms == START.unix_ms


def test_silence_without_a_fault_is_named() -> None:
    tracker = StatusTracker(OFFLINE_AFTER_SECONDS, START)

    status = _due(tracker, 20)

    assert status is not None
    assert status.last_error == CaptureErrorCode.SILENT.value


def test_a_camera_recovers() -> None:
    tracker = StatusTracker(OFFLINE_AFTER_SECONDS, START)
    _due(tracker, 20)
    tracker.on_frame(START.later(21), 640, 480, "software")

    status = _due(tracker, 21)

    assert status is not None
    assert status.state is CameraState.ONLINE
    assert status.last_error is None


def test_a_disabled_camera_is_reported_once() -> None:
    tracker = StatusTracker(OFFLINE_AFTER_SECONDS, START, enabled=False)

    first, later = _due(tracker, 0), _due(tracker, 100)

    assert first is not None
    assert first.state is CameraState.DISABLED
    assert later is None


def test_a_change_of_configuration_is_reported_at_once() -> None:
    tracker = StatusTracker(OFFLINE_AFTER_SECONDS, START, enabled=False)
    _due(tracker, 0)

    tracker.publish_again()

    assert _due(tracker, 0.1) is not None


def test_no_fault_reveals_whether_a_host_exists() -> None:
    words = " ".join(fault.value.lower() for fault in CaptureErrorCode)

    assert not any(word in words for word in ("refused the connection", "port", "timed out", "dns"))
