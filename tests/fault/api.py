"""The API as the fault tests use it. While it is down, every call can raise httpx.HTTPError."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import httpx
import numpy as np

_PAGE = "50"
_TIMEOUT_SECONDS = 15


@dataclass(frozen=True)
class Listed:
    """A recognition as the list returns it."""

    id: str
    camera_id: str
    plate: str
    timestamp: str


@dataclass(frozen=True)
class Answer:
    """Status, text and duration of a call; the status is 0 if the API did not respond."""

    status: int
    text: str
    seconds: float


class Api:
    def __init__(self, base_url: str, api_key: str, ready_url: str) -> None:
        """Take the API's address, a key, and the address of ``/readyz``."""
        self._ready_url = ready_url
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=_TIMEOUT_SECONDS,
        )

    def close(self) -> None:
        self._http.close()

    def is_ready(self) -> bool:
        """Return whether the API and all dependencies respond."""
        return self._http.get(self._ready_url).status_code == httpx.codes.OK

    def create_camera(self, url: str, **fields: Any) -> str:
        """Create a camera, wait until an ingest worker claims the camera, and return its ID."""
        body = {"name": "Fault", "rtspUrl": url, **fields}
        return str(self._call("POST", "/api/cameras", json=body)["camera"]["id"])

    def enable_camera(self, camera_id: str, *, enabled: bool) -> None:
        """Enable or disable a camera."""
        self._call("PUT", f"/api/cameras/{camera_id}", json={"enabled": enabled})

    def delete_camera(self, camera_id: str) -> None:
        self._call("DELETE", f"/api/cameras/{camera_id}")

    def camera(self, camera_id: str) -> dict[str, Any]:
        cameras: list[dict[str, Any]] = self._call("GET", "/api/cameras")["cameras"]
        return next(camera for camera in cameras if camera["id"] == camera_id)

    def create_alert(self, body: Mapping[str, Any]) -> None:
        self._call("POST", "/api/alertas", json=body)

    def create_webhook(self, url: str, *events: str) -> str:
        body = {"name": "Fault", "url": url, "events": events}
        return str(self._call("POST", "/api/webhooks", json=body)["webhook"]["id"])

    def trigger_counts(self) -> dict[str, int]:
        """Return the number of triggers of each alert, by the alert's name."""
        alerts = self._call("GET", "/api/alertas")["alerts"]
        return {alert["name"]: alert["triggerCount"] for alert in alerts}

    def credits(self) -> int:
        return int(self._call("GET", "/api/credits")["credits"])

    def reads(self, image: bytes) -> bool:
        """Return whether the image call finds a plate."""
        headers = {"Content-Type": "application/octet-stream"}
        return bool(self._call("POST", "/api/recognize", content=image, headers=headers)["plates"])

    def ask(self, method: str, path: str, **options: Any) -> Answer:
        """Return the response to a call, whatever the status."""
        began = time.monotonic()
        try:
            answer = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            return Answer(0, repr(error), time.monotonic() - began)
        return Answer(answer.status_code, answer.text, time.monotonic() - began)

    def recognitions(self, camera_id: str | None = None) -> list[Listed]:
        """Return all recognitions, or those of one camera, newest first, from all pages."""
        found: list[Listed] = []
        query = {"limit": _PAGE} | ({} if camera_id is None else {"cameraId": camera_id})
        while True:
            page = self._call("GET", "/api/recognitions", params=query)
            found += [_listed(fields) for fields in page["recognitions"]]
            if page["nextKey"] is None:
                return found
            query["lastKey"] = page["nextKey"]

    def image_faults(self, recognition_id: str) -> list[str]:
        """Return the faults of a recognition's images; empty if both images can be loaded."""
        one = self._call("GET", f"/api/recognitions/{recognition_id}")["recognition"]
        faults = ((name, _image_fault(one.get(name))) for name in ("photoUrl", "cropUrl"))
        return [f"{name}: {fault}" for name, fault in faults if fault]

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self._http.request(method, path, **options)
        answer.raise_for_status()
        body: dict[str, Any] = answer.json()
        return body


def _listed(fields: dict[str, Any]) -> Listed:
    return Listed(fields["id"], fields["cameraId"], fields["plate"], fields["timestamp"])


def _image_fault(url: str | None) -> str | None:
    if url is None:
        return "no address"
    answer = httpx.get(url, timeout=_TIMEOUT_SECONDS)
    if answer.status_code != httpx.codes.OK:
        return f"status {answer.status_code}"
    decoded = cv2.imdecode(np.frombuffer(answer.content, np.uint8), cv2.IMREAD_COLOR)
    return "not an image" if decoded is None else None
