"""Registers the camera of a stack: the demo clip, or a stream URL or video file from the user."""

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
# The caller is rate limited, no worker has accepted the camera, or a dependency is unavailable.
_NOT_YET = (429, 502, 503)


@dataclass(frozen=True)
class WantedCamera:
    """A camera to register. A camera with the same identifier is not registered again.

    With ``only_alone``, the camera is not registered if there are already other cameras.
    """

    identifier: str
    name: str
    rtsp_url: str
    only_alone: bool = False


DEMO_CLIP: Final = CLONE / "deploy" / "local" / "demo" / "road.mp4"
"""The clip that the demo camera plays: an animated road scene without real plates."""

DEMO_TRUTH: Final = DEMO_CLIP.with_suffix(".json")
"""The true passes in the demo clip, to compare with recognitions."""


def demo_camera(folder: Path | None) -> WantedCamera | None:
    """Return the camera that plays the demo clip, for a stack without other cameras.

    ``folder`` is the folder of camera files. Return None if ``folder`` is None.

    Raises:
        StartError: the clip cannot be copied to the folder.
    """
    if folder is None:
        return None
    clip = _in_folder(DEMO_CLIP, folder, DEMO_CLIP.name)
    return WantedCamera("local-demo", "Demo road", clip.as_uri(), only_alone=True)


def users_camera(address: str, folder: Path | None) -> WantedCamera:
    """Return the camera for a stream URL or a path to a video file.

    A file is copied to ``folder``, because only files in this folder can be cameras.

    Raises:
        StartError: ``address`` is neither a URL nor an existing file, or copying failed.
    """
    if "://" in address:
        return _users_camera(address, urlsplit(address).hostname or "camera", address)
    path = Path(address).expanduser().resolve()
    if not path.is_file():
        raise StartError(f"CAMERA={address} is neither a file nor a stream URL such as rtsp://...")
    if folder is None:
        raise StartError(
            f"CAMERA={address}: video files cannot be used as cameras because "
            f"{CAMERA_FILES_SETTING} is empty"
        )
    placed = _in_folder(path, folder, f"{_digest(path.as_uri())}-{path.name}")
    return _users_camera(path.as_uri(), path.name, placed.as_uri())


def _users_camera(given: str, name: str, url: str) -> WantedCamera:
    return WantedCamera(f"local-{_digest(given)}", f"Camera {name}", url)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def _in_folder(file: Path, folder: Path, name: str) -> Path:
    """Link a file into the folder as ``name``, or copy the file if that fails. Return the path."""
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
        # replace() does nothing if both paths are links to the same file.
        fresh.unlink(missing_ok=True)
    except OSError as error:
        raise StartError(f"cannot copy {file} to {folder}: {error}") from error
    return placed


def ensure_camera(layout: Layout, access: Access, wanted: WantedCamera, waiter: Waiter) -> Access:
    """Register a camera if necessary. Add its ID to the access file, and return the new content.

    Raises:
        StartError: the API rejects the camera.
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
            raise StartError(f"camera {wanted.name} was rejected: {error}") from error

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
        # The clone has been moved.
        client.cameras.update(known["id"], {"rtspUrl": wanted.rtsp_url})
    return known["id"]
