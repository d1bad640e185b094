"""How long a call waits for a part of the service: as long as the part answers at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import aiohttp
import structlog

from api.parts import NO_ANSWER, Part, PartAwayError

log = structlog.get_logger()

Probe = Callable[[], Awaitable[object]]
"""Returns once a part has given a sign of life, over a connection of its own: a refusal is one."""

_SLOW_SECONDS = 1.5
_PROBE_SECONDS = 3.0
_PAUSE_SECONDS = 1.0


class Patience:
    """Waits for the calls of one part.

    A server that stands still takes connections and says nothing. While a call is slow the part is
    asked for a sign of life, which any other call's answer is too. Without one, calls under way are
    given up and others fail at once, until there is one again. A call that the part works on may
    take what it takes, and one that it refuses fails by itself.
    """

    def __init__(
        self,
        part: Part,
        probe: Probe,
        *,
        slow_seconds: float = _SLOW_SECONDS,
        probe_seconds: float = _PROBE_SECONDS,
    ) -> None:
        """A call that takes ``slow_seconds`` has the part asked, which has ``probe_seconds``."""
        self._part = part
        self._probe = probe
        self._slow_seconds = slow_seconds
        self._probe_seconds = probe_seconds
        self._calls: set[asyncio.Timeout] = set()
        self._slow: set[asyncio.Timeout] = set()
        self._answers_heard = 0
        self._is_away = False
        self._asking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def waiting(self, most_seconds: float) -> AsyncIterator[None]:
        """Wait for what is called in the block, but no longer than ``most_seconds``.

        Raises:
            PartAwayError: there is no answer.
        """
        if self._is_away:
            raise PartAwayError(self._part)
        call = asyncio.timeout(most_seconds)
        doubt = asyncio.get_running_loop().call_later(self._slow_seconds, self._doubt, call)
        try:
            async with call:
                self._calls.add(call)
                yield
            self._answers_heard += 1
        except TimeoutError as error:
            trouble = NO_ANSWER if self._is_away else f"took over {most_seconds:g} s"
            raise PartAwayError(self._part, trouble) from error
        finally:
            doubt.cancel()
            self._calls.discard(call)
            self._slow.discard(call)

    def close(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()

    def _doubt(self, call: asyncio.Timeout) -> None:
        self._slow.add(call)
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        """Ask for signs of life until there is one and no call is slow."""
        try:
            while self._is_away or self._slow:
                self._note(is_away=not await self._answers())
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._asking = None

    async def _answers(self) -> bool:
        heard = self._answers_heard
        try:
            async with asyncio.timeout(self._probe_seconds):
                await self._probe()
        except TimeoutError:
            # On a machine at its limit a new connection can take longer than an old one's answer.
            return self._answers_heard != heard
        except Exception:
            # The edge of the loop: if it ended, a part that is away would never be back.
            log.exception("probe_failed", part=self._part.value)
        return True

    def _note(self, *, is_away: bool) -> None:
        if is_away and not self._is_away:
            log.warning("part_away", part=self._part.value, calls=len(self._calls))
        elif self._is_away and not is_away:
            log.info("part_back", part=self._part.value)
        self._is_away = is_away
        if is_away:
            for call in self._calls:
                if not call.expired():
                    call.reschedule(0)


def http_probe(url: str) -> Probe:
    """Return what asks the server at ``url``: any answer to any request will do."""

    async def ask() -> None:
        with suppress(aiohttp.ClientError, OSError):
            async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=False):
                pass

    return ask
