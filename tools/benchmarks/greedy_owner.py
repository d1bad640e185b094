"""Ten owners who do what is usual beside one who takes all that he is let: what they lose by it.

    python -m tools.benchmarks.greedy_owner [--seconds 60] [--fair 10]

Starts a whole stack of its own. Each fair owner has a camera at 1 frame/s, a recognition every
other second, which sets off an alert and a webhook, a list call a second and an image call every
ten. First they are alone, then beside the greedy one: cameras at 60 frames/s, 16 image calls and 16
lists at once, 200 alerts that all match two recognitions a second, one replay after the other, 100
open streams. Frames and recognitions are put on their topics as ingest and tracking do. Prints the
share of the fair owners' frames that was not read, and the p95 of their calls, alerts and
deliveries, alone and beside, and both as a ratio. ``--greedy frames,calls,...`` takes a part of it.

The limits are those of an installation where nothing is set; the greedy owner asks with so many
keys that the account's own is the one that holds. With ``--unlimited`` requests have no limit. What
he does is done by a process of its own, which stands back from the service (nice 10), as if it were
done elsewhere; what came of it is printed.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import Queue
from multiprocessing.synchronize import Event as EventType
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

import httpx
import msgspec
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from sqlalchemy.orm import Session

from api.accounts.service import create_key, create_owner
from api.db.database import Database
from api.security.permissions import Scope
from api.settings import ApiSettings
from common.kafka.clients import consumer_options, producer_options, topic_name
from common.records.alerts import AlertTrigger
from common.records.codec import decode, encode
from common.records.frames import FRAME_META_HEADER, FrameKind, FrameMeta
from common.records.ids import recognition_id
from common.records.recognitions import FrameReadings
from common.records.topics import ALERTS, FRAMES, READINGS, RECOGNITIONS
from common.settings import DatabaseSettings, KafkaSettings
from common.timestamps import now_ms
from tests.records import recognition
from tests.services.stack import RunningStack
from tools.benchmarks.counting_receiver import CountingReceiver
from tools.benchmarks.demo_picture import demo_picture

_CREDITS = 1_000_000
_FAIR_FPS, _GREEDY_FPS, _GREEDY_CAMERAS = 1.0, 60.0, 2
_FAIR_RECOGNITIONS_HZ, _GREEDY_RECOGNITIONS_HZ = 0.5, 2.0
_ALERTS, _STREAMS, _AT_ONCE, _REPLAYED = 200, 100, 16, 1_000
_LIST_SECONDS, _IMAGE_SECONDS = 1.0, 10.0
_SETTLE_SECONDS, _DRAIN_SECONDS = 10.0, 20.0
_TIMEOUT_SECONDS = 60.0
_GREEDY_KEYS = 12
_NICE = 10
_FIRST_GREEDY_NUMBER = 1_000_000
_GREEDY = ("frames", "calls", "alerts", "replays", "streams")


@dataclass(frozen=True)
class Owner:
    """An account with a camera; more than one key is for asking more than one may."""

    id: UUID
    keys: tuple[str, ...]
    camera_id: UUID = field(default_factory=uuid4)


@dataclass
class Seen:
    """What was measured in one phase, seconds by what was waited for; frames by whether they
    were read, None: nothing came of them in time.
    """

    frames: Counter[bool | None] = field(default_factory=Counter)
    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    def p95_ms(self, what: str) -> float:
        """Return the p95, or infinity where nothing came."""
        taken = sorted(self.seconds[what])
        return 1000 * taken[round(0.95 * (len(taken) - 1))] if taken else float("inf")


class Topics:
    """Puts frames and recognitions on their topics, and notes readings and alerts."""

    def __init__(self, kafka: KafkaSettings, picture: bytes) -> None:
        self._kafka, self._picture = kafka, picture
        self._producer = KafkaProducer(**producer_options(kafka, "greedy-owner"))
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.sent_seconds: dict[UUID, float] = {}
        self.sent_frames: dict[tuple[UUID, int], bool] = {}
        """By camera and time of capture: whether it was read; no entry is no answer yet."""
        self.alert_seconds: dict[UUID, float] = {}

    def close(self) -> None:
        """End all threads."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._producer.close()

    def follow(self) -> None:
        """Begin to note what comes out."""
        self._threads.append(threading.Thread(target=self._follow))
        self._threads[-1].start()

    def again_and_again(
        self, rate_hz: float, do: Callable[[], object], until: threading.Event
    ) -> None:
        """Do it at a rate in a thread until then."""

        def run() -> None:
            due = time.monotonic()
            while not until.wait(max(0.0, due - time.monotonic())) and not self._over.is_set():
                due = max(due + 1 / rate_hz, time.monotonic() - 1)
                do()

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def send_frame(self, owner: Owner, camera_id: UUID) -> tuple[UUID, int]:
        """Send the picture as a frame of now."""
        meta = FrameMeta(
            kind=FrameKind.FRAME,
            camera_id=camera_id,
            owner_id=owner.id,
            camera_name="Bench",
            captured_ms=now_ms(),
            width_px=1920,
            height_px=1080,
        )
        self._producer.send(
            topic_name(self._kafka, FRAMES),
            key=str(camera_id).encode(),
            value=self._picture,
            headers=[(FRAME_META_HEADER, encode(meta))],
        )
        return camera_id, meta.captured_ms

    def send_recognition(self, owner: Owner, number: int) -> UUID:
        """Publish a pass of now."""
        captured_ms = now_ms()
        seen = msgspec.structs.replace(
            recognition(number, captured_ms=captured_ms),
            id=recognition_id(captured_ms, owner.camera_id, str(number)),
            owner_id=owner.id,
            camera_id=owner.camera_id,
            plate=f"GR{number:05}",
            photo_key=None,
            crop_key=None,
        )
        self.sent_seconds[seen.id] = time.time()
        key = str(owner.camera_id).encode()
        self._producer.send(topic_name(self._kafka, RECOGNITIONS), encode(seen), key)
        return seen.id

    def _follow(self) -> None:
        consumer = KafkaConsumer(**consumer_options(self._kafka, "greedy-owner"))
        readings = topic_name(self._kafka, READINGS)
        topics = (readings, topic_name(self._kafka, ALERTS))
        numbers = range(self._kafka.kafka_partitions)
        consumer.assign([TopicPartition(topic, n) for topic in topics for n in numbers])
        consumer.seek_to_end()
        while not self._over.is_set():
            for partition, records in consumer.poll(timeout_ms=200).items():
                for record in records:
                    if partition.topic == readings:
                        one = decode(FrameReadings, record.value)
                        self.sent_frames[one.camera_id, one.captured_ms] = not one.stale
                    else:
                        trigger = decode(AlertTrigger, record.value)
                        at = record.timestamp / 1000
                        self.alert_seconds.setdefault(trigger.recognition.id, at)
        consumer.close()


