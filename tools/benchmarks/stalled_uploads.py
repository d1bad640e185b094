"""Image calls beside uploads that stall: how long they take, and what memory the API takes.

    python -m tools.benchmarks.stalled_uploads IMAGE [--stalled 200] [--seconds 20]

Starts a whole stack of its own, without a camera. An owner has an image read again and again while
uploads of 10 MiB stand one byte before their end: none, those of one other owner, of ten other
owners, and of the demo without a key. An upload that is ended comes again a second later. Prints
the answers to the owner, how long they took, what became of the uploads, and by how much the
resident memory of the API process (without its recognisers) grew at most.
"""

import argparse
import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import httpx
import psutil
from sqlalchemy.orm import Session

from api.accounts.service import create_key, create_owner
from api.db.database import Database
from api.middleware.bodies import MAX_IMAGE_BYTES
from api.security.permissions import Scope
from common.settings import DatabaseSettings
from tests.services.stack import RunningStack

_MANY_OWNERS = 10
_DEMO_CALLS_PER_ADDRESS = 5
_PAUSE_SECONDS = 1.0
_CALL_INTERVAL_SECONDS = 0.1
_SAMPLE_SECONDS = 0.05
_PIECE = bytes(256 << 10)
_JPEG = b"\xff\xd8\xff\xe0"


@dataclass
class Memory:
    """Resident bytes of a process, at first and at most."""

    first: int
    most: int


@dataclass
class Answers:
    """The answers to the honest owner, and what became of uploads."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    uploads: Counter[str] = field(default_factory=Counter)


@contextmanager
def watched(pid: int) -> Iterator[Memory]:
    """Watch the resident memory of a process while the block runs."""
    process, over = psutil.Process(pid), Event()
    first = process.memory_info().rss
    memory = Memory(first, first)

    def watch() -> None:
        while not over.wait(_SAMPLE_SECONDS):
            memory.most = max(memory.most, process.memory_info().rss)

    watching = Thread(target=watch)
    watching.start()
    try:
        yield memory
    finally:
        over.set()
        watching.join()


def _new_key(session: Session, number: int) -> str:
    owner = create_owner(
        session,
        email=f"owner-{number}@platestream.example",
        password="long enough",
        timezone="UTC",
        credits=1000,
    )
    scopes = frozenset({Scope.RECOGNITIONS_WRITE})
    return create_key(session, owner.id, name="stalls", scopes=scopes).plain_key


async def upload(port: int, address: str, path: str, key: str | None) -> str:
    """Send all of an image but a byte, and return what became of it."""
    said = "connection refused"
    with suppress(OSError, asyncio.IncompleteReadError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
        said = "connection reset"
        try:
            authorization = "" if key is None else f"Authorization: Bearer {key}\r\n"
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: a\r\n{authorization}"
                "Content-Type: application/octet-stream\r\n"
                f"Content-Length: {MAX_IMAGE_BYTES}\r\n\r\n".encode()
                + _JPEG
            )
            left = MAX_IMAGE_BYTES - len(_JPEG) - 1
            answer = asyncio.ensure_future(reader.readline())
            while left and not answer.done():
                writer.write(_PIECE[:left])
                await writer.drain()
                left -= len(_PIECE[:left])
            line = await answer
            said = line.split(b" ")[1].decode() if line else "closed without an answer"
        finally:
            writer.close()
    return said


async def _stall(
    port: int, address: str, path: str, key: str | None, answers: Answers, until: float
) -> None:
    while time.monotonic() < until:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(
                asyncio.get_running_loop().time() + until - time.monotonic()
            ):
                answers.uploads[await upload(port, address, path, key)] += 1
        await asyncio.sleep(_PAUSE_SECONDS)


async def _honest(stack: RunningStack, image: bytes, answers: Answers, until: float) -> None:
    headers = {
        "Authorization": f"Bearer {stack.access.api_key}",
        "Content-Type": "application/octet-stream",
    }
    async with httpx.AsyncClient(base_url=stack.access.base_url, timeout=60) as client:
        while time.monotonic() < until:
            started = time.perf_counter()
            answer = await client.post("/api/recognize", content=image, headers=headers)
            answers.seconds.append(time.perf_counter() - started)
            answers.statuses[answer.status_code] += 1
            await asyncio.sleep(_CALL_INTERVAL_SECONDS)


async def _beside(
    stack: RunningStack, image: bytes, path: str, keys: Sequence[str | None], seconds: float
) -> Answers:
    """Ask while an upload stalls with each of ``keys``."""
    answers, port = Answers(), int(stack.access.base_url.rpartition(":")[2])
    until = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for number, key in enumerate(keys):
            address = f"127.0.1.{1 + number // _DEMO_CALLS_PER_ADDRESS}"
            group.create_task(_stall(port, address, path, key, answers, until))
        group.create_task(_honest(stack, image, answers, until))
    return answers


def measure(
    stack: RunningStack, image: bytes, name: str, path: str, keys: Sequence[str | None], s: float
) -> None:
    """Print one line."""
    with watched(stack.pid("api")) as memory:
        answers = asyncio.run(_beside(stack, image, path, keys, s))
    took = sorted(1000 * one for one in answers.seconds)
    p50, p95 = took[len(took) // 2], took[round(0.95 * (len(took) - 1))]
    print(
        f"{name:32} answers {dict(answers.statuses)}, p50 {p50:.0f} ms, p95 {p95:.0f} ms; "
        f"memory +{(memory.most - memory.first) >> 20} MiB from {memory.first >> 20}; "
        f"uploads ended {dict(answers.uploads)}",
        flush=True,
    )


def main() -> None:
    """Measure one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image", type=Path)
    parser.add_argument("--stalled", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    image, count, seconds = arguments.image.read_bytes(), arguments.stalled, arguments.seconds
    # What refuses calls by their number is not what is measured.
    limits = dict.fromkeys(("IMAGE_CALLS_PER_MINUTE", "REQUESTS_PER_MINUTE"), "1000000")
    settings = {f"{name}_PER_OWNER": value for name, value in limits.items()}
    with (
        TemporaryDirectory(prefix="platestream-bench-") as folder,
        RunningStack(Path(folder), settings) as stack,
    ):
        database = Database(stack.settings(DatabaseSettings), pool_size=1)
        keys = [
            asyncio.run(database.run(lambda session, n=number: _new_key(session, n)))  # type: ignore[misc]
            for number in range(_MANY_OWNERS)
        ]
        database.close()
        many = list(itertools.islice(itertools.cycle(keys), count))
        recognize, demo = "/api/recognize", "/api/demo"
        measure(stack, image, "nothing beside it", recognize, [], seconds)
        measure(stack, image, f"{count} of one owner", recognize, keys[:1] * count, seconds)
        measure(stack, image, f"{count} of {_MANY_OWNERS} owners", recognize, many, seconds)
        measure(stack, image, f"{count} without a key", demo, [None] * count, seconds)
        measure(stack, image, "nothing beside it, afterwards", recognize, [], seconds)


if __name__ == "__main__":
    main()
