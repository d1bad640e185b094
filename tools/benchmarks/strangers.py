"""Calls of an owner beside 2,000 connections of strangers who have no key.

    python -m tools.benchmarks.strangers [--seconds 300] [--connections 2000]

Starts a whole stack of its own, without a camera. An owner lists recognitions and has an image read
again and again, first alone, then beside strangers from some hundred addresses of 127.0.0.0/8: a
quarter each send bodies that stall (to the demo, without a key), ask for large answers and do not
read them, send a byte of a request's head every other second, and ask with keys that nobody has,
one a second. What the service ends comes again a second later. Each of the owner's calls is
on a new connection. Prints the answers and their p95 alone and beside, what became of the
strangers' connections, by how much the memory of the API process grew at most, and whether any
process was started again.
"""

import argparse
import asyncio
import itertools
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from multiprocessing import Process, Queue
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.services.stack import RunningStack
from tools.benchmarks.demo_picture import demo_picture
from tools.benchmarks.stalled_uploads import Answers, upload, watched

_PAUSE_SECONDS = 1.0
_LIST_SECONDS, _IMAGE_SECONDS = 0.2, 1.0
_BYTE_SECONDS = 2.0
_FEW_BYTES = 4096
_NEVER_READ_SECONDS = 3_600.0
_PER_ADDRESS = 10
_BEGIN_SECONDS = 10.0
_TIMEOUT_SECONDS = 120.0

Stranger = Callable[[int, str], Awaitable[str]]
"""Does one thing from an address at a port, and returns what became of it."""


async def _stall(port: int, address: str) -> str:
    return await upload(port, address, "/api/demo", None)


