"""The camera of a fresh stack: the demo clip that comes with the service, or the user's own."""

import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from platestream_client import ApiError, Client, UnreachableError

from deploy.local.access import Access, write_access
from deploy.local.files import Layout
from deploy.local.plan import CAMERA_FILES_SETTING
from deploy.local.servers.base import CLONE, NotReadyError
from deploy.local.waiting import StartError, Waiter

_CAMERA_SECONDS = 60
# Limited, or no worker has taken the camera yet, or something is not up.
_NOT_YET = (429, 502, 503)


@dataclass(frozen=True)
class WantedCamera:
    """A camera to have at the API; the identifier finds it again.

    ``only_alone``: where there are other cameras already, it is not registered.
    """

    identifier: str
    name: str
    rtsp_url: str
    only_alone: bool = False


DEMO_CLIP: Final = CLONE / "deploy" / "local" / "demo" / "road.mp4"
"""The road scene that the demo camera plays: drawn, so nobody's plates are in it."""

DEMO_TRUTH: Final = DEMO_CLIP.with_suffix(".json")
"""The passes that are really in the demo clip."""


def demo_camera(folder: Path | None) -> WantedCamera | None:
    """Return the camera that plays the demo clip, for who has no other yet.

    ``folder`` is that of the camera files; None where no file may be a camera: no demo either.

    Raises:
        StartError: the clip cannot be put there.
    """
    if folder is None:
        return None
    clip = _in_folder(DEMO_CLIP, folder, DEMO_CLIP.name)
    return WantedCamera("local-demo", "Demo road", clip.as_uri(), only_alone=True)


def users_camera(address: str, folder: Path | None) -> WantedCamera:
    """Return the camera for a stream address or a path to a video file.

    A file is put into ``folder``, that of the camera files: no other is a camera.

    Raises:
        StartError: neither an address nor a file that is there, or one that cannot be put there.
    """
    if "://" in address:
        return _users_camera(address, urlsplit(address).hostname or "camera", address)
    path = Path(address).expanduser().resolve()
    if not path.is_file():
        raise StartError(f"CAMERA={address}: no such file, and not an address like rtsp://...")
    if folder is None:
        raise StartError(
            f"CAMERA={address}: video files are not allowed as cameras here "
            f"({CAMERA_FILES_SETTING})"
        )
    placed = _in_folder(path, folder, f"{_digest(path.as_uri())}-{path.name}")
    return _users_camera(path.as_uri(), path.name, placed.as_uri())


def _users_camera(given: str, name: str, url: str) -> WantedCamera:
    return WantedCamera(f"local-{_digest(given)}", f"Camera {name}", url)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def _in_folder(file: Path, folder: Path, name: str) -> Path:
    """Return the file under ``name`` in the folder: itself by a hard link, or else a copy."""
    if file.is_relative_to(folder):
        return file
    placed = folder / name
    fresh = placed.with_name(f".{name}.new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        try:
            fresh.hardlink_to(file)
        except OSError:
            shutil.copyfile(file, fresh)
        fresh.replace(placed)
        # Where both are links to one file, nothing was replaced.
        fresh.unlink(missing_ok=True)
    except OSError as error:
        raise StartError(f"{file} cannot be put into {folder}: {error}") from error
    return placed


def ensure_camera(layout: Layout, access: Access, wanted: WantedCamera, waiter: Waiter) -> Access:
    """Register the camera unless it is there or not needed, and note it in the access file.

    Raises:
        StartError: the API refuses it.
    """
    found: list[str | None] = []

    def register() -> None:
        try:
            with access.client() as client:
                found.append(_camera_id(client, wanted))
        except UnreachableError as error:
            raise NotReadyError(str(error)) from error
        except ApiError as error:
            if error.status in _NOT_YET:
                raise NotReadyError(error.sentence) from error
            raise StartError(f"the camera {wanted.name} is refused: {error}") from error

    waiter.wait("camera", register, seconds=_CAMERA_SECONDS)
    noted = msgspec.structs.replace(access, demo_camera_id=found[-1] or "")
    if noted != access:
        write_access(layout, noted)
    return noted


def _camera_id(client: Client, wanted: WantedCamera) -> str | None:
    cameras = list(client.cameras.all())
    known = next((c for c in cameras if c["identifier"] == wanted.identifier), None)
    if known is None and cameras and wanted.only_alone:
        return None
    if known is None:
        known = client.cameras.create(
            {"identifier": wanted.identifier, "name": wanted.name, "rtspUrl": wanted.rtsp_url}
        )
    elif wanted.rtsp_url.startswith("file:") and known["rtspUrl"] != wanted.rtsp_url:
        # The clone was moved.
        client.cameras.update(known["id"], {"rtspUrl": wanted.rtsp_url})
    return known["id"]
