"""Limits of failed attempts to log in: sliding windows, counted where all limits are."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.errors import StorageError

from api.errors import ApiError, ErrorCode
from api.limits.limiter import rate_limited
from api.limits.storage import LimitStore, SharedOrOwn, UnderWay
from api.settings import ApiSettings

_SENTENCE = "Too many attempts to log in; wait, then try again."
_UNDER_WAY_SECONDS = 60
"""An attempt takes no longer; one whose process died counts for so long as if it were to fail."""


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


def attempt_rules(settings: ApiSettings) -> AttemptRules:
    """Return how many attempts the operator lets fail."""
    return AttemptRules(
        per_minute=settings.login_attempts_per_minute,
        per_address_per_minute=settings.login_attempts_per_address_per_minute,
        per_account_per_hour=settings.login_attempts_per_account_per_hour,
    )


@dataclass(frozen=True)
class _FailureLimit:
    """A limit for one caller or account."""

    limit: RateLimitItem
    names: tuple[str, ...]

    @property
    def key(self) -> str:
        """Names it among all others."""
        return self.limit.key_for(*self.names)


class LoginAttempts:
    """Counts attempts that fail; one in flight counts as if it were to."""

    def __init__(self, rules: AttemptRules, shared: LimitStore | None = None) -> None:
        """Without ``shared`` this process counts alone."""
        self._pair = RateLimitItemPerMinute(rules.per_minute, namespace="login")
        self._address = RateLimitItemPerMinute(
            rules.per_address_per_minute, namespace="login-address"
        )
        self._account = RateLimitItemPerHour(rules.per_account_per_hour, namespace="login-account")
        own = _AttemptCounter(LimitStore())
        self._counters = SharedOrOwn(own, None if shared is None else _AttemptCounter(shared))

    @asynccontextmanager
    async def attempt(self, email: str, address: str) -> AsyncIterator[None]:
        """Surround an attempt, which has failed where its credentials are refused.

        Raises:
            ApiError: 429, before anything is known of the account.
        """
        windows = self._windows(email, address)
        begun = await self._counters.ask(lambda asked: asked.begin(windows))
        try:
            yield
        except ApiError as error:
            if error.code is ErrorCode.INVALID_CREDENTIALS:
                await self._counters.ask(lambda asked: asked.note_failure(windows))
            raise
        finally:
            # Where the store has gone meanwhile, what is under way there is forgotten by itself.
            with suppress(StorageError):
                await begun.end()

    def _windows(self, email: str, address: str) -> Sequence[_FailureLimit]:
        windows = (
            _FailureLimit(self._address, (address,)),
            _FailureLimit(self._pair, (address, email)),
            _FailureLimit(self._account, (email,)),
        )
        return [window for window in windows if window.limit.amount]


class _Attempt:
    """An attempt under way, in the store where it began."""

    def __init__(self, store: LimitStore) -> None:
        self._store = store
        self._begun: list[UnderWay] = []

    async def begin(self, window: _FailureLimit) -> int:
        """Note it in a window; return how many are under way there."""
        self._begun.append(await self._store.begin(window.key, _UNDER_WAY_SECONDS))
        return self._begun[-1].number

    async def end(self) -> None:
        """Note that it is over."""
        for each in self._begun:
            await self._store.end(each)


class _AttemptCounter:
    """Counts in one store."""

    def __init__(self, store: LimitStore) -> None:
        self._store = store

    async def begin(self, windows: Sequence[_FailureLimit]) -> "_Attempt":
        """Note an attempt under way, or refuse it."""
        attempt = _Attempt(self._store)
        try:
            for window in windows:
                await self._check(window, await attempt.begin(window))
        except ApiError:
            await attempt.end()
            raise
        return attempt

    async def note_failure(self, windows: Sequence[_FailureLimit]) -> None:
        """Count an attempt that has failed."""
        for window in windows:
            await self._store.windows.hit(window.limit, *window.names)

    async def _check(self, window: _FailureLimit, under_way: int) -> None:
        found = await self._store.windows.get_window_stats(window.limit, *window.names)
        if under_way <= found.remaining:
            return
        raise rate_limited(window.limit.amount, found.reset_time, _SENTENCE)
