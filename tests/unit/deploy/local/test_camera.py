import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import httpx
import pytest
from platestream_client import Client

from deploy.local.access import Access
from deploy.local.camera import WantedCamera, demo_camera, ensure_camera, users_camera
from deploy.local.files import Layout
from deploy.local.waiting import Progress, StartError, Waiter


def test_an_address_is_taken_as_it_is() -> None:
    camera = users_camera("rtsp://user:secret@10.0.0.7:554/stream", None)

    assert camera.rtsp_url == "rtsp://user:secret@10.0.0.7:554/stream"
    assert camera.name == "Camera 10.0.0.7"


def test_a_file_is_put_into_the_folder_of_camera_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "road 1.mp4", tmp_path / "files"
    file.write_text("a clip")
    monkeypatch.chdir(tmp_path)

    camera = users_camera("road 1.mp4", folder)
    (placed,) = folder.iterdir()
    assert camera.rtsp_url == placed.as_uri()
    assert placed.name.endswith("-road 1.mp4")

    file.unlink()
    file.write_text("another clip")
    assert users_camera("road 1.mp4", folder) == camera
    assert users_camera("road 1.mp4", folder) == camera
    assert [each.read_text() for each in folder.iterdir()] == ["another clip"]


def test_a_file_in_the_folder_stays_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "road.mp4"
    file.touch()

    assert users_camera(str(file), tmp_path).rtsp_url == file.as_uri()
    assert list(tmp_path.iterdir()) == [file]


def test_where_files_are_no_cameras_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "road.mp4").touch()

    with pytest.raises(StartError, match="CAMERA_FILES_FOLDER"):
        users_camera(str(tmp_path / "road.mp4"), None)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(StartError, match="nowhere.mp4 is neither a file nor"):
        users_camera("nowhere.mp4", None)


def test_the_same_stream_is_the_same_camera() -> None:
    url = "rtsp://10.0.0.7/stream"

    assert users_camera(url, None).identifier == users_camera(url, None).identifier
    assert users_camera(url, None).identifier != users_camera(url + "2", None).identifier


class _Api:
    """Responds like an API with these cameras."""

    def __init__(self, *identifiers: str) -> None:
        self.known = [_camera(identifier) for identifier in identifiers]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"cameras": self.known})
        if request.method == "POST":
            self.known.append(_camera(json.loads(request.content)["identifier"]))
        return httpx.Response(200, json={"camera": self.known[-1]})


def _camera(identifier: str) -> dict[str, str]:
    url = "rtsp://10.0.0.1/"
    return {"id": f"id of {identifier}", "identifier": identifier, "rtspUrl": url}


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> Callable[[_Api], Access]:
    def access_to(api: _Api) -> Access:
        client = Client("http://127.0.0.1:1", "pk_test", transport=httpx.MockTransport(api))
        monkeypatch.setattr(Access, "client", lambda _: client)
        return Access("http://127.0.0.1:1", "pk_test", "a@b.example", "secret")

    return access_to


@pytest.mark.parametrize(
    ("there", "demo_id"),
    [((), "id of local-demo"), (("local-demo", "gate"), "id of local-demo"), (("gate",), "")],
    ids=["a fresh stack", "still there", "deleted, with another camera"],
)
def test_the_demo_camera_is_not_created_again_among_others(
    there: tuple[str, ...], demo_id: str, tmp_path: Path, access: Callable[[_Api], Access]
) -> None:
    api = _Api(*there)
    demo = demo_camera(tmp_path / "files")
    assert demo is not None
    noted = ensure_camera(Layout(tmp_path), access(api), demo, Waiter(Progress(StringIO())))
    assert noted.demo_camera_id == demo_id
    assert len(api.known) == max(1, len(there))


def test_an_own_camera_is_registered_in_addition_to_others(
    tmp_path: Path, access: Callable[[_Api], Access]
) -> None:
    wanted = WantedCamera("local-1", "Camera", "rtsp://10.0.0.2/")
    waiter = Waiter(Progress(StringIO()))
    noted = ensure_camera(Layout(tmp_path), access(_Api("gate")), wanted, waiter)
    assert noted.demo_camera_id == "id of local-1"


def test_where_files_are_no_cameras_there_is_no_demo() -> None:
    assert demo_camera(None) is None


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "files").touch()

    with pytest.raises(StartError, match=r"cannot copy .*road\.mp4 to"):
        demo_camera(tmp_path / "files")