class Bench:
    """One stack with its owners."""

    def __init__(self, stack: RunningStack, fair: int, receiver: CountingReceiver) -> None:
        self._stack, self._receiver = stack, receiver
        self.picture = demo_picture()
        self.topics = Topics(stack.settings(KafkaSettings), self.picture)
        database = Database(stack.settings(DatabaseSettings), pool_size=1)
        self.owners = [
            asyncio.run(database.run(_new_owner(n, keys=1 if n else _GREEDY_KEYS)))
            for n in range(fair + 1)
        ]
        database.close()
        self.greedy, *self.fair = self.owners
        self._numbers = itertools.count()

    def client(self, owner: Owner) -> httpx.AsyncClient:
        """Return a client with an owner's key."""
        return _client(self._stack.access.base_url, owner)

    async def set_up(self) -> str:
        """Make alerts and webhooks; return the id of the greedy owner's webhook."""
        webhook = ""
        for owner in self.owners:
            async with self.client(owner) as http:
                body = {
                    "name": "Bench",
                    "url": self._receiver.url(f"/{owner.id}"),
                    "events": ["recognition.created"],
                }
                answer = await http.post("/api/webhooks", json=body)
                if owner is self.greedy:
                    webhook = answer.json()["webhook"]["id"]
                await self._make_alert(http, "all")
        return webhook

    async def make_greedy_alerts(self) -> None:
        """Make as many alerts as an account may have."""
        async with self.client(self.greedy) as http:
            for number in range(_ALERTS - 1):
                await self._make_alert(http, f"all {number}")

    async def _make_alert(self, http: httpx.AsyncClient, name: str) -> None:
        body = {"name": name, "plateMatchMode": "any", "cooldownMinutes": 0, "notifications": []}
        (await http.post("/api/alertas", json=body)).raise_for_status()

    async def phase(self, seconds: float, greedy: Sequence[str], webhook: str) -> Seen:
        """Let the fair owners do as usual, beside what the greedy one does of ``greedy``."""
        over = threading.Event()
        seen, recognitions, frames = Seen(), list[UUID](), list[tuple[UUID, int]]()
        load = GreedyLoad(
            self._stack.access.base_url,
            self._stack.settings(KafkaSettings),
            self.greedy,
            tuple(greedy),
            webhook,
        )
        beside = BesideProcess(load)
        await asyncio.sleep(_SETTLE_SECONDS)
        self._receiver.seen()
        for owner in self.fair:
            self.topics.again_and_again(
                _FAIR_FPS,
                lambda o=owner: frames.append(  # type: ignore[misc]
                    self.topics.send_frame(o, o.camera_id)
                ),
                over,
            )
            self.topics.again_and_again(
                _FAIR_RECOGNITIONS_HZ,
                lambda o=owner: recognitions.append(  # type: ignore[misc]
                    self.topics.send_recognition(o, next(self._numbers))
                ),
                over,
            )
        async with asyncio.TaskGroup() as group:
            for owner in self.fair:
                group.create_task(self._be_fair(owner, seen, time.monotonic() + seconds))
        over.set()
        print(f"the greedy one's answers: {await asyncio.to_thread(beside.end)}", flush=True)
        await asyncio.sleep(_DRAIN_SECONDS)
        delivered = self._receiver.seen()
        for one in recognitions:
            sent = self.topics.sent_seconds[one]
            # What has not come by now took at least so long.
            seen.seconds["delivery"].append(delivered.get(str(one), time.time()) - sent)
            seen.seconds["alert"].append(self.topics.alert_seconds.get(one, time.time()) - sent)
        seen.frames.update(self.topics.sent_frames.get(frame) for frame in frames)
        return seen

    async def _be_fair(self, owner: Owner, seen: Seen, until: float) -> None:
        async with self.client(owner) as http:

            async def ask(what: str, pause: float, method: str, path: str, body: bytes) -> None:
                await asyncio.sleep(pause * (self.fair.index(owner) + 1) / len(self.fair))
                while time.monotonic() < until:
                    began = time.monotonic()
                    status = 0
                    with suppress(httpx.HTTPError):
                        kind = {"Content-Type": "application/octet-stream"}
                        answer = await http.request(method, path, content=body, headers=kind)
                        status = answer.status_code
                    took = time.monotonic() - began
                    seen.seconds[what].append(took)
                    seen.statuses[what, status] += 1
                    await asyncio.sleep(max(0.0, pause - took))

            await asyncio.gather(
                ask("list", _LIST_SECONDS, "GET", "/api/recognitions?limit=20", b""),
                ask("image", _IMAGE_SECONDS, "POST", "/api/recognize", self.picture),
            )

    def publish_history(self) -> None:
        """Publish what the greedy owner replays."""
        for _ in range(_REPLAYED):
            self.topics.send_recognition(self.greedy, next(self._numbers))


