"""The few calls that the local stack makes to its own API."""

from typing import Any

import msgspec
import urllib3

from deploy.local.servers.base import NotReadyError

_TIMEOUT_SECONDS = 15.0


class ApiError(Exception):
    """The API refused a call; the message is the API's own sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(f"{status}: {sentence}")
        self.status = status


class CameraAtApi(msgspec.Struct, frozen=True, rename="camel"):
    """The fields needed of a camera as the API shows it."""

    id: str
    identifier: str
    rtsp_url: str


class _Camera(msgspec.Struct):
    camera: CameraAtApi


class _Cameras(msgspec.Struct):
    cameras: tuple[CameraAtApi, ...]


class _Error(msgspec.Struct):
    error: str = ""


class ApiClient:
    """Calls with one key."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url = base_url
        self._headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}

    def cameras(self) -> tuple[CameraAtApi, ...]:
        """Return the owner's cameras.

        Raises:
            ApiError: the key is refused, for example.
            NotReadyError: the API does not answer yet.
        """
        return msgspec.json.decode(self._call("GET", "/api/cameras"), type=_Cameras).cameras

    def create_camera(self, *, identifier: str, name: str, rtsp_url: str) -> CameraAtApi:
        """Register a camera.

        Raises:
            ApiError: the address is refused, for example.
            NotReadyError: no ingest worker took it yet.
        """
        body = {"identifier": identifier, "name": name, "rtspUrl": rtsp_url}
        return msgspec.json.decode(self._call("POST", "/api/cameras", body), type=_Camera).camera

    def move_camera(self, camera_id: str, *, rtsp_url: str) -> None:
        """Give a camera another stream address.

        Raises:
            ApiError: the address is refused, for example.
            NotReadyError: the API does not answer yet.
        """
        self._call("PUT", f"/api/cameras/{camera_id}", {"rtspUrl": rtsp_url})

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        try:
            answer = urllib3.request(
                method,
                self._base_url + path,
                body=None if body is None else msgspec.json.encode(body),
                headers=self._headers,
                timeout=_TIMEOUT_SECONDS,
                retries=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise NotReadyError(f"{method} {path}: {error}") from error
        if answer.status in (429, 502, 503):
            raise NotReadyError(f"{method} {path}: {_sentence(answer.data)}")
        if answer.status >= 400:
            raise ApiError(answer.status, _sentence(answer.data))
        return answer.data


def _sentence(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Error).error
    except msgspec.DecodeError:
        return body[:200].decode(errors="replace")