async def _do_not_read(port: int, address: str) -> str:
    """Ask for the description again and again on one connection, and read nothing."""
    with socket.socket() as sock:
        # Before it connects: what the kernel takes in for us is no answer that waits.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _FEW_BYTES)
        sock.setblocking(False)
        sock.bind((address, 0))
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(sock, ("127.0.0.1", port))
            for _ in range(20):
                await loop.sock_sendall(sock, b"GET /api/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
            return await _until_closed(sock)
        except OSError as error:
            return type(error).__name__


async def _until_closed(sock: socket.socket) -> str:
    """Wait without reading until the other end has gone: a write then fails."""
    loop, until = asyncio.get_running_loop(), time.monotonic() + _NEVER_READ_SECONDS
    while time.monotonic() < until:
        await asyncio.sleep(5 * _PAUSE_SECONDS)
        await loop.sock_sendall(sock, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    return "stayed"


async def _send_a_slow_head(port: int, address: str) -> str:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    except OSError:
        return "connection refused"
    answer = asyncio.ensure_future(reader.read(15))
    try:
        for byte in itertools.cycle(b"GET /api/cameras HTTP/1.1\r\nX-Slow: slow"):
            writer.write(bytes([byte]))
            await writer.drain()
            done, _ = await asyncio.wait({answer}, timeout=_BYTE_SECONDS)
            if done:
                return answer.result().decode(errors="replace")[9:12] or "closed"
    except OSError:
        return "connection reset"
    finally:
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
        writer.close()
    return "ended"


async def _ask_with_unknown_keys(port: int, address: str) -> str:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    except OSError:
        return "connection refused"
    try:
        for number in itertools.count(time.monotonic_ns()):
            key = f"pk_{number:040x}"
            head = f"GET /api/cameras HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n"
            writer.write(head.encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in answer.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            await reader.readexactly(length)
            status = answer.split(b" ", 2)[1].decode()
            if status != "401":
                return status
            await asyncio.sleep(_PAUSE_SECONDS)
    except (OSError, asyncio.IncompleteReadError):
        return "closed"
    finally:
        writer.close()
    return "ended"


_KINDS: tuple[tuple[str, Stranger], ...] = (
    ("stalled body", _stall),
    ("reads nothing", _do_not_read),
    ("slow head", _send_a_slow_head),
    ("unknown keys", _ask_with_unknown_keys),
)


async def _come_again(
    kind: str, do: Stranger, port: int, address: str, ends: Counter[str], until: float
) -> None:
    loop = asyncio.get_running_loop()
    with suppress(TimeoutError):
        async with asyncio.timeout_at(loop.time() + until - time.monotonic()):
            while True:
                ends[f"{kind}: {await do(port, address)}"] += 1
                await asyncio.sleep(_PAUSE_SECONDS)


async def _ask(
    http: httpx.AsyncClient, pause: float, path: str, body: bytes, answers: Answers, until: float
) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    while time.monotonic() < until:
        began, status = time.perf_counter(), 0
        with suppress(httpx.HTTPError):
            method = "POST" if body else "GET"
            answer = await http.request(method, path, content=body, headers=headers)
            status = answer.status_code
        answers.seconds.append(time.perf_counter() - began)
        answers.statuses[status] += 1
        await asyncio.sleep(pause)


async def _be_strangers(port: int, count: int, seconds: float) -> Counter[str]:
    ends, until = Counter[str](), time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            kind, do = _KINDS[number % len(_KINDS)]
            place = number // _PER_ADDRESS
            address = f"127.0.{1 + place // 250}.{1 + place % 250}"
            group.create_task(_come_again(kind, do, port, address, ends, until))
    return ends


def _in_a_process(port: int, count: int, seconds: float, out: "Queue[Counter[str]]") -> None:
    out.put(asyncio.run(_be_strangers(port, count, seconds)))


async def _owners_calls(stack: RunningStack, image: bytes, seconds: float) -> dict[str, Answers]:
    until, lists, images = time.monotonic() + seconds, Answers(), Answers()
    headers = {"Authorization": f"Bearer {stack.access.api_key}"}
    async with (
        httpx.AsyncClient(
            base_url=stack.access.base_url,
            headers=headers,
            timeout=_TIMEOUT_SECONDS,
            limits=httpx.Limits(max_keepalive_connections=0),
        ) as http,
        asyncio.TaskGroup() as group,
    ):
        path = "/api/recognitions?limit=20"
        group.create_task(_ask(http, _LIST_SECONDS, path, b"", lists, until))
        group.create_task(_ask(http, _IMAGE_SECONDS, "/api/recognize", image, images, until))
    return {"list": lists, "image": images}


def _p95_ms(answers: Answers) -> float:
    took = sorted(answers.seconds)
    return 1000 * took[round(0.95 * (len(took) - 1))]


def measure(stack: RunningStack, strangers: int, seconds: float) -> None:
    """Print what the owner sees alone and beside them."""
    image = demo_picture()
    before = stack.processes()
    alone = asyncio.run(_owners_calls(stack, image, min(60.0, seconds)))
    port = int(stack.access.base_url.rpartition(":")[2])
    out: Queue[Counter[str]] = Queue()
    # In a process of its own: here its work would be part of what is measured.
    others = Process(target=_in_a_process, args=(port, strangers, seconds + _BEGIN_SECONDS, out))
    with watched(stack.pid("api")) as memory:
        others.start()
        time.sleep(_BEGIN_SECONDS)
        beside = asyncio.run(_owners_calls(stack, image, seconds))
        ends = out.get()
        others.join()
    for what in ("list", "image"):
        first, then = _p95_ms(alone[what]), _p95_ms(beside[what])
        print(
            f"{what}: p95 {first:.0f} ms alone, {then:.0f} ms beside: {then / first:.2f}; "
            f"answers {dict(alone[what].statuses)}, {dict(beside[what].statuses)}"
        )
    print(f"memory +{(memory.most - memory.first) >> 20} MiB from {memory.first >> 20}")
    print(f"strangers: {dict(sorted(ends.items()))}")
    after = stack.processes()
    print(
        f"started again: {[name for name, pid in before.items() if after[name] != pid] or 'none'}"
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks.strangers")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--connections", type=int, default=2_000)
    arguments = parser.parse_args()
    with (
        TemporaryDirectory(prefix="platestream-bench-") as folder,
        RunningStack(Path(folder)) as stack,
    ):
        measure(stack, arguments.connections, arguments.seconds)


if __name__ == "__main__":
    main()
