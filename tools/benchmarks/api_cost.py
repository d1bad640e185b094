"""The cost of the API itself: beside a bare FastAPI app, and beside bare models.

    python -m tools.benchmarks.api_cost IMAGE [--rows 100000] [--seconds 10] [--calls 60]

Starts a whole stack of its own, without a camera. Prints requests a second and CPU a request of the
list call and of a bare app (:mod:`tools.benchmarks.bare_list`) with the same query on the same
rows; CPU an image of the image call (all processes of the API) and of the bare models on the same
picture; how long image calls take while more callers ask than there are recognisers. CPU times bear
with other work on the machine, requests a second do not. What the API's processes take while nobody
asks is left out of an image call's time, and printed by itself.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import cv2
import httpx
import psutil

from common.settings import load_settings
from deploy.local.ports import free_ports
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from tests.e2e.api_client import ApiClient
from tests.services.stack import RunningStack
from tests.waiting import wait_until
from tools.benchmarks.list_call import fill, owner_of

_CONNECTIONS = 8
_MANY_CALLERS = (4, 16)
_ROUNDS = 3
_IDLE_SECONDS = 5.0


@dataclass(frozen=True)
class Load:
    """What a server did under load."""

    requests: int
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        """Requests answered in a second."""
        return self.requests / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU of the server for each request."""
        return 1000 * self.cpu_seconds / self.requests


