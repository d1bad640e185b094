"""The camera that a fresh stack shows something with: a generated road scene, or the user's own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from signal import SIGINT, SIGKILL
from urllib.parse import urlsplit

import msgspec
from pydantic import TypeAdapter, ValidationError

from deploy.local.access import Access, write_access
from deploy.local.api_client import ApiClient, ApiError
from deploy.local.files import Layout
from deploy.local.servers.base import CLONE, NotReadyError, tied
from deploy.local.supervisor import log_file
from deploy.local.waiting import StartError, Waiter

_CLIP_SECONDS = 600
_CAMERA_SECONDS = 60
_IS_ON = TypeAdapter(bool)


@dataclass(frozen=True)
class WantedCamera:
    """A camera to have at the API; the identifier finds it again.

    ``only_alone``: where there are other cameras already, it is not registered.
    """

    identifier: str
    name: str
    rtsp_url: str
    only_alone: bool = False


class DemoClip:
    """The road scene, generated once beside the rest of the first start."""

    def __init__(self, layout: Layout) -> None:
        """Take the folders; nothing is generated."""
        self._layout = layout
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin to generate the clip unless it is there."""
        if self._layout.demo_clip.exists():
            return
        self._fresh(self._layout.demo_clip).parent.mkdir(parents=True, exist_ok=True)
        clip = ("--out", str(self._fresh(self._layout.demo_clip)))
        truth = ("--truth", str(self._fresh(self._layout.demo_truth)))
        generate = (sys.executable, "-m", "synthetic.road", *clip, *truth)
        with log_file(self._layout, "demo").open("wb") as log:
            self._process = subprocess.Popen(
                # Nicely: the servers start at the same time, and somebody waits for them. SIGINT
                # lets it end its own workers.
                tied("nice", "-n", "10", *generate, last_signal=SIGINT),
                cwd=CLONE,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self, waiter: Waiter) -> None:
        """Wait until the clip is whole.

        Raises:
            StartError: it could not be generated.
        """
        if self._process is None:
            return
        waiter.wait("demo clip", self._check, seconds=_CLIP_SECONDS)
        self._fresh(self._layout.demo_truth).replace(self._layout.demo_truth)
        self._fresh(self._layout.demo_clip).replace(self._layout.demo_clip)

    def stop(self) -> None:
        """Give up on an unfinished clip."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, SIGKILL)
            self._process.wait()

    def _check(self) -> None:
        assert self._process is not None
        status = self._process.poll()
        if status is None:
            raise NotReadyError(self._told())
        if status != 0:
            raise StartError(f"the demo clip failed, see {log_file(self._layout, 'demo')}")

    def _told(self) -> str:
        lines = log_file(self._layout, "demo").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "being drawn"

    @staticmethod
    def _fresh(path: Path) -> Path:
        return path.with_name(f"new-{path.name}")


def demo_camera(layout: Layout, environment: Mapping[str, str]) -> WantedCamera | None:
    """Return the camera that plays the generated clip, for who has no other yet.

    None where the stack's settings allow no files as cameras.

    Raises:
        StartError: they do not say whether.
    """
    name = "PLATESTREAM_CAMERA_ALLOW_FILES"
    try:
        files_are_cameras = _IS_ON.validate_python(environment[name])
    except ValidationError as error:
        raise StartError(f"setting {name}: must be true or false") from error
    if not files_are_cameras:
        return None
    return WantedCamera("local-demo", "Demo road", layout.demo_clip.as_uri(), only_alone=True)


def users_camera(address: str) -> WantedCamera:
    """Return the camera for a stream address or a path to a video file.

    Raises:
        StartError: neither an address nor a file that is there.
    """
    if "://" in address:
        url, name = address, urlsplit(address).hostname or "camera"
    else:
        path = Path(address).expanduser().resolve()
        if not path.is_file():
            raise StartError(f"CAMERA={address}: no such file, and not an address like rtsp://...")
        url, name = path.as_uri(), path.name
    return WantedCamera(f"local-{sha256(url.encode()).hexdigest()[:12]}", f"Camera {name}", url)


def ensure_camera(layout: Layout, access: Access, wanted: WantedCamera, waiter: Waiter) -> Access:
    """Register the camera unless it is there or not needed, and note it in the access file.

    Raises:
        StartError: the API refuses it.
    """
    client = ApiClient(access.base_url, access.api_key)
    found: list[str | None] = []

    def register() -> None:
        found.append(_camera_id(client, wanted))

    try:
        waiter.wait("camera", register, seconds=_CAMERA_SECONDS)
    except ApiError as error:
        raise StartError(f"the camera {wanted.name} is refused: {error}") from error
    noted = msgspec.structs.replace(access, demo_camera_id=found[-1] or "")
    if noted != access:
        write_access(layout, noted)
    return noted


def _camera_id(client: ApiClient, wanted: WantedCamera) -> str | None:
    cameras = client.cameras()
    known = [c for c in cameras if c.identifier == wanted.identifier]
    if not known and cameras and wanted.only_alone:
        return None
    if not known:
        created = client.create_camera(
            identifier=wanted.identifier, name=wanted.name, rtsp_url=wanted.rtsp_url
        )
        return created.id
    if wanted.rtsp_url.startswith("file:") and known[0].rtsp_url != wanted.rtsp_url:
        # The clone was moved.
        client.move_camera(known[0].id, rtsp_url=wanted.rtsp_url)
    return known[0].id
