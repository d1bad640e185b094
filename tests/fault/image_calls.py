"""Image calls that are retried until the API responds, as a careful client does."""

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from tests.blocks import RunsForABlock

_TIMEOUT_SECONDS = 30
_PAUSE_SECONDS = 0.5
_GIVE_UP_SECONDS = 900
_IN_USE = "idempotency_key_in_use"


@dataclass(frozen=True)
class AnsweredCall:
    """A call: the plates in its response, and the number of attempts."""

    plates: tuple[str, ...]
    tries: int


class ImageCalls(RunsForABlock):
    """Sends an image again and again, each time under a new key, until the block ends.

    If an API does not respond, the call is sent to the next API.
    """

    def __init__(
        self, base_urls: Sequence[str], api_key: str, image: bytes, *, pause_seconds: float
    ) -> None:
        """Take the image and the pause between two calls."""
        self._urls = itertools.cycle(base_urls)
        self._http = httpx.Client(
            headers={
                "Authorization": f"Bearer {api_key}",
                "Content-Type": "application/octet-stream",
            },
            timeout=_TIMEOUT_SECONDS,
        )
        self._image = image
        self._pause_seconds = pause_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answered: list[AnsweredCall] = []
        self.faults: list[str] = []
        """Responses that no client should ever get."""

    def _run(self) -> None:
        while not self._over.wait(self._pause_seconds):
            self._call(str(uuid4()))

    def _call(self, key: str) -> None:
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        for tries in range(1, 100_000):
            body = self._try(key)
            if body is not None:
                plates = tuple(plate["plate"] for plate in body["plates"])
                self.answered.append(AnsweredCall(plates, tries))
                return
            if time.monotonic() > deadline:
                self.faults.append(f"{key}: no answer in {_GIVE_UP_SECONDS} s")
                return
            time.sleep(_PAUSE_SECONDS)

    def _try(self, key: str) -> Mapping[str, Any] | None:
        try:
            answer = self._http.post(
                f"{next(self._urls)}/api/recognize",
                params={"store": "true"},
                headers={"Idempotency-Key": key},
                content=self._image,
            )
        except httpx.HTTPError:
            return None
        if answer.status_code == httpx.codes.OK:
            body: Mapping[str, Any] = answer.json()
            return body
        if answer.status_code == httpx.codes.CONFLICT and _IN_USE in answer.text:
            # The previous attempt may have been interrupted. Its credits are released later.
            return None
        if answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
            self.faults.append(f"{key}: {answer.status_code} {answer.text}")
        return None

    def _begin(self) -> None:
        self._thread.start()

    def _end(self, error: BaseException | None) -> None:
        self._over.set()
        self._thread.join()
        self._http.close()