def family_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children so far."""
    process = psutil.Process(pid)
    members = [process, *process.children(recursive=True)]
    return float(sum(sum(member.cpu_times()[:2]) for member in members))


def idle_cpu_share(pid: int) -> float:
    """Return how much of a core a process and its children take while nobody asks for anything."""
    before, started = family_cpu_seconds(pid), time.monotonic()
    time.sleep(_IDLE_SECONDS)
    return (family_cpu_seconds(pid) - before) / (time.monotonic() - started)


async def _ask(port: int, head: bytes, until: float) -> int:
    """Send the same request again and again over one connection; return how often it was 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answered = 0
    while time.monotonic() < until:
        writer.write(head)
        said = await reader.readuntil(b"\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 200"), said
        length = int(said.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        answered += 1
    writer.close()
    return answered


async def _load(port: int, path: str, key: str, seconds: float) -> tuple[int, float]:
    head = f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    started = time.monotonic()
    counts = await asyncio.gather(
        *(_ask(port, head, started + seconds) for _ in range(_CONNECTIONS))
    )
    return sum(counts), time.monotonic() - started


def load(pid: int, port: int, path: str, key: str, seconds: float) -> Load:
    """Ask one server with several connections at once."""
    before = family_cpu_seconds(pid)
    requests, took = asyncio.run(_load(port, path, key, seconds))
    return Load(requests, took, family_cpu_seconds(pid) - before)


@contextmanager
def bare_app(stack: RunningStack, owner: UUID) -> Iterator[tuple[int, int]]:
    """Yield pid and port of the bare app."""
    (port,) = free_ports(1)
    environment = {**os.environ, **stack.environment, "BARE_OWNER": str(owner)}
    command = (
        sys.executable,
        "-m",
        "uvicorn",
        "tools.benchmarks.bare_list:app",
        "--port",
        str(port),
    )
    options = ("--no-access-log", "--log-level", "warning")
    process = subprocess.Popen((*command, *options), env=environment)
    try:
        wait_until("it listens", lambda: _listens(port))
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(20)


def _listens(port: int) -> bool:
    return any(
        one.laddr.port == port and one.status == psutil.CONN_LISTEN
        for one in psutil.net_connections("tcp")
    )


def compare_lists(stack: RunningStack, owner: UUID, seconds: float) -> None:
    """Print the list call beside the bare app, in turns."""
    key, api_port = stack.access.api_key, int(stack.access.base_url.rpartition(":")[2])
    with bare_app(stack, owner) as (pid, port):
        ours: list[Load] = []
        bare: list[Load] = []
        for _ in range(_ROUNDS + 1):
            ours.append(load(stack.pid("api"), api_port, "/api/recognitions", key, seconds))
            bare.append(load(pid, port, "/recognitions", key, seconds))
    # The first round warms up.
    ratios = [a.per_second / b.per_second for a, b in zip(ours[1:], bare[1:], strict=True)]
    for name, loads in (("list call", ours), ("bare app", bare)):
        shown = ", ".join(f"{one.per_second:.0f}/s at {one.cpu_ms:.2f} ms" for one in loads[1:])
        print(f"{name:10} {shown} of CPU")
    print(f"requests/s, list call ÷ bare app: {statistics.median(ratios):.2f}")


def compare_images(stack: RunningStack, image: Path, calls: int) -> None:
    """Print the CPU of an image call beside that of the models alone, and how long calls take."""
    data = image.read_bytes()
    bare_ms = _bare_ms(data, calls)
    api = ApiClient(stack.access.base_url, stack.access.api_key)
    headers = {"Content-Type": "application/octet-stream"}

    def call() -> float:
        started = time.perf_counter()
        api.call("POST", "/api/recognize", content=data, headers=headers)
        return (time.perf_counter() - started) * 1000

    for _ in range(5):
        call()
    pid = stack.pid("api")
    idle = idle_cpu_share(pid)
    before, started = family_cpu_seconds(pid), time.monotonic()
    took_ms = [call() for _ in range(calls)]
    used = family_cpu_seconds(pid) - before - idle * (time.monotonic() - started)
    call_ms = used * 1000 / calls
    api.close()
    print(
        f"image call: {call_ms:.1f} ms of CPU, bare models {bare_ms:.1f} ms: "
        f"{call_ms / bare_ms:.2f}; one caller p50 {statistics.median(took_ms):.0f} ms; "
        f"{100 * idle:.1f} % of a core without calls"
    )


def saturate_images(stack: RunningStack, image: Path, calls: int) -> None:
    """Print how long image calls take while more callers ask than there are recognisers."""
    data = image.read_bytes()
    for callers in _MANY_CALLERS:
        started = time.perf_counter()
        took_ms = sorted(asyncio.run(_image_calls(stack, data, calls, callers)))
        per_second = len(took_ms) / (time.perf_counter() - started)
        p50, p95 = took_ms[len(took_ms) // 2], took_ms[round(0.95 * (len(took_ms) - 1))]
        print(f"{callers:2} callers: {per_second:.1f} images/s, p50 {p50:.0f} ms, p95 {p95:.0f} ms")


async def _image_calls(stack: RunningStack, data: bytes, calls: int, callers: int) -> list[float]:
    """Return the milliseconds of each of ``callers`` × ``calls`` image calls."""
    headers = {
        "Authorization": f"Bearer {stack.access.api_key}",
        "Content-Type": "application/octet-stream",
    }
    took_ms: list[float] = []

    async def ask() -> None:
        for _ in range(calls):
            started = time.perf_counter()
            answer = await client.post("/api/recognize", content=data, headers=headers)
            took_ms.append((time.perf_counter() - started) * 1000)
            assert answer.status_code == 200, answer.text

    async with httpx.AsyncClient(base_url=stack.access.base_url, timeout=60) as client:
        await asyncio.gather(*(ask() for _ in range(callers)))
    return took_ms


def _bare_ms(data: bytes, calls: int) -> float:
    cv2.setNumThreads(1)
    recognizer = Recognizer(load_settings(RecognizerSettings))

    def work() -> object:
        return recognizer.recognize(decode_image(data))

    return _mean_cpu_ms(work, calls)


def _mean_cpu_ms(work: Callable[[], object], calls: int) -> float:
    for _ in range(3):
        work()
    started = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - started) * 1000 / calls


def main() -> None:
    """Run all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--calls", type=int, default=60)
    arguments = parser.parse_args()
    limits = {"RATE_LIMIT_PER_MINUTE": "1000000", "RATE_LIMIT_RECOGNIZE_PER_MINUTE": "1000000"}
    with (
        TemporaryDirectory(prefix="platestream-bench-") as folder,
        RunningStack(Path(folder), limits) as stack,
    ):
        owner = owner_of(stack)
        asyncio.run(fill(stack, owner, arguments.rows, int(time.time() * 1000)))
        compare_lists(stack, owner, arguments.seconds)
        compare_images(stack, arguments.image, arguments.calls)
        saturate_images(stack, arguments.image, arguments.calls)


if __name__ == "__main__":
    main()
