"""A motion stream that could save nothing is not read, and the owner is told why."""

from typing import cast
from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from common.records.cameras import CameraConfig, CameraState
from common.records.frames import FrameMeta
from common.secrets import SecretBox
from common.urls.streams import StreamUrl, StreamUrlRules
from ingest.assignment.camera import CameraSession, CameraSessionDeps, CameraSessionSettings
from ingest.capture.messages import Moment, Seen
from ingest.clocks import Instant
from ingest.errors import CaptureErrorCode, motion_fault
from ingest.frames.pipeline import PipelineDeps, SnapshotSink
from ingest.metrics import IngestMetrics
from ingest.processes.capture import Capture, CaptureListener, Keeper
from ingest.status import StatusRules

BOX = SecretBox(Fernet.generate_key().decode())
LIVE, PLAYLIST = "rtsp://10.0.0.8/1", "http://10.0.0.8/live.m3u8"
SMALL = "rtsp://10.0.0.8/2"
NOW = Instant(1_800_000_000_000, 5_000.0)


class Captures:
    """Keeps the captures that were asked for."""

    def __init__(self) -> None:
        self.made: list[Capture] = []

    def capture(
        self,
        name: str,
        url: StreamUrl,
        sample_fps: float,
        listener: CaptureListener,
        motion_url: StreamUrl | None = None,
    ) -> Capture:
        pool = cast("Keeper", None)
        self.made.append(Capture(1, name, url, sample_fps, listener, pool, motion_url))
        return self.made[-1]


class Frames:
    """Takes ticks."""

    def has_room(self) -> bool:
        return True

    def send_frame(self, meta: FrameMeta, image: bytes) -> bool:
        raise AssertionError("no camera gives any")

    def send_tick(self, meta: FrameMeta) -> None:
        pass

    def send_end(self, meta: FrameMeta) -> None:
        pass


def _session(main: str, motion: str, captures: Captures, *, rests: bool) -> CameraSession:
    metrics = IngestMetrics()
    return CameraSession(
        CameraConfig(
            camera_id=UUID(int=1),
            owner_id=UUID(int=9),
            name="gate",
            stream_url_encrypted=BOX.encrypt(main),
            motion_url_encrypted=BOX.encrypt(motion),
            enabled=True,
            revision=1,
        ),
        CameraSessionSettings(
            worker="w",
            addresses=StreamUrlRules(),
            sample_fps=5,
            status=StatusRules(offline_after_seconds=15),
            rests=rests,
        ),
        CameraSessionDeps(
            pipeline=PipelineDeps(
                frames=Frames(),
                snapshots=cast("SnapshotSink", None),
                metrics=metrics,
                now=lambda: NOW,
            ),
            captures=captures,
            secrets=BOX,
            metrics=metrics,
            now=lambda: NOW,
        ),
    )


@pytest.mark.parametrize(
    ("main", "motion", "rests", "code"),
    [
        (LIVE, SMALL, True, None),
        (LIVE, SMALL, False, CaptureErrorCode.NO_REST),
        (PLAYLIST, SMALL, True, CaptureErrorCode.MAIN_NOT_LIVE),
        (LIVE, PLAYLIST, True, CaptureErrorCode.NOT_LIVE),
    ],
)
def test_only_a_live_motion_stream_of_a_live_stream_that_may_rest_is_read(
    main: str, motion: str, rests: bool, code: CaptureErrorCode | None
) -> None:
    captures = Captures()
    session = _session(main, motion, captures, rests=rests)
    (capture,) = captures.made
    session.on_seen(capture, _seen())
    status = session.due_status(NOW.later(1))

    assert capture.url.text == main
    assert (capture.motion_url and capture.motion_url.text) == (SMALL if code is None else None)
    assert status is not None and status.state is CameraState.ONLINE
    assert status.last_error == (code and motion_fault(code))


def _seen() -> Seen:
    return Seen(
        number=1,
        settled=Moment(arrival_seconds=NOW.seconds, age_ms=0),
        width_px=1920,
        height_px=1080,
        decoded=1,
        still=0,
        failed=0,
        is_still=False,
        holds_back=False,
        decoder="software",
        alive_seconds=NOW.seconds,
    )
