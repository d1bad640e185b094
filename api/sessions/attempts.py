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
from api.limits.storage import ActiveItem, LimitStore, LimitWindow, SharedOrOwn
from api.settings import ApiSettings

_SENTENCE = "Too many login attempts. Try again later."
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
        self._rules = rules
        self._stores = SharedOrOwn(shared)

    @asynccontextmanager
    async def attempt(self, email: str, origin: Origin) -> AsyncIterator[bool]:
        """Surround an attempt, which has failed if its credentials are refused.

        Yields whether somebody logged in to the account before on the device or at the address.

        Raises:
            ApiError: 429, before anything is known of the account.
        """
        begun = await self._stores.ask(lambda store: self._begin(store, email, origin))
        try:
            yield begun.is_known
            await self.remember((email,), origin.address)
        except ApiError as error:
            if error.code is ErrorCode.INVALID_CREDENTIALS:
                await self._stores.ask(lambda store: _record_failure(store, begun.windows))
            raise
        finally:
            # Where the store has gone meanwhile, what is under way there is forgotten by itself.
            with suppress(StorageError):
                await begun.end()

    async def remember(self, names: Sequence[str], address: str) -> None:
        """Remember an address from which somebody logged in, for each of the names."""
        await self._stores.ask(lambda store: _remember(store, names, address))

    async def remembers(self, name: str, address: str) -> bool:
        """Tell whether an address is remembered for a name."""
        return await self._stores.ask(lambda store: _remembers(store, name, address))

    async def _begin(self, store: LimitStore, email: str, origin: Origin) -> "_Attempt":
        """Note an attempt under way, or refuse it."""
        is_known = origin.device is not None or await _remembers(store, email, origin.address)
        attempt = _Attempt(store, self._windows(email, origin, is_known=is_known), is_known)
        try:
            for window in attempt.windows:
                await attempt.begin(window)
        except ApiError:
            await attempt.end()
            raise
        return attempt

    def _windows(self, email: str, origin: Origin, *, is_known: bool) -> Sequence[LimitWindow]:
        """Return the windows that count an attempt, without those that are switched off."""
        minute, hour = self._rules.per_minute, self._rules.per_account_per_hour
        address, device = origin.address, origin.device
        if device is not None:
            windows = [
                _per_minute(minute, "login-device", device),
                _per_hour(hour, "login-device-hour", device),
            ]
        else:
            # Wider networks of a known address do not count.
            counted = counted_networks(address)[: 1 if is_known else None]
            per_address = self._rules.per_address_per_minute
            windows = [
                *(
                    _per_minute(per_address * one.factor, "login-address", one.name)
                    for one in counted
                ),
                _per_minute(minute, "login", address, email),
                _per_hour(hour, "login-known-address", address, email)
                if is_known
                else _per_hour(hour, "login-account", email),
            ]
        return [window for window in windows if window.limit.amount]


def _per_minute(amount: int, namespace: str, *names: str) -> LimitWindow:
    return LimitWindow(RateLimitItemPerMinute(amount, namespace=namespace), names)


def _per_hour(amount: int, namespace: str, *names: str) -> LimitWindow:
    return LimitWindow(RateLimitItemPerHour(amount, namespace=namespace), names)


class _Attempt:
    """An attempt under way, in the store where it began, with the windows that count it."""

    def __init__(self, store: LimitStore, windows: Sequence[LimitWindow], is_known: bool) -> None:
        self.windows = windows
        self.is_known = is_known
        self._store = store
        self._begun: list[ActiveItem] = []

    async def begin(self, window: LimitWindow) -> None:
        """Note it in a window, or refuse it."""
        self._begun.append(await self._store.begin(window.key, _UNDER_WAY_SECONDS))
        found = await self._store.windows.get_window_stats(window.limit, *window.names)
        if self._begun[-1].number > found.remaining:
            raise rate_limited(window.limit.amount, found.reset_time, _SENTENCE)

    async def end(self) -> None:
        """Note that it is over."""
        for each in self._begun:
            await self._store.end(each)


async def _record_failure(store: LimitStore, windows: Sequence[LimitWindow]) -> None:
    for window in windows:
        await store.windows.hit(window.limit, *window.names)


async def _remember(store: LimitStore, names: Sequence[str], address: str) -> None:
    for name in names:
        await store.remember(_device_key(name, address), KNOWN_ADDRESS_SECONDS)


async def _remembers(store: LimitStore, name: str, address: str) -> bool:
    return await store.remembers(_device_key(name, address), KNOWN_ADDRESS_SECONDS)


def _device_key(name: str, address: str) -> str:
    """Return the key of an address for a name, which outlives both: neither can be read."""
    return "login/" + hashlib.sha256(f"{name}\n{address}".encode()).hexdigest()
