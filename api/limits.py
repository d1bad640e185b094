"""How many requests a caller may make: sliding windows of a minute, and a block for abuse."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from api.errors import ApiError, ErrorCode
from api.limit_storage import close_memory

ABUSE_FACTOR = 5
"""More than this many times a limit, within a minute, blocks the caller for a while."""


@dataclass(frozen=True)
class LimitRules:
    """Requests a minute for each caller, of the demo for each address; 0: no limit."""

    per_minute: int
    recognize_per_minute: int
    demo_per_minute: int
    block_seconds: int


@dataclass(frozen=True)
class _Limit:
    """A limit, and what is far beyond it."""

    usual: RateLimitItem
    abuse: RateLimitItem


class RateLimiter:
    """Counts requests in the memory of this process."""

    def __init__(self, rules: LimitRules) -> None:
        """Take the rules; nothing is counted yet."""
        self._block_seconds = rules.block_seconds
        self._general = _limit("general", rules.per_minute)
        self._recognize = _limit("recognize", rules.recognize_per_minute)
        self._demo = _limit("demo", rules.demo_per_minute)
        self._storage = MemoryStorage()
        self._windows = MovingWindowRateLimiter(self._storage)

    async def admit(self, caller: str, *, recognizes: bool) -> Mapping[str, str]:
        """Count a request and return headers that tell what is left.

        Raises:
            ApiError: 429, with the same headers and ``Retry-After``.
        """
        limits = (self._general, self._recognize if recognizes else None)
        return await self._admit(caller, [limit for limit in limits if limit is not None])

    async def admit_address(self, address: str) -> Mapping[str, str]:
        """Count a request without a credential and return headers that tell what is left.

        Raises:
            ApiError: 429, with the same headers and ``Retry-After``.
        """
        return await self._admit(address, [] if self._demo is None else [self._demo])

    async def close(self) -> None:
        """Stop counting."""
        await close_memory(self._storage)

    async def _admit(self, caller: str, limits: Sequence[_Limit]) -> Mapping[str, str]:
        await self._refuse_blocked(caller)
        # All of them before any refusal: what one limit refuses is abuse of the other as well.
        for limit in limits:
            await self._note_abuse(limit, caller)
        headers: Mapping[str, str] = {}
        for limit in limits:
            # The last one is the tightest and the one to tell of.
            headers = await self._count(limit, caller)
        return headers

    async def _refuse_blocked(self, caller: str) -> None:
        key = _block_key(caller)
        if await self._storage.get(key):
            left = max(1, math.ceil(await self._storage.get_expiry(key) - time.time()))
            raise ApiError(
                ErrorCode.TEMPORARILY_BLOCKED,
                headers=_headers(0, 0, left),
                retry_after_seconds=left,
            )

    async def _note_abuse(self, limit: _Limit, caller: str) -> None:
        if not await self._windows.hit(limit.abuse, caller):
            await self._storage.incr(_block_key(caller), self._block_seconds)
            await self._refuse_blocked(caller)

    async def _count(self, limit: _Limit, caller: str) -> Mapping[str, str]:
        passed = await self._windows.hit(limit.usual, caller)
        window = await self._windows.get_window_stats(limit.usual, caller)
        reset = max(1, math.ceil(window.reset_time - time.time()))
        headers = _headers(limit.usual.amount, window.remaining, reset)
        if not passed:
            raise ApiError(ErrorCode.RATE_LIMITED, headers=headers, retry_after_seconds=reset)
        return headers


def _limit(name: str, per_minute: int) -> _Limit | None:
    if per_minute == 0:
        return None
    return _Limit(
        RateLimitItemPerMinute(per_minute, namespace=name),
        RateLimitItemPerMinute(per_minute * ABUSE_FACTOR, namespace=f"{name}-abuse"),
    )


def _block_key(caller: str) -> str:
    return f"block/{caller}"


def _headers(limit: int, remaining: int, reset_seconds: int) -> dict[str, str]:
    """Return the headers. **Source:** draft-ietf-httpapi-ratelimit-headers, up to its -06."""
    return {
        "RateLimit-Limit": str(limit),
        "RateLimit-Remaining": str(remaining),
        "RateLimit-Reset": str(reset_seconds),
    }