def _client(base_url: str, owner: Owner) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=base_url,
        auth=_AnyKey(owner.keys),
        timeout=_TIMEOUT_SECONDS,
        limits=httpx.Limits(max_connections=None),
    )


@dataclass
class GreedyLoad:
    """The load of the greedy owner: ``what`` of it, until it is over."""

    base_url: str
    kafka: KafkaSettings
    owner: Owner
    what: tuple[str, ...]
    webhook: str
    statuses: Counter[str] = field(default_factory=Counter)

    def run(self, over: EventType, counted: "Queue[Counter[str]]") -> None:
        """Do it (the body of a process) and return the number of answers by status."""
        os.nice(_NICE)
        topics = Topics(self.kafka, demo_picture())
        until = threading.Event()
        try:
            asyncio.run(self._run(topics, over, until))
        finally:
            until.set()
            topics.close()
            counted.put(self.statuses)

    async def _run(self, topics: Topics, over: EventType, until: threading.Event) -> None:
        numbers = itertools.count(_FIRST_GREEDY_NUMBER)
        if "frames" in self.what:
            for camera_id in (uuid4() for _ in range(_GREEDY_CAMERAS)):
                topics.again_and_again(
                    _GREEDY_FPS, partial(topics.send_frame, self.owner, camera_id), until
                )
        if "alerts" in self.what:
            topics.again_and_again(
                _GREEDY_RECOGNITIONS_HZ,
                lambda: topics.send_recognition(self.owner, next(numbers)),
                until,
            )
        async with _client(self.base_url, self.owner) as http:
            tasks = [asyncio.create_task(work) for work in self._calls(http)]
            await asyncio.to_thread(over.wait)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _calls(self, http: httpx.AsyncClient) -> Iterator[Coroutine[Any, Any, None]]:
        kind = {"Content-Type": "application/octet-stream"}
        for _ in range(_AT_ONCE if "calls" in self.what else 0):
            image = http.build_request(
                "POST", "/api/recognize", content=demo_picture(), headers=kind
            )
            yield self._repeat(http, "image", image)
            lists = http.build_request("GET", "/api/recognitions?limit=200")
            yield self._repeat(http, "list", lists)
        if "replays" in self.what:
            to = (datetime.now(UTC) + timedelta(days=1)).isoformat()
            replay = http.build_request(
                "POST",
                f"/api/webhooks/{self.webhook}/replay",
                content=msgspec.json.encode({"from": "2026-01-01T00:00:00Z", "to": to}),
                headers={"Content-Type": "application/json"},
            )
            yield self._repeat(http, "replay", replay)
        for _ in range(_STREAMS if "streams" in self.what else 0):
            yield self._follow_stream(http)

    async def _repeat(self, http: httpx.AsyncClient, what: str, call: httpx.Request) -> None:
        while True:
            answer = None
            with suppress(httpx.HTTPError):
                answer = await http.send(call)
            self.statuses[f"{what} {answer.status_code if answer else 0}"] += 1
            # Who is refused asks again soon.
            await asyncio.sleep(0.0 if answer and answer.is_success else 0.1)

    async def _follow_stream(self, http: httpx.AsyncClient) -> None:
        while True:
            with suppress(httpx.HTTPError):
                async with http.stream("GET", "/api/recognitions/stream") as answer:
                    async for _ in answer.aiter_lines():
                        pass
            await asyncio.sleep(0.5)


