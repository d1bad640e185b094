"""Credentials that are refused, counted by the address that they come from."""

from limits import RateLimitItemPerMinute

from api.limits.limiter import rate_limited
from api.limits.storage import LimitStore, SharedOrOwn

_SENTENCE = "Too many keys or sessions that are not valid came from this address; wait."


class FailedAuthentications:
    """A window of a minute for each address; 0 a minute: nothing is counted.

    Those that come while others are looked up all pass: they are counted when they have failed.
    """

    def __init__(self, per_minute: int, shared: LimitStore | None = None) -> None:
        """Without ``shared`` this process counts alone."""
        self._limit = RateLimitItemPerMinute(per_minute, namespace="failed-authentication")
        self._stores = SharedOrOwn(LimitStore(), shared)

    async def check(self, address: str) -> None:
        """Refuse an address from which too much has failed.

        Raises:
            ApiError: 429.
        """
        if self._limit.amount:
            await self._stores.ask(lambda store: self._check(store, address))

    async def note(self, address: str) -> None:
        """Count a failure."""
        if self._limit.amount:
            await self._stores.ask(lambda store: self._note(store, address))

    async def _check(self, store: LimitStore, address: str) -> None:
        found = await store.windows.get_window_stats(self._limit, address)
        if not found.remaining:
            raise rate_limited(self._limit.amount, found.reset_time, _SENTENCE)

    async def _note(self, store: LimitStore, address: str) -> None:
        await store.windows.hit(self._limit, address)
