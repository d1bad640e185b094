"""Runs a webhook receiver in a separate process."""

import asyncio
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from aiohttp import web

_BACKLOG = 1024
_LISTEN_SECONDS = 0.01
_COUNT, _FIRST = "count", "first"


class Receiver:
    """Queries the receiver from the benchmark's process."""

    def __init__(self, pipe: Connection) -> None:
        """``pipe`` is the connection to the receiver's process."""
        self._pipe = pipe
        self._port = int(pipe.recv())

    def url(self, number: int = 0) -> str:
        """Return the URL of an endpoint."""
        return f"http://127.0.0.1:{self._port}/{number}"

    def count(self) -> int:
        """Return the number of deliveries since the last call to :meth:`first`."""
        self._pipe.send(_COUNT)
        return int(self._pipe.recv())

    def first(self) -> dict[str, tuple[float, str]]:
        """Return the time (Unix s) and phase of each plate's first delivery, and reset the records.

        The phase is empty if the event has no phase.
        """
        self._pipe.send(_FIRST)
        found: dict[str, tuple[float, str]] = self._pipe.recv()
        return found


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    """Run and yield a receiver that responds to every delivery with 200 during the block."""
    # Do not fork, because the child would inherit the benchmark's connections.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_receive, args=(theirs,), daemon=True)
    process.start()
    try:
        yield Receiver(ours)
    finally:
        process.kill()
        process.join()


def _receive(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    first: dict[str, tuple[float, str]] = {}
    count = 0

    async def take(request: web.Request) -> web.Response:
        nonlocal count
        data = json.loads(await request.read())["data"]
        arrived = (time.time(), data.get("phase", ""))
        first.setdefault(data["recognition"]["plate"], arrived)
        count += 1
        return web.Response()

    app = web.Application()
    app.router.add_post("/{tail:.*}", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=_BACKLOG).start()
    pipe.send(runner.addresses[0][1])
    while True:
        while pipe.poll():
            if pipe.recv() == _COUNT:
                pipe.send(count)
                continue
            pipe.send(first)
            first, count = {}, 0
        await asyncio.sleep(_LISTEN_SECONDS)
