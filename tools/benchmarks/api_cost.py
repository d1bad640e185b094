"""Measures the overhead of the API, compared with a bare FastAPI app and the bare models.

Command: ``python -m tools.benchmarks.api_cost [--rows 20000] [--seconds 10] [--calls 60]``. Prints
requests per second and CPU time per request of the list call and of a bare app
(:mod:`tools.benchmarks.bare_list`) that runs the same query on the same rows. Then prints the CPU
time that an image call takes in all processes of the API (minus the CPU time when idle), and the
CPU time of the bare models on the same image.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import cv2
import psutil

from common.settings import load_settings
from deploy.local.ports import free_ports
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from tools.benchmarks.demo_clip import demo_frame
from tools.benchmarks.queries import fill
from tools.benchmarks.stack import BenchmarkStack, cpu_seconds, running_stack, wait_until

_CONNECTIONS = 8
_ROUNDS = 3
_WARM_UP_CALLS = 5
_IDLE_SECONDS = 5.0


@dataclass(frozen=True)
class Load:
    """Requests per second that a server handles under load, and CPU time per request."""

    per_second: float
    cpu_ms: float


async def _request(port: int, head: bytes, until: float) -> int:
    """Repeat a request over a connection until the time ``until``. Return the number of replies."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answered = 0
    while time.monotonic() < until:
        writer.write(head)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        answered += 1
    writer.close()
    return answered


def load(pid: int, port: int, path: str, key: str, seconds: float) -> Load:
    """Send requests to a server over several connections, and return the measured load."""
    head = f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n".encode()

    async def all_connections() -> int:
        until = time.monotonic() + seconds
        return sum(
            await asyncio.gather(*(_request(port, head, until) for _ in range(_CONNECTIONS)))
        )

    before, started = cpu_seconds(pid), time.monotonic()
    requests = asyncio.run(all_connections())
    took = time.monotonic() - started
    return Load(requests / took, 1000 * (cpu_seconds(pid) - before) / requests)


@contextmanager
def bare_app(stack: BenchmarkStack, owner: UUID) -> Iterator[tuple[int, int]]:
    """Run the bare app during the block, and yield the app's process ID and port."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "uvicorn", "tools.benchmarks.bare_list:app"]
    command += ["--port", str(port), "--no-access-log", "--log-level", "warning"]
    process = subprocess.Popen(command, env={**stack.environment, "BARE_OWNER": str(owner)})
    try:
        wait_until("the bare app listens", lambda: _listens(process.pid, port))
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(20)


def _listens(pid: int, port: int) -> bool:
    sockets = psutil.Process(pid).net_connections("tcp")
    return any(one.laddr.port == port and one.status == psutil.CONN_LISTEN for one in sockets)


def compare_lists(stack: BenchmarkStack, seconds: float) -> None:
    """Measure the list call and the bare app alternately, and print both."""
    ours, bare = list[Load](), list[Load]()
    with bare_app(stack, stack.owner_id()) as (pid, port):
        # The first round warms up the servers.
        for _ in range(1 + _ROUNDS):
            key = stack.api_key
            path = "/api/recognitions"
            ours.append(load(stack.pid("api"), stack.api_port, path, key, seconds))
            bare.append(load(pid, port, "/recognitions", key, seconds))
    for name, loads in (("list call", ours[1:]), ("bare app", bare[1:])):
        shown = ", ".join(f"{one.per_second:.0f}/s at {one.cpu_ms:.2f} ms" for one in loads)
        print(f"{name:10} {shown} of CPU time")
    ratios = [a.per_second / b.per_second for a, b in zip(ours[1:], bare[1:], strict=True)]
    print(f"requests/s, list call ÷ bare app: {statistics.median(ratios):.2f}")


def compare_images(stack: BenchmarkStack, image: bytes, calls: int) -> None:
    """Print the CPU time of an image call, and of the models alone."""
    headers = {"Content-Type": "application/octet-stream"}

    def call() -> float:
        started = time.perf_counter()
        stack.call("POST", "/api/recognize", content=image, headers=headers)
        return (time.perf_counter() - started) * 1000

    for _ in range(_WARM_UP_CALLS):
        call()
    pid = stack.pid("api")
    before = cpu_seconds(pid)
    time.sleep(_IDLE_SECONDS)
    idle = (cpu_seconds(pid) - before) / _IDLE_SECONDS
    before, started = cpu_seconds(pid), time.monotonic()
    took_ms = [call() for _ in range(calls)]
    used = cpu_seconds(pid) - before - idle * (time.monotonic() - started)
    call_ms, bare_ms = 1000 * used / calls, _bare_ms(image, calls)
    print(
        f"image call: {call_ms:.1f} ms of CPU time, bare models {bare_ms:.1f} ms:"
        f" {call_ms / bare_ms:.2f}; p50 {statistics.median(took_ms):.0f} ms;"
        f" {100 * idle:.1f} % of a core when idle"
    )


def _bare_ms(image: bytes, calls: int) -> float:
    cv2.setNumThreads(1)
    recognizer = Recognizer(load_settings(RecognizerSettings))
    for _ in range(_WARM_UP_CALLS):
        recognizer.recognize(decode_image(image))
    started = time.process_time()
    for _ in range(calls):
        recognizer.recognize(decode_image(image))
    return (time.process_time() - started) * 1000 / calls


def main() -> None:
    """Run both comparisons on a new stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--calls", type=int, default=60)
    arguments = parser.parse_args()
    with running_stack() as stack:
        stack.run_only("api")
        fill(stack, arguments.rows)
        compare_lists(stack, arguments.seconds)
        compare_images(stack, demo_frame(), arguments.calls)


if __name__ == "__main__":
    main()
