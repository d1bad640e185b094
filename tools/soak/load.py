"""What clients and cameras do all day long, at a pace: passes, calls, changes, streams."""

import asyncio
import itertools
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import httpx

from common.settings import KafkaSettings
from deploy.local.access import Access
from tests.blocks import RunsForABlock
from tests.fault.plates import Plates

_DAY_SECONDS = 86_400.0
_PLATES_BLOCK_SECONDS = 120.0
_TIMEOUT_SECONDS = 60.0
_STREAM_SECONDS = 60.0
_STREAMS = 5


@dataclass(frozen=True)
class Day:
    """What happens in 24 hours on an installation that has much to do."""

    passes: int = 60_000
    searches: int = 30_000
    image_calls: int = 4_800
    stored_calls: int = 1_200
    pictures: int = 6_000
    analytics: int = 1_200
    changes: int = 2_400
    log_ins: int = 240
    unknown_keys: int = 600
    refused_bodies: int = 600


class Passes(RunsForABlock):
    """Publishes passes as the recognition stage does, until the end of the block."""

    def __init__(self, kafka: KafkaSettings, owner_id: UUID, rate_hz: float) -> None:
        self._kafka, self._owner_id, self._rate_hz = kafka, owner_id, rate_hz
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.sent = 0

    def _run(self) -> None:
        # By blocks: what one has sent, it keeps.
        while not self._over.is_set():
            plates = Plates(self._kafka, self._owner_id, rate_hz=self._rate_hz, first=self.sent)
            with plates:
                self._over.wait(_PLATES_BLOCK_SECONDS)
            self.sent = plates.begun

    def _begin(self) -> None:
        self._thread.start()

    def _end(self, error: BaseException | None) -> None:
        self._over.set()
        self._thread.join()


