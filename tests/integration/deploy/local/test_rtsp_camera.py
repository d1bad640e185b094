"""The tests' own camera plays what it says it plays: other tests lean on it."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.error import FFmpegError, HTTPNotFoundError, HTTPUnauthorizedError

from tests.services.rtsp import RtspCamera

pytestmark = pytest.mark.integration

_FPS = 25
_FRAMES = 50
_OVER_TCP = {"rtsp_transport": "tcp"}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of H.264 in which each frame is a little brighter than the one before."""
    file = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=_FPS, options={"g": "10", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        stream.time_base = Fraction(1, _FPS)
        for number in range(_FRAMES):
            frame = np.full((240, 320, 3), number * 4, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return file


def _brightness(camera: RtspCamera, *, count: int) -> list[int]:
    """Return the grey value of the first frames that come."""
    with av.open(camera.url, options=_OVER_TCP, timeout=(10, 10)) as container:
        values: list[int] = []
        for frame in container.decode(video=0):
            assert isinstance(frame, av.VideoFrame)
            values.append(int(frame.to_ndarray(format="gray").mean()))
            if len(values) == count:
                break
        return values


def test_once_sends_every_frame_in_order_and_is_then_gone(clip: Path) -> None:
    with RtspCamera(clip, once=True) as camera:
        values = _brightness(camera, count=_FRAMES + 1)

        assert len(values) == _FRAMES
        assert values == sorted(values)
        camera.wait_until_ended(seconds=10)
        with pytest.raises(HTTPNotFoundError):
            av.open(camera.url, options=_OVER_TCP, timeout=(10, 10))


def test_a_loop_begins_again_without_a_seam(clip: Path) -> None:
    with RtspCamera(clip) as camera:
        values = _brightness(camera, count=2 * _FRAMES)

    assert values[:_FRAMES] == values[_FRAMES:]


def test_a_camera_with_a_password_wants_it(clip: Path) -> None:
    with RtspCamera(clip, user="viewer", password="secret") as camera:
        assert len(_brightness(camera, count=3)) == 3
        with pytest.raises(HTTPUnauthorizedError):
            av.open(camera.url.replace("secret", "guessed"), options=_OVER_TCP, timeout=(10, 10))


def test_a_killed_camera_plays_again_at_the_same_address(clip: Path) -> None:
    with RtspCamera(clip) as camera:
        camera.kill()
        camera.start()

        assert len(_brightness(camera, count=3)) == 3


def test_a_frozen_camera_sends_nothing_until_it_goes_on(clip: Path) -> None:
    with RtspCamera(clip) as camera:
        camera.pause()
        with pytest.raises(FFmpegError):
            av.open(camera.url, options=_OVER_TCP, timeout=(1, 1))
        camera.resume()

        assert len(_brightness(camera, count=3)) == 3
