"""A motion stream that could save nothing is not read, and the owner is told why."""

from typing import cast

import pytest
from cryptography.fernet import Fernet

from common.secrets import SecretBox
from common.urls.streams import StreamUrl, StreamUrlRules
from ingest.assignment.camera import CameraSession, CameraSessionDeps, CameraSessionSettings
from ingest.errors import CaptureErrorCode
from ingest.status import StatusRules

BOX = SecretBox(Fernet.generate_key().decode())
LIVE, PLAYLIST = "rtsp://10.0.0.8/1", "http://10.0.0.8/live.m3u8"
SMALL = "rtsp://10.0.0.8/2"


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
    session = object.__new__(CameraSession)
    session._settings = CameraSessionSettings(
        worker="w",
        addresses=StreamUrlRules(),
        sample_fps=5,
        status=StatusRules(offline_after_seconds=15),
        rests=rests,
    )
    session._deps = cast("CameraSessionDeps", _Deps())
    opened = session._open_motion(BOX.encrypt(motion), _address(session, main))

    assert opened == (code or _address(session, SMALL))


def _address(session: CameraSession, text: str) -> StreamUrl:
    url = session._open_address(BOX.encrypt(text))
    assert isinstance(url, StreamUrl)
    return url


class _Deps:
    secrets = BOX
