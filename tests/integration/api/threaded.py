"""An application that runs in its own thread, for tools that call it synchronously."""

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass

from api.db.database import Database
from common.settings import DatabaseSettings, S3Settings
from tests.integration.api.application import Caller, Options, running_application
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.serving import served

_START_SECONDS = 60


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
def serving_in_thread(
    settings: DatabaseSettings, *, credits: int, s3: S3Settings | None = None
) -> Iterator[ThreadedApi]:
    """Yield a running API. A worker claims all cameras, and event streams end immediately."""
    started: queue.Queue[ThreadedApi | BaseException] = queue.Queue()
    stop = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
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
            started.put(ThreadedApi(address, caller))
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(run())
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
