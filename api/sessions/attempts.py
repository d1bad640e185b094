"""Limits failed login attempts, with sliding windows in the store for rate limits.

Devices and addresses from which a person has logged in before are counted separately, so that
attacks from elsewhere do not lock the person out.

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
"""Maximum duration of an attempt. An attempt of a crashed process counts as failed until then."""

KNOWN_ADDRESS_SECONDS: Final = 30 * 86_400
"""Minimum time for which an address is known after a login. The maximum is twice as long."""


@dataclass(frozen=True)
class AttemptRules:
    """Maximum numbers of failed attempts. 0 means no limit.

    The first limit applies per address and email address, against guessing. The second applies per
    address (with IPv6 also per wider network, with larger limits), against trying one password on
    many accounts. The third applies per email address, from all unknown addresses together, against
    guessing from many addresses. A known device has separate counts for the first and the third
    limit; a known address has separate counts for all three.
    """

    per_minute: int
    per_address_per_minute: int
    per_account_per_hour: int


def attempt_rules(settings: ApiSettings) -> AttemptRules:
    """Return the limits that the settings define."""
    return AttemptRules(
        per_minute=settings.login_attempts_per_minute,
        per_address_per_minute=6 * settings.login_attempts_per_minute,
        per_account_per_hour=20 * settings.login_attempts_per_minute,
    )


@dataclass(frozen=True)
class Origin:
    """The origin of an attempt: the address, and the device ID if the device is known."""

    address: str
    device: str | None = None


class LoginAttempts:
    """Counts failed attempts. A running attempt counts as failed."""

    def __init__(self, rules: AttemptRules, shared: LimitStore | None = None) -> None:
        """If ``shared`` is None, only attempts in this process are counted."""
        self._rules = rules
        self._stores = SharedOrOwn(shared)

    @asynccontextmanager
    async def attempt(self, email: str, origin: Origin) -> AsyncIterator[bool]:
        """Run an attempt in this context. The attempt has failed if INVALID_CREDENTIALS is raised.

        Yields whether the device or address is known for the email address.

        Raises:
            ApiError: 429, too many attempts have failed. The account has not been looked up.
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
            # If the store is unavailable, the running attempt expires in the store.
            with suppress(StorageError):
                await begun.end()

    async def remember(self, names: Sequence[str], address: str) -> None:
        """Remember a login from ``address`` for each of ``names``."""
        await self._stores.ask(lambda store: _remember(store, names, address))

    async def remembers(self, name: str, address: str) -> bool:
        """Return whether a login with ``name`` from ``address`` is remembered."""
        return await self._stores.ask(lambda store: _remembers(store, name, address))

    async def _begin(self, store: LimitStore, email: str, origin: Origin) -> "_Attempt":
        """Count and return a running attempt, or raise ApiError if a limit is reached."""
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
        """Return the enabled windows in which an attempt counts."""
        minute, hour = self._rules.per_minute, self._rules.per_account_per_hour
        address, device = origin.address, origin.device
        if device is not None:
            windows = [
                _per_minute(minute, "login-device", device),
                _per_hour(hour, "login-device-hour", device),
            ]
        else:
            # For a known address, wider networks are not counted.
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
    """A login attempt in progress, with its rate limit windows and the store that is used."""

    def __init__(self, store: LimitStore, windows: Sequence[LimitWindow], is_known: bool) -> None:
        self.windows = windows
        self.is_known = is_known
        self._store = store
        self._begun: list[ActiveItem] = []

    async def begin(self, window: LimitWindow) -> None:
        """Count the attempt in a window, or raise ApiError if the limit is reached."""
        self._begun.append(await self._store.begin(window.key, _UNDER_WAY_SECONDS))
        found = await self._store.windows.get_window_stats(window.limit, *window.names)
        if self._begun[-1].number > found.remaining:
            raise rate_limited(window.limit.amount, found.reset_time, _SENTENCE)

    async def end(self) -> None:
        """Stop counting the attempt as running."""
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
    """Return the key of an address and a name. The key is hashed, as it is stored for weeks."""
    return "login/" + hashlib.sha256(f"{name}\n{address}".encode()).hexdigest()
