"""Implements a circuit breaker: calls can be slow, but fail immediately if the dependency hangs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import structlog

from api.errors import NO_ANSWER, Dependency, DependencyUnavailableError

log = structlog.get_logger()

HealthCheck = Callable[[], Awaitable[object]]
"""Returns once a dependency responds over a separate connection. An error is also a response."""

_SLOW_SECONDS = 1.5
_HEALTH_CHECK_SECONDS = 3.0
_PAUSE_SECONDS = 1.0


class CircuitBreaker:
    """Guards the calls to one dependency.

    A server that hangs accepts connections but does not respond. While a call is slow, the
    dependency's health is checked; a response to any other call also counts as healthy. If a check
    times out, the breaker opens: running calls are cancelled and new calls fail immediately, until
    a check succeeds. While the dependency is healthy, a call can use its full timeout.
    """

    def __init__(
        self,
        dependency: Dependency,
        health_check: HealthCheck,
        *,
        slow_seconds: float = _SLOW_SECONDS,
        health_check_seconds: float = _HEALTH_CHECK_SECONDS,
    ) -> None:
        """A call that takes longer than ``slow_seconds`` triggers health checks.

        Each health check is limited to ``health_check_seconds``.
        """
        self._dependency = dependency
        self._health_check = health_check
        self._slow_seconds = slow_seconds
        self._health_check_seconds = health_check_seconds
        self._calls: set[asyncio.Timeout] = set()
        self._slow: set[asyncio.Timeout] = set()
        self._responses = 0
        self._is_open = False
        self._checking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def call(self, timeout_seconds: float) -> AsyncIterator[None]:
        """Limit the call in the block to ``timeout_seconds``.

        Raises:
            DependencyUnavailableError: the breaker is open, or the call timed out.
        """
        if self._is_open:
            raise DependencyUnavailableError(self._dependency)
        call = asyncio.timeout(timeout_seconds)
        slow = asyncio.get_running_loop().call_later(self._slow_seconds, self._on_slow_call, call)
        try:
            async with call:
                self._calls.add(call)
                yield
            self._responses += 1
        except TimeoutError as error:
            trouble = NO_ANSWER if self._is_open else f"timed out after {timeout_seconds:g} s"
            raise DependencyUnavailableError(self._dependency, trouble) from error
        finally:
            slow.cancel()
            self._calls.discard(call)
            self._slow.discard(call)

    def close(self) -> None:
        """Stop running health checks."""
        if self._checking is not None:
            self._checking.cancel()

    def _on_slow_call(self, call: asyncio.Timeout) -> None:
        self._slow.add(call)
        if self._checking is None:
            self._checking = asyncio.create_task(self._check_until_closed())

    async def _check_until_closed(self) -> None:
        """Check the health until the breaker is closed and no call is slow."""
        try:
            while self._is_open or self._slow:
                self._set_open(is_open=not await self._is_healthy())
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._checking = None

    async def _is_healthy(self) -> bool:
        before = self._responses
        try:
            async with asyncio.timeout(self._health_check_seconds):
                await self._health_check()
        except TimeoutError:
            # On an overloaded machine, connecting can take longer than a response to another call.
            return self._responses != before
        except Exception:
            # If an error ended the loop, an open breaker would never close again.
            log.exception("health_check_failed", dependency=self._dependency.value)
        return True

    def _set_open(self, *, is_open: bool) -> None:
        if is_open and not self._is_open:
            log.warning(
                "dependency_down", dependency=self._dependency.value, calls=len(self._calls)
            )
        elif self._is_open and not is_open:
            log.info("dependency_recovered", dependency=self._dependency.value)
        self._is_open = is_open
        if is_open:
            for call in self._calls:
                if not call.expired():
                    call.reschedule(0)


def http_health_check(url: str) -> HealthCheck:
    """Return a health check that sends a GET to ``url``. Only a timeout counts as unhealthy."""
    # The import is here so that commands that only need the database start faster.
    import aiohttp

    async def ask() -> None:
        with suppress(aiohttp.ClientError, OSError):
            async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=False):
                pass

    return ask
