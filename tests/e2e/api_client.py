"""What a program that knows only the API would write."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from tests.waiting import wait_until

T = TypeVar("T")


class ApiClient:
    """The API with one key. Every call asserts the status it expects."""

    def __init__(self, base_url: str, api_key: str) -> None:
        """Take address and key."""
        self._http = httpx.Client(
            base_url=base_url, headers={"Authorization": f"Bearer {api_key}"}, timeout=30
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(self, method: str, path: str, *, expect: int = 200, **options: Any) -> httpx.Response:
        """Send a request and return the answer, which must have the status ``expect``."""
        answer = self.attempt(method, path, **options)
        while answer.status_code == 429 and expect != 429:
            time.sleep(float(answer.headers["Retry-After"]))
            answer = self.attempt(method, path, **options)
        assert answer.status_code == expect, answer.text
        return answer

    def attempt(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the answer, whatever it is."""
        return self._http.request(method, path, **options)

    def create_camera(self, url: str, **fields: Any) -> str:
        """Register a camera and return its id."""
        body = {"name": "Gate", "rtspUrl": url, **fields}
        camera = self.call("POST", "/api/cameras", expect=201, json=body).json()["camera"]
        return str(camera["id"])

    def camera(self, camera_id: str) -> dict[str, Any]:
        """Return one camera as the list shows it."""
        cameras = self.call("GET", "/api/cameras").json()["cameras"]
        found: dict[str, Any] = next(c for c in cameras if c["id"] == camera_id)
        return found

    def recognitions(self, camera_id: str) -> list[dict[str, Any]]:
        """Return all recognitions of a camera, newest first, page by page."""
        found: list[dict[str, Any]] = []
        query = {"cameraId": camera_id, "limit": "200"}
        while True:
            page = self.call("GET", "/api/recognitions", params=query).json()
            found += page["recognitions"]
            if page["nextKey"] is None:
                return found
            query["lastKey"] = page["nextKey"]

    def wait_until(self, what: str, condition: Callable[[], T], *, seconds: float) -> T:
        """Return the first true value of ``condition``, asked seldom: calls are limited."""
        return wait_until(what, condition, seconds, poll_seconds=0.2)
