"""How often somebody may fail to log in: sliding windows in the memory of this process."""

import math
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from api.errors import ApiError, ErrorCode
from api.limit_storage import close_memory

_SENTENCE = "Too many attempts to log in; wait, then try again."


@dataclass(frozen=True)
class AttemptRules:
    """Attempts that may fail; 0: any number.

    By one address for one account, by one address for all accounts, and for one account from
    everywhere: against guessing, against trying one password on many accounts, and against
    guessing from many places.
    """

    per_minute: int
    per_address_per_minute: int
    per_account_per_hour: int


@dataclass(frozen=True)
class _Window:
    """A limit for one caller or account."""

    limit: RateLimitItem
    names: tuple[str, ...]


class LoginAttempts:
    """Counts attempts that fail; one in flight counts as if it were to."""

    def __init__(self, rules: AttemptRules) -> None:
        """Take the rules; nothing is counted yet."""
        self._pair = RateLimitItemPerMinute(rules.per_minute, namespace="login")
        self._address = RateLimitItemPerMinute(
            rules.per_address_per_minute, namespace="login-address"
        )
        self._account = RateLimitItemPerHour(rules.per_account_per_hour, namespace="login-account")
        self._storage = MemoryStorage()
        self._windows = MovingWindowRateLimiter(self._storage)
        self._in_flight: Counter[_Window] = Counter()

    @asynccontextmanager
    async def attempt(self, email: str, address: str) -> AsyncIterator[None]:
        """Surround an attempt, which has failed where it raises an :class:`ApiError`.

        Raises:
            ApiError: 429, before anything is known of the account.
        """
        windows = [
            window
            for window in (
                _Window(self._address, (address,)),
                _Window(self._pair, (address, email)),
                _Window(self._account, (email,)),
            )
            if window.limit.amount
        ]
        self._in_flight.update(windows)
        try:
            for window in windows:
                await self._check(window)
            try:
                yield
            except ApiError:
                for window in windows:
                    await self._windows.hit(window.limit, *window.names)
                raise
        finally:
            self._in_flight.subtract(windows)
            self._in_flight = +self._in_flight

    async def close(self) -> None:
        """Stop counting."""
        await close_memory(self._storage)

    async def _check(self, window: _Window) -> None:
        found = await self._windows.get_window_stats(window.limit, *window.names)
        if self._in_flight[window] <= found.remaining:
            return
        seconds = max(1, math.ceil(found.reset_time - time.time()))
        headers = {
            "RateLimit-Limit": str(window.limit.amount),
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": str(seconds),
        }
        raise ApiError(
            ErrorCode.RATE_LIMITED, _SENTENCE, headers=headers, retry_after_seconds=seconds
        )