class Clients(RunsForABlock):
    """Calls the API in a thread of its own. ``statuses`` are by what was asked and answered."""

    def __init__(
        self, access: Access, day: Day, speed: float, images: Sequence[bytes], camera: str
    ) -> None:
        """Take what a day has, and how many times faster than that it goes."""
        self._access, self._day, self._speed = access, day, speed
        self._images, self._camera = itertools.cycle(images), camera
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._lock = threading.Lock()
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[tuple[str, int]] = Counter()

    def latencies_ms(self) -> dict[str, float]:
        """Return the p95 by what was asked since the last time."""
        with self._lock:
            taken, self._seconds = self._seconds, defaultdict(list)
        return {
            what: 1000 * sorted(each)[round(0.95 * (len(each) - 1))] for what, each in taken.items()
        }

    async def _run(self) -> None:
        headers = {"Authorization": f"Bearer {self._access.api_key}"}
        async with httpx.AsyncClient(
            base_url=self._access.base_url, headers=headers, timeout=_TIMEOUT_SECONDS
        ) as http:
            asked: dict[str, tuple[int, Callable[[int], Awaitable[httpx.Response]]]] = {
                "search": (self._day.searches, lambda n: self._search(http, n)),
                "image": (self._day.image_calls, lambda _: self._recognize(http, "")),
                "image, stored": (
                    self._day.stored_calls,
                    lambda _: self._recognize(http, "?store=true"),
                ),
                "picture": (self._day.pictures, lambda _: self._picture(http)),
                "analytics": (self._day.analytics, lambda _: http.get("/api/analytics")),
                "change": (self._day.changes, lambda n: self._change(http, n)),
                "log-in": (self._day.log_ins, lambda _: self._log_in(http)),
                "unknown key": (self._day.unknown_keys, lambda n: self._unknown_key(http, n)),
                "refused body": (
                    self._day.refused_bodies,
                    lambda _: http.post("/api/recognize", content=b"\xff\xd8\xff\xe0 not one"),
                ),
            }
            async with asyncio.TaskGroup() as group:
                for what, (a_day, ask) in asked.items():
                    pause = _DAY_SECONDS / (a_day * self._speed)
                    group.create_task(self._again_and_again(what, pause, ask))
                for _ in range(_STREAMS):
                    group.create_task(self._follow_stream(http))

    async def _again_and_again(
        self, what: str, pause: float, ask: Callable[[int], Awaitable[httpx.Response]]
    ) -> None:
        chance = random.Random(what)
        for number in itertools.count():
            # A client that waits for an answer asks no second time.
            await asyncio.sleep(pause * chance.uniform(0.5, 1.5))
            if self._over.is_set():
                return
            began = time.perf_counter()
            try:
                status = (await ask(number)).status_code
            except httpx.HTTPError:
                status = 0
            with self._lock:
                self._seconds[what].append(time.perf_counter() - began)
                self.statuses[what, status] += 1

    async def _search(self, http: httpx.AsyncClient, number: int) -> httpx.Response:
        queries = (
            {"limit": "50"},
            {"limit": "50", "plate": f"FA{number:06}"},
            {"limit": "20", "plate": "*A0*1", "match": "wildcard"},
            {"limit": "50", "cameraId": self._camera},
            {"limit": "20", "minConfidence": "0.5"},
        )
        return await http.get("/api/recognitions", params=queries[number % len(queries)])

    async def _recognize(self, http: httpx.AsyncClient, query: str) -> httpx.Response:
        kind = {"Content-Type": "application/octet-stream"}
        return await http.post(f"/api/recognize{query}", content=next(self._images), headers=kind)

    async def _picture(self, http: httpx.AsyncClient) -> httpx.Response:
        page = await http.get("/api/recognitions", params={"limit": "1", "cameraId": self._camera})
        found = page.json().get("recognitions") if page.status_code == 200 else None
        if not found:
            return page
        answer = await http.get(f"/api/recognitions/{found[0]['id']}")
        if answer.status_code != 200:
            return answer
        url = answer.json()["recognition"].get("photoUrl")
        if url is None:
            return answer
        request = http.build_request("GET", url)
        # The link is signed, and S3 takes a second credential for a fault.
        del request.headers["Authorization"]
        return await http.send(request)

    async def _change(self, http: httpx.AsyncClient, number: int) -> httpx.Response:
        """Make an alert and a camera, change them, look at the lists, delete both."""
        body = {
            "name": f"Soak {number}",
            "plateMatchMode": "specific",
            "plates": [f"SO{number:06}"],
            "notifications": [],
        }
        made = await http.post("/api/alertas", json=body)
        if made.status_code != 201:
            return made
        alert = made.json()["alert"]["id"]
        await http.put(f"/api/alertas/{alert}", json={"name": f"Soak {number} again"})
        fields = {"name": "Soak", "rtspUrl": "http://127.0.0.1:9/", "enabled": False}
        taken = await http.post("/api/cameras", json=fields | {"identifier": f"soak-{number}-off"})
        for path in ("/api/alertas", "/api/cameras", "/api/webhooks"):
            await http.get(path)
        if taken.status_code == 201:
            await http.delete(f"/api/cameras/{taken.json()['camera']['id']}")
        removed = await http.delete(f"/api/alertas/{alert}")
        return removed if taken.status_code == 201 else taken

    async def _log_in(self, http: httpx.AsyncClient) -> httpx.Response:
        body = {"email": self._access.email, "password": self._access.password}
        return await http.post("/api/session", json=body, headers={"Authorization": ""})

    async def _unknown_key(self, http: httpx.AsyncClient, number: int) -> httpx.Response:
        headers = {"Authorization": f"Bearer pk_{number:040}"}
        return await http.get("/api/cameras", headers=headers)

    async def _follow_stream(self, http: httpx.AsyncClient) -> None:
        while not self._over.is_set():
            until = time.monotonic() + _STREAM_SECONDS
            try:
                async with http.stream("GET", "/api/recognitions/stream") as answer:
                    async for _ in answer.aiter_lines():
                        if time.monotonic() > until or self._over.is_set():
                            break
                status = answer.status_code
            except httpx.HTTPError:
                status = 0
            with self._lock:
                self.statuses["stream", status] += 1
            await asyncio.sleep(1)

    def _begin(self) -> None:
        self._thread.start()

    def _end(self, error: BaseException | None) -> None:
        self._over.set()
        self._thread.join()
