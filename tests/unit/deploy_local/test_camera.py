from pathlib import Path

import pytest

from deploy.local.camera import users_camera
from deploy.local.waiting import StartError


def test_an_address_is_taken_as_it_is() -> None:
    camera = users_camera("rtsp://user:secret@10.0.0.7:554/stream")

    assert camera.rtsp_url == "rtsp://user:secret@10.0.0.7:554/stream"
    assert camera.name == "Camera 10.0.0.7"


def test_a_file_becomes_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "road 1.mp4").touch()
    monkeypatch.chdir(tmp_path)

    camera = users_camera("road 1.mp4")

    assert camera.rtsp_url == f"file://{tmp_path}/road%201.mp4"


def test_a_missing_file_is_named() -> None:
    with pytest.raises(StartError, match="nowhere.mp4: no such file"):
        users_camera("nowhere.mp4")


def test_the_same_stream_is_the_same_camera() -> None:
    url = "rtsp://10.0.0.7/stream"

    assert users_camera(url).identifier == users_camera(url).identifier
    assert users_camera(url).identifier != users_camera(url + "2").identifier
