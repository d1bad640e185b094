"""Limits of failed attempts to log in: sliding windows, counted where all limits are.

Devices and addresses from which somebody logged in to an account before are counted by themselves:
what strangers try keeps its owner out nowhere but there, where nobody logged in yet.

**Source:** OWASP, Slow Down Online Guessing Attacks with Device Cookies.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from limits import RateLimitItemPerHour, RateLimitItemPerMinute
from limits.errors import StorageError

from api.errors import ApiError, ErrorCode
from api.limits.limiter import rate_limited
from api.limits.networks import counted_networks
from api.limits.storage import LimitStore, LimitWindow, SharedOrOwn, UnderWay
from api.settings import ApiSettings

_SENTENCE = "Too many attempts to log in; wait, then try again."
_UNDER_WAY_SECONDS = 60
"""An attempt takes no longer; one whose process died counts for so long as if it were to fail."""

KNOWN_ADDRESS_SECONDS: Final = 30 * 86_400
"""An address is known for at least so long after a log-in, and at most twice as long."""


@dataclass(frozen=True)
class AttemptRules:
    """Attempts that may fail; 0: any number.

    By one address for one account, by one address for all accounts (of IPv6 also by its wider
    networks, with larger allowances), and for one account from all addresses together that never
    logged in to it: against guessing, against trying one password on many accounts, and against
    guessing from many places. A device that logged in before has the first and the third for
    itself, an address that did has all three.
    """

    per_minute: int
    per_address_per_minute: int
    per_account_per_hour: int


def attempt_rules(settings: ApiSettings) -> AttemptRules:
    """Return how many attempts the operator lets fail."""
    return AttemptRules(
        per_minute=settings.login_attempts_per_minute,
        per_address_per_minute=6 * settings.login_attempts_per_minute,
        per_account_per_hour=20 * settings.login_attempts_per_minute,
    )


@dataclass(frozen=True)
class Origin:
    """The place of an attempt: its address, and the device where that logged in before."""

    address: str
    device: str | None = None


class LoginAttempts:
    """Counts attempts that fail; one in flight counts as if it were to."""

    def __init__(self, rules: AttemptRules, shared: LimitStore | None = None) -> None:
        """Without ``shared`` this process counts alone."""
        limits = _Limits(rules)
        own = _AttemptCounter(limits, LimitStore())
        self._counters = SharedOrOwn(
            own, None if shared is None else _AttemptCounter(limits, shared)
        )

    @asynccontextmanager
    async def attempt(self, email: str, origin: Origin) -> AsyncIterator[bool]:
        """Surround an attempt, which has failed if its credentials are refused.

        Yields whether somebody logged in to the account before on the device or at the address.

        Raises:
            ApiError: 429, before anything is known of the account.
        """
        begun = await self._counters.ask(lambda asked: asked.begin(email, origin))
        try:
            yield begun.is_known
            await self.remember((email,), origin.address)
        except ApiError as error:
            if error.code is ErrorCode.INVALID_CREDENTIALS:
                await self._counters.ask(lambda asked: asked.note_failure(begun.windows))
            raise
        finally:
            # Where the store has gone meanwhile, what is under way there is forgotten by itself.
            with suppress(StorageError):
                await begun.end()

    async def remember(self, names: Sequence[str], address: str) -> None:
        """Remember an address from which somebody logged in, for each of the names."""
        await self._counters.ask(lambda asked: asked.remember(names, address))

    async def remembers(self, name: str, address: str) -> bool:
        """Tell whether an address is remembered for a name."""
        return await self._counters.ask(lambda asked: asked.remembers(name, address))


class _Limits:
    """The limits that count an attempt."""

    def __init__(self, rules: AttemptRules) -> None:
        minute, hour = rules.per_minute, rules.per_account_per_hour
        self._pair = RateLimitItemPerMinute(minute, namespace="login")
        self._per_address = rules.per_address_per_minute
        self._account = RateLimitItemPerHour(hour, namespace="login-account")
        self._known_address = RateLimitItemPerHour(hour, namespace="login-known-address")
        self._device = RateLimitItemPerMinute(minute, namespace="login-device")
        self._device_hour = RateLimitItemPerHour(hour, namespace="login-device-hour")

    def of_device(self, device: str) -> Sequence[LimitWindow]:
        """Return those of a device that logged in to the account before."""
        return _in_force(
            LimitWindow(self._device, (device,)), LimitWindow(self._device_hour, (device,))
        )

    def of_address(self, email: str, address: str, *, is_known: bool) -> Sequence[LimitWindow]:
        """Return those of an address at which somebody logged in to the account before, or not."""
        pair = LimitWindow(self._pair, (address, email))
        if is_known:
            known = LimitWindow(self._known_address, (address, email))
            return _in_force(self._of_network(address, 1), pair, known)
        networks = (self._of_network(each.name, each.factor) for each in counted_networks(address))
        return _in_force(*networks, pair, LimitWindow(self._account, (email,)))

    def _of_network(self, name: str, factor: int) -> LimitWindow:
        amount = self._per_address * factor
        return LimitWindow(RateLimitItemPerMinute(amount, namespace="login-address"), (name,))


def _in_force(*windows: LimitWindow) -> Sequence[LimitWindow]:
    return [window for window in windows if window.limit.amount]


class _Attempt:
    """An attempt under way, in the store where it began, with what counts it."""

    def __init__(
        self, store: LimitStore, windows: Sequence[LimitWindow], *, is_known: bool
    ) -> None:
        self.windows = windows
        self.is_known = is_known
        self._store = store
        self._begun: list[UnderWay] = []

    async def begin(self, window: LimitWindow) -> int:
        """Note it in a window; return how many are under way there."""
        self._begun.append(await self._store.begin(window.key, _UNDER_WAY_SECONDS))
        return self._begun[-1].number

    async def end(self) -> None:
        """Note that it is over."""
        for each in self._begun:
            await self._store.end(each)


class _AttemptCounter:
    """Counts in one store."""

    def __init__(self, limits: _Limits, store: LimitStore) -> None:
        self._limits = limits
        self._store = store

    async def begin(self, email: str, origin: Origin) -> _Attempt:
        """Note an attempt under way, or refuse it."""
        is_known = origin.device is not None or await self.remembers(email, origin.address)
        windows = self._windows(email, origin, is_known=is_known)
        attempt = _Attempt(self._store, windows, is_known=is_known)
        try:
            for window in attempt.windows:
                await self._check(window, await attempt.begin(window))
        except ApiError:
            await attempt.end()
            raise
        return attempt

    async def note_failure(self, windows: Sequence[LimitWindow]) -> None:
        """Count an attempt that has failed."""
        for window in windows:
            await self._store.windows.hit(window.limit, *window.names)

    async def remember(self, names: Sequence[str], address: str) -> None:
        """Remember an address for each of the names."""
        for name in names:
            await self._store.remember(_place(name, address), KNOWN_ADDRESS_SECONDS)

    async def remembers(self, name: str, address: str) -> bool:
        """Tell whether an address is remembered for a name."""
        return await self._store.remembers(_place(name, address), KNOWN_ADDRESS_SECONDS)

    def _windows(self, email: str, origin: Origin, *, is_known: bool) -> Sequence[LimitWindow]:
        if origin.device is not None:
            return self._limits.of_device(origin.device)
        return self._limits.of_address(email, origin.address, is_known=is_known)

    async def _check(self, window: LimitWindow, under_way: int) -> None:
        found = await self._store.windows.get_window_stats(window.limit, *window.names)
        if under_way <= found.remaining:
            return
        raise rate_limited(window.limit.amount, found.reset_time, _SENTENCE)


def _place(name: str, address: str) -> str:
    """Return the key of an address for a name, which outlives both: neither can be read."""
    return "login/" + hashlib.sha256(f"{name}\n{address}".encode()).hexdigest()
