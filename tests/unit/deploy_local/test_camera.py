from io import StringIO
from pathlib import Path

import pytest

from deploy.local.access import Access
from deploy.local.api_client import ApiClient, CameraAtApi
from deploy.local.camera import WantedCamera, demo_camera, ensure_camera, users_camera
from deploy.local.files import Layout
from deploy.local.waiting import Progress, StartError, Waiter


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


class _Api(ApiClient):
    """An API with these cameras."""

    def __init__(self, *identifiers: str) -> None:
        super().__init__("http://127.0.0.1:1", "pk_test")
        self.known = [self._camera(identifier) for identifier in identifiers]

    def cameras(self) -> tuple[CameraAtApi, ...]:
        return tuple(self.known)

    def create_camera(self, *, identifier: str, name: str, rtsp_url: str) -> CameraAtApi:
        self.known.append(CameraAtApi(f"id of {identifier}", identifier, rtsp_url))
        return self.known[-1]

    def move_camera(self, camera_id: str, *, rtsp_url: str) -> None:
        self.known = [
            CameraAtApi(one.id, one.identifier, rtsp_url if one.id == camera_id else one.rtsp_url)
            for one in self.known
        ]

    @staticmethod
    def _camera(identifier: str) -> CameraAtApi:
        return CameraAtApi(f"id of {identifier}", identifier, "rtsp://10.0.0.1/")


@pytest.mark.parametrize(
    ("there", "demo_id"),
    [((), "id of local-demo"), (("local-demo", "gate"), "id of local-demo"), (("gate",), "")],
    ids=["a fresh stack", "still there", "deleted, with another camera"],
)
def test_the_demo_camera_does_not_come_back_beside_others(
    there: tuple[str, ...], demo_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = _Api(*there)
    monkeypatch.setattr("deploy.local.camera.ApiClient", lambda *_: api)
    layout = Layout(tmp_path)
    access = Access("http://127.0.0.1:1", "pk_test", "a@b.example", "secret")
    demo = demo_camera(layout, {"PLATESTREAM_CAMERA_ALLOW_FILES": "true"})
    assert demo is not None
    noted = ensure_camera(layout, access, demo, Waiter(Progress(StringIO())))
    assert noted.demo_camera_id == demo_id
    assert len(api.known) == max(1, len(there))


def test_ones_own_camera_is_registered_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = _Api("gate")
    monkeypatch.setattr("deploy.local.camera.ApiClient", lambda *_: api)
    access = Access("http://127.0.0.1:1", "pk_test", "a@b.example", "secret")
    wanted = WantedCamera("local-1", "Camera", "rtsp://10.0.0.2/")
    noted = ensure_camera(Layout(tmp_path), access, wanted, Waiter(Progress(StringIO())))
    assert noted.demo_camera_id == "id of local-1"


@pytest.mark.parametrize("off", ["false", "0", "no"])
def test_where_files_are_no_cameras_there_is_no_demo(off: str, tmp_path: Path) -> None:
    assert demo_camera(Layout(tmp_path), {"PLATESTREAM_CAMERA_ALLOW_FILES": off}) is None


def test_an_odd_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="PLATESTREAM_CAMERA_ALLOW_FILES"):
        demo_camera(Layout(tmp_path), {"PLATESTREAM_CAMERA_ALLOW_FILES": "ja"})
