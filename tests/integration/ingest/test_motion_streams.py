"""A camera with a second, small stream: what it saves, and what becomes of a bad one."""

from pathlib import Path
from uuid import UUID

import cv2
import numpy as np
import pytest

from common.records.cameras import CameraState
from ingest.errors import CaptureErrorCode, motion_fault
from tests.integration.ingest.clips import write_pass
from tests.integration.ingest.http_cameras import HttpCamera, write_playlist
from tests.integration.ingest.worker import CameraConfigs, IngestWorker, Outbox, World
from tests.services.rtsp import RtspCamera

pytestmark = pytest.mark.integration

SECONDS = 20
BEGIN = 14


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A scene through which something passes, and the same as the small stream shows it."""
    folder = tmp_path_factory.mktemp("motion")
    return (
        write_pass(folder / "main.mp4", seconds=SECONDS, begin=BEGIN),
        write_pass(folder / "small.mp4", seconds=SECONDS, begin=BEGIN, small=True),
    )


def _last_error(outbox: Outbox, camera_id: UUID) -> str | None:
    statuses = outbox.statuses(camera_id)
    return statuses[-1].last_error if statuses else None


def _is_told(outbox: Outbox, camera_id: UUID, code: CaptureErrorCode) -> bool:
    is_online = outbox.state(camera_id) is CameraState.ONLINE
    return is_online and _last_error(outbox, camera_id) == motion_fault(code)


def _left_edge_px(jpeg: bytes) -> int | None:
    """Return where the block begins that runs through the picture, None where there is none."""
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert image is not None
    columns = np.flatnonzero(image[140:220].mean(axis=0) > 200)
    return int(columns[0]) if columns.size else None


def test_while_nothing_moves_little_is_decoded_and_what_passes_is_there_from_its_first_frame(
    world: World, configs: CameraConfigs, outbox: Outbox, clips: tuple[Path, Path]
) -> None:
    with RtspCamera(clips[0]) as main, RtspCamera(clips[1]) as small, IngestWorker(world):
        camera = configs.add(main.url, motion_url=small.url).camera_id

        def passing() -> list[int]:
            edges = [_left_edge_px(frame.jpeg) for frame in outbox.frames_of(camera)]
            return [edge for edge in edges if edge is not None]

        outbox.until(lambda: passing()[-1:] > [400], seconds=60)

    frames = outbox.frames_of(camera)
    begun_ms = frames[0].sent_ms
    passed_ms = next(frame.sent_ms for frame in frames if _left_edge_px(frame.jpeg) is not None)
    quiet = [
        tick.meta.counts.decoded
        for tick in outbox.ticks(camera)
        if tick.meta.counts is not None and begun_ms + 8_000 <= tick.sent_ms <= passed_ms - 1_000
    ]
    # Its frames are reordered: by itself it would be decoded whole, 25 a second.
    assert len(quiet) >= 3
    assert quiet[-1] - quiet[0] <= 5
    assert passing()[0] <= 140
    assert len(passing()) >= 4
    times = [frame.meta.captured_ms for frame in outbox.all_of(camera)]
    assert times == sorted(times)
    assert {status.last_error for status in outbox.statuses(camera)} == {None}
    assert CameraState.OFFLINE not in [status.state for status in outbox.statuses(camera)]


def test_bad_motion_streams_are_told_and_the_main_ones_go_on(
    world: World, configs: CameraConfigs, outbox: Outbox, clips: tuple[Path, Path], tmp_path: Path
) -> None:
    small = RtspCamera(clips[1])
    with RtspCamera(clips[0]) as main, HttpCamera() as http, IngestWorker(world):
        faults = {
            small.url: CaptureErrorCode.UNREACHABLE,
            http.url("/page"): CaptureErrorCode.NOT_VIDEO,
            http.url("/nothing"): CaptureErrorCode.NO_STREAM,
            "rtsp://user:hunter2@169.254.169.254/x": CaptureErrorCode.FORBIDDEN,
        }
        cameras = {configs.add(main.url, motion_url=url).camera_id: faults[url] for url in faults}
        outbox.until(
            lambda: all(_is_told(outbox, camera, code) for camera, code in cameras.items()),
            seconds=60,
        )
        # All of them show what passes.
        begun = {camera: len(outbox.frames_of(camera)) for camera in cameras}
        outbox.until(
            lambda: all(len(outbox.frames_of(c)) >= begun[c] + 5 for c in cameras), seconds=60
        )
        with small:
            away = next(iter(cameras))
            outbox.until(lambda: _last_error(outbox, away) is None, seconds=60)
            small.pause()
            outbox.until(
                lambda: (
                    _is_told(outbox, away, CaptureErrorCode.SILENT)
                    or _is_told(outbox, away, CaptureErrorCode.UNREACHABLE)
                ),
                seconds=60,
            )
            small.resume()

    assert not any(b"hunter2" in each.raw for each in outbox.status_records)
    for camera in cameras:
        assert CameraState.OFFLINE not in [each.state for each in outbox.statuses(camera)]


def test_playlists_whose_addresses_do_not_say_so_are_told(
    world: World, configs: CameraConfigs, outbox: Outbox, clips: tuple[Path, Path], tmp_path: Path
) -> None:
    name = write_playlist(tmp_path, clips[0])
    with RtspCamera(clips[1]) as live, HttpCamera(tmp_path) as http, IngestWorker(world):
        playlist = http.url("/to?" + http.url(f"/hls/{name}"))
        main = configs.add(playlist, motion_url=live.url).camera_id
        motion = configs.add(live.url, motion_url=playlist).camera_id
        outbox.until(lambda: _is_told(outbox, main, CaptureErrorCode.MAIN_NOT_LIVE), seconds=60)
        outbox.until(lambda: _is_told(outbox, motion, CaptureErrorCode.NOT_LIVE), seconds=60)