class BesideProcess:
    """A load in a process of its own, from now until its end."""

    def __init__(self, load: GreedyLoad) -> None:
        context = multiprocessing.get_context("spawn")
        self._over, self._counted = context.Event(), context.Queue()
        self._process = context.Process(target=load.run, args=(self._over, self._counted))
        self._process.start()

    def end(self) -> dict[str, int]:
        """End it, and return the number of answers by what was asked and status."""
        self._over.set()
        counted = self._counted.get()
        self._process.join()
        return dict(sorted(counted.items()))


class _AnyKey(httpx.Auth):
    """Sends an account's keys in turns."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = itertools.cycle(keys)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {next(self._keys)}"
        yield request


def _new_owner(number: int, *, keys: int) -> Callable[[Session], Owner]:
    def make(session: Session) -> Owner:
        owner = create_owner(
            session,
            email=f"owner-{number}@platestream.example",
            password="long enough",
            timezone="UTC",
            credits=_CREDITS,
        )
        made = [
            create_key(session, owner.id, name=f"bench {n}", scopes=frozenset(Scope)).plain_key
            for n in range(keys)
        ]
        return Owner(owner.id, tuple(made))

    return make


def _rows(alone: Seen, beside: Seen) -> Iterator[str]:
    for seen, name in ((alone, "alone"), (beside, "beside")):
        left_out, late, all_ = seen.frames[False], seen.frames[None], sum(seen.frames.values())
        lost = (left_out + late) / max(1, all_)
        yield f"frames not read, {name}: {left_out} left out, {late} late, of {all_} ({lost:.1%})"
    for what in ("list", "image", "alert", "delivery"):
        first, then = alone.p95_ms(what), beside.p95_ms(what)
        yield f"{what}: p95 {first:.0f} ms alone, {then:.0f} ms beside: {then / first:.2f}"
    for seen, name in ((alone, "alone"), (beside, "beside")):
        counted = {f"{what} {status}": n for (what, status), n in sorted(seen.statuses.items())}
        yield f"answers {name}: {counted}"


async def _measure(bench: Bench, seconds: float, greedy: Sequence[str]) -> None:
    webhook = await bench.set_up()
    bench.topics.follow()
    await asyncio.sleep(_SETTLE_SECONDS)
    alone = await bench.phase(seconds, (), webhook)
    if "replays" in greedy:
        bench.publish_history()
        await asyncio.sleep(_DRAIN_SECONDS)
    if "alerts" in greedy:
        await bench.make_greedy_alerts()
    beside = await bench.phase(seconds, greedy, webhook)
    print("\n".join(_rows(alone, beside)), flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks.greedy_owner")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--fair", type=int, default=10)
    parser.add_argument("--greedy", default=",".join(_GREEDY), help="A part of what he does.")
    parser.add_argument("--unlimited", action="store_true", help="Requests have no limit.")
    arguments = parser.parse_args()
    with ExitStack() as open_things:
        folder = open_things.enter_context(TemporaryDirectory(prefix="platestream-bench-"))
        receiver = CountingReceiver()
        open_things.callback(receiver.close)
        settings = {"WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8"}
        if not arguments.unlimited:
            settings |= {
                name: str(ApiSettings.model_fields[name.lower()].default)
                for name in ("RATE_LIMIT_PER_MINUTE", "RATE_LIMIT_RECOGNIZE_PER_MINUTE")
            }
        stack = open_things.enter_context(RunningStack(Path(folder), settings))
        bench = Bench(stack, arguments.fair, receiver)
        open_things.callback(bench.topics.close)
        asyncio.run(_measure(bench, arguments.seconds, arguments.greedy.split(",")))


if __name__ == "__main__":
    main()
