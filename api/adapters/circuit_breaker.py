"""Waits for a dependency as long as it answers at all; else calls fail immediately."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import structlog

from api.errors import NO_ANSWER, Dependency, DependencyUnavailableError

log = structlog.get_logger()

HealthCheck = Callable[[], Awaitable[object]]
"""Returns once a dependency has answered over a connection of its own: a refusal is an answer."""

_SLOW_SECONDS = 1.5
_HEALTH_CHECK_SECONDS = 3.0
_PAUSE_SECONDS = 1.0


class CircuitBreaker:
    """Guards the calls of one dependency.

    A server that hangs accepts connections and says nothing. While a call is slow the dependency's
    health is checked; any other call's answer counts as healthy too. When the check times out the
    breaker opens: calls under way are given up and others fail immediately, until a check succeeds
    again. A call that a healthy dependency works on may take its time-out.
    """

    def __init__(
        self,
        dependency: Dependency,
        health_check: HealthCheck,
        *,
        slow_seconds: float = _SLOW_SECONDS,
        health_check_seconds: float = _HEALTH_CHECK_SECONDS,
    ) -> None:
        """A call that takes ``slow_seconds`` starts a check, which has ``health_check_seconds``."""
        self._dependency = dependency
        self._health_check = health_check
        self._slow_seconds = slow_seconds
        self._health_check_seconds = health_check_seconds
        self._calls: set[asyncio.Timeout] = set()
        self._slow: set[asyncio.Timeout] = set()
        self._answers_heard = 0
        self._is_open = False
        self._checking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def call(self, timeout_seconds: float) -> AsyncIterator[None]:
        """Wait for the call in the block, but no longer than ``timeout_seconds``.

        Raises:
            DependencyUnavailableError: there is no answer.
        """
        if self._is_open:
            raise DependencyUnavailableError(self._dependency)
        call = asyncio.timeout(timeout_seconds)
        slow = asyncio.get_running_loop().call_later(self._slow_seconds, self._on_slow_call, call)
        try:
            async with call:
                self._calls.add(call)
                yield
            self._answers_heard += 1
        except TimeoutError as error:
            trouble = NO_ANSWER if self._is_open else f"timed out after {timeout_seconds:g} s"
            raise DependencyUnavailableError(self._dependency, trouble) from error
        finally:
            slow.cancel()
            self._calls.discard(call)
            self._slow.discard(call)

    def close(self) -> None:
        """Check no more."""
        if self._checking is not None:
            self._checking.cancel()

    def _on_slow_call(self, call: asyncio.Timeout) -> None:
        self._slow.add(call)
        if self._checking is None:
            self._checking = asyncio.create_task(self._check_until_closed())

    async def _check_until_closed(self) -> None:
        """Check the health until it is good and no call is slow."""
        try:
            while self._is_open or self._slow:
                self._set_open(is_open=not await self._answers())
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._checking = None

    async def _answers(self) -> bool:
        heard = self._answers_heard
        try:
            async with asyncio.timeout(self._health_check_seconds):
                await self._health_check()
        except TimeoutError:
            # On a machine at its limit a new connection can take longer than an old one's answer.
            return self._answers_heard != heard
        except Exception:
            # The edge of the loop: if it ended, a dependency that is down would never recover.
            log.exception("probe_failed", part=self._dependency.value)
        return True

    def _set_open(self, *, is_open: bool) -> None:
        if is_open and not self._is_open:
            log.warning("part_away", part=self._dependency.value, calls=len(self._calls))
        elif self._is_open and not is_open:
            log.info("part_back", part=self._dependency.value)
        self._is_open = is_open
        if is_open:
            for call in self._calls:
                if not call.expired():
                    call.reschedule(0)


def http_health_check(url: str) -> HealthCheck:
    """Return what asks the server at ``url``: any answer to any request will do."""
    # Imported here: commands that only need the database would wait for it.
    import aiohttp

    async def ask() -> None:
        with suppress(aiohttp.ClientError, OSError):
            async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=False):
                pass

    return ask
