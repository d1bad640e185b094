"""An application that runs in its own thread, for tools that call it synchronously."""

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from api.db.database import Database
from common.settings import DatabaseSettings, S3Settings
from tests.integration.api.application import Caller, Options, running_application
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.serving import served

_START_SECONDS = 60
_T = TypeVar("_T")


@dataclass(frozen=True)
class ThreadedApi:
    """The address of the API, and an account with an API key that has all scopes."""

    address: str
    caller: Caller

    @property
    def headers(self) -> dict[str, str]:
        """The header with the account's API key."""
        return {"Authorization": f"Bearer {self.caller.key}"}


@contextmanager
def run_in_thread(
    run: Callable[[Callable[[_T], None], asyncio.Event], Coroutine[Any, Any, None]],
) -> Iterator[_T]:
    """Run a coroutine in a thread, and yield what it starts.

    ``run`` gets a function that it calls with what it has started, and an event that is set at the
    end of the block.
    """
    started: queue.Queue[_T | BaseException] = queue.Queue()
    stop = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def running() -> None:
        loops.append(asyncio.get_running_loop())
        await run(started.put, stop)

    def work() -> None:
        try:
            asyncio.run(running())
        except BaseException as error:
            started.put(error)
            raise

    thread = threading.Thread(target=work, name="api")
    thread.start()
    try:
        found = started.get(timeout=_START_SECONDS)
        if isinstance(found, BaseException):
            raise found
        yield found
    finally:
        with suppress(RuntimeError):
            for loop in loops:
                loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=_START_SECONDS)
        assert not thread.is_alive()


@contextmanager
def serving_in_thread(
    settings: DatabaseSettings, *, credits: int, s3: S3Settings | None = None
) -> Iterator[ThreadedApi]:
    """Yield a running API. A worker claims all cameras, and event streams end immediately."""

    async def run(started: Callable[[ThreadedApi], None], stop: asyncio.Event) -> None:
        database = Database(settings, pool_size=8)
        async with AsyncExitStack() as held:
            held.callback(database.close)
            application = await held.enter_async_context(
                running_application(database, Options(s3=s3, feeds_streams=True))
            )
            application.services.live.end_all()
            await held.enter_async_context(taking_cameras(application))
            address = await held.enter_async_context(served(application))
            caller = await application.new_owner(credits=credits)
            started(ThreadedApi(address, caller))
            await stop.wait()

    with run_in_thread(run) as api:
        yield api
