"""A webhook receiver in a process of its own: when each delivery came, and one that can hang."""

import asyncio
import json
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

from aiohttp import web

_HANGING_PATH = "/99"
_BACKLOG = 1024
_LISTEN_SECONDS = 0.01


class CountingReceiver:
    """The receiver as the benchmark sees it."""

    def __init__(self) -> None:
        """Start it."""
        self._ours, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_receive, args=(theirs,), daemon=True)
        self._process.start()
        self.port: int = self._ours.recv()

    def url(self, path: str) -> str:
        """Return an address of it."""
        return f"http://127.0.0.1:{self.port}{path}"

    def count(self) -> int:
        """Return how many deliveries came so far, without those to the endpoint that can hang."""
        return int(self._asked("count"))

    def hang(self, *, is_on: bool) -> None:
        """Answer the hundredth endpoint no more, or answer all that wait."""
        self._asked("hang" if is_on else "answer")

    def seen(self) -> dict[str, float]:
        """Return when (Unix seconds) each recognition came first, and forget."""
        found: dict[str, float] = self._asked("seen")
        return found

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.join()

    def _asked(self, command: str) -> Any:
        self._ours.send(command)
        return self._ours.recv()


def _receive(pipe: Connection) -> None:
    asyncio.run(_Endpoints().serve(pipe))


class _Endpoints:
    """What runs in the receiver's process."""

    def __init__(self) -> None:
        self._first_seconds: dict[str, float] = {}
        self._count = 0
        self._may_answer = asyncio.Event()
        self._may_answer.set()

    async def serve(self, pipe: Connection) -> None:
        """Tell the port, then answer deliveries and what comes through the pipe."""
        app = web.Application()
        app.router.add_post("/{tail:.*}", self._take)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=_BACKLOG).start()
        pipe.send(runner.addresses[0][1])
        while True:
            if pipe.poll():
                pipe.send(self._told(pipe.recv()))
            await asyncio.sleep(_LISTEN_SECONDS)

    async def _take(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        if request.path == _HANGING_PATH:
            await self._may_answer.wait()
            return web.Response()
        self._first_seconds.setdefault(body["data"]["recognition"]["id"], time.time())
        self._count += 1
        return web.Response()

    def _told(self, command: str) -> object:
        match command:
            case "hang":
                self._may_answer.clear()
            case "answer":
                self._may_answer.set()
            case "count":
                return self._count
            case "seen":
                found, self._first_seconds, self._count = self._first_seconds, {}, 0
                return found
        return None
