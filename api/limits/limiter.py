"""Limits the requests of each caller in sliding one-minute windows, and blocks abusive callers."""

import math
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from limits import RateLimitItem, RateLimitItemPerMinute

from api.errors import ApiError, ErrorCode
from api.limits.networks import counted_networks
from api.limits.owner_limits import LimitedCaller, OwnerLimit, OwnerLimits, limit_error_message
from api.limits.storage import Counted, LimitStore, LimitWindow, SharedOrOwn
from api.settings import ApiSettings

_TOO_MANY_FAILURES = "Too many invalid API keys or sessions from this address. Try again later."

ABUSE_FACTOR = 5
"""Requests per minute, as a multiple of a limit, above which a caller is blocked."""
_BLOCK_SECONDS = 300

DEMO_PER_MINUTE = 5
LOG_IN_PER_MINUTE = 300
"""Login and invitation calls per minute from an address, whether or not the calls succeed."""
IMAGES_PER_REQUEST = 30
"""Allowed image downloads per allowed request. Downloads are counted separately."""


@dataclass(frozen=True)
class LimitRules:
    """Requests per minute and caller (demo and login: per address). 0 means no limit.

    Image downloads do not count towards other limits.
    """

    per_minute: int
    recognize_per_minute: int
    demo_per_minute: int
    block_seconds: int
    pictures_per_minute: int = 0
    log_in_per_minute: int = 0


def limit_rules(settings: ApiSettings) -> LimitRules:
    """Return the limits of an installation."""
    return LimitRules(
        per_minute=settings.rate_limit_per_minute,
        recognize_per_minute=settings.rate_limit_recognize_per_minute,
        demo_per_minute=DEMO_PER_MINUTE,
        block_seconds=_BLOCK_SECONDS,
        pictures_per_minute=IMAGES_PER_REQUEST * settings.rate_limit_per_minute,
        log_in_per_minute=LOG_IN_PER_MINUTE,
    )


class LimitKind(StrEnum):
    """The kinds of limits. Each kind is counted separately."""

    GENERAL = "general"
    RECOGNIZE = "recognize"
    PICTURES = "pictures"
    DEMO = "demo"
    LOG_IN = "log-in"


_REQUEST = (LimitKind.GENERAL,), (OwnerLimit.REQUESTS_PER_MINUTE,)
_IMAGE_CALL = (
    (LimitKind.GENERAL, LimitKind.RECOGNIZE),
    (OwnerLimit.REQUESTS_PER_MINUTE, OwnerLimit.IMAGE_CALLS_PER_MINUTE),
)
_PICTURE = (LimitKind.PICTURES,), (OwnerLimit.PICTURES_PER_MINUTE,)


@dataclass(frozen=True)
class _Limit:
    """A limit. ``refused`` counts only the requests that the limit rejected.

    If ``may_block`` is false, no caller is blocked, as a block would stop other people's logins.
    """

    usual: RateLimitItem
    refused: RateLimitItem
    may_block: bool

    def times(self, factor: int) -> "_Limit":
        """Return the limit for a network that clients share: ``factor`` times as high."""
        if factor == 1:
            return self
        usual = RateLimitItemPerMinute(self.usual.amount * factor, namespace=self.usual.namespace)
        return _Limit(usual, usual, may_block=False)


class RateLimiter:
    """Counts requests, in a shared store or in memory of this process."""

    def __init__(
        self, rules: LimitRules, owner_limits: OwnerLimits, shared: LimitStore | None = None
    ) -> None:
        """Without ``shared``, use only the memory of this process."""
        self._owner_limits = owner_limits
        self._rates = {
            OwnerLimit.REQUESTS_PER_MINUTE: rules.per_minute,
            OwnerLimit.IMAGE_CALLS_PER_MINUTE: rules.recognize_per_minute,
            OwnerLimit.PICTURES_PER_MINUTE: rules.pictures_per_minute,
        }
        self._block_seconds = rules.block_seconds
        self._limits = {
            LimitKind.GENERAL: _limit(LimitKind.GENERAL, rules.per_minute),
            LimitKind.RECOGNIZE: _limit(LimitKind.RECOGNIZE, rules.recognize_per_minute),
            LimitKind.PICTURES: _limit(LimitKind.PICTURES, rules.pictures_per_minute),
            LimitKind.DEMO: _limit(LimitKind.DEMO, rules.demo_per_minute),
            LimitKind.LOG_IN: _limit(LimitKind.LOG_IN, rules.log_in_per_minute),
        }
        self._stores = SharedOrOwn(shared)

    async def admit(
        self, caller: LimitedCaller, *, recognizes: bool, shows_picture: bool = False
    ) -> Mapping[str, str]:
        """Count a request. Return headers with the remaining requests of the credential.

        Raises:
            ApiError: 429, a limit is exceeded. The error has these headers and ``Retry-After``.
        """
        kinds, limits = _PICTURE if shows_picture else _IMAGE_CALL if recognizes else _REQUEST
        credential = str(caller.credential_id)
        counted = [(limit, credential) for kind in kinds if (limit := self._limits[kind])]
        # The last limit is the tightest, and is reported.
        left = await self._admit(credential, counted, len(counted) - 1)
        await self._count_for_owner(caller, limits)
        return left

    async def admit_export(self, caller: LimitedCaller) -> None:
        """Count an export of the account, over all credentials of the account.

        Raises:
            ApiError: 429, a limit is exceeded.
        """
        await self._count_in(caller, [OwnerLimit.EXPORTS_PER_MINUTE])

    async def admit_address(self, address: str, kind: LimitKind) -> Mapping[str, str]:
        """Count a request without a credential. Return headers with the remaining requests.

        A request from an IPv6 address also counts for the wider networks of the address.

        Raises:
            ApiError: 429, a limit is exceeded. The error has these headers and ``Retry-After``.
        """
        limit = self._limits[kind]
        if limit is None:
            return {}
        # A block applies to one kind: a client that calls the demo too often can still log in.
        counted = [
            (limit.times(network.factor), f"{kind}/{network.name}")
            for network in counted_networks(address)
        ]
        return await self._admit(f"{kind}/{address}", counted, 0)

    async def admit_person(self, person_id: UUID, kind: LimitKind) -> Mapping[str, str]:
        """Count a request for a person instead of an address, and return rate limit headers.

        The person has logged in from this device before.

        Raises:
            ApiError: 429, a limit is exceeded. The error has the headers and ``Retry-After``.
        """
        limit, name = self._limits[kind], f"{kind}/person/{person_id}"
        return {} if limit is None else await self._admit(name, [(limit, name)], 0)

    async def _count_for_owner(self, caller: LimitedCaller, wanted: Sequence[OwnerLimit]) -> None:
        """Count a request of the account, over all credentials of the account.

        Raises:
            ApiError: 429, a limit is exceeded.
        """
        if limits := self._limits_of_owner(caller, wanted):
            await self._count_in(caller, limits)

    async def _count_in(self, caller: LimitedCaller, limits: Sequence[OwnerLimit]) -> None:
        """Count a request in the account's windows, up to the first full window.

        Raises:
            ApiError: 429, a limit is exceeded.
        """
        sizes = [self._owner_limits.size(limit, caller.limits) for limit in limits]
        owner = str(caller.owner_id)
        windows = [
            LimitWindow(RateLimitItemPerMinute(size, namespace=f"owner-{limit}"), (owner,))
            for limit, size in zip(limits, sizes, strict=True)
        ]
        counted = await self._stores.ask(
            lambda store: store.count(owner, windows, len(windows) - 1)
        )
        number = len(limits) - 1 if counted.refused is None else counted.refused
        limit, size = limits[number], sizes[number]
        self._owner_limits.record(limit, caller.owner_id, size - counted.remaining, size)
        if counted.refused is not None:
            raise rate_limited(size, counted.reset_at, limit_error_message(limit, size))

    def _limits_of_owner(
        self, caller: LimitedCaller, wanted: Sequence[OwnerLimit]
    ) -> list[OwnerLimit]:
        """Return the limits in ``wanted`` that apply.

        If API keys have no limit, only accounts with individual limits are limited.
        """
        return [limit for limit in wanted if self._rates[limit] or limit in caller.limits]

    async def _admit(
        self, caller: str, counted_by: Sequence[tuple[_Limit, str]], reported: int
    ) -> Mapping[str, str]:
        return await self._stores.ask(
            lambda store: self._admit_in(store, caller, counted_by, reported)
        )

    async def _admit_in(
        self,
        store: LimitStore,
        caller: str,
        counted_by: Sequence[tuple[_Limit, str]],
        reported: int,
    ) -> Mapping[str, str]:
        limits = [limit for limit, _ in counted_by]
        windows = [LimitWindow(limit.usual, (name,)) for limit, name in counted_by]
        counted = await store.count(caller, windows, reported)
        if counted.blocked_until is not None:
            amount = limits[0].usual.amount if limits else 0
            raise rate_limited(amount, counted.blocked_until, code=ErrorCode.TEMPORARILY_BLOCKED)
        if counted.refused is not None:
            # A request that one limit rejects also counts as abuse of all later limits.
            for refusing in limits[counted.refused :]:
                if refusing.may_block:
                    await self._record_refusal(store, refusing, caller)
            raise rate_limited(limits[counted.refused].usual.amount, counted.reset_at)
        return _left(limits[reported], counted) if limits else {}

    async def _record_refusal(self, store: LimitStore, limit: _Limit, caller: str) -> None:
        """Count a rejected request. Block the caller if far too many requests were counted."""
        await store.windows.hit(limit.refused, caller)
        passed = await _used(store, limit.usual, caller)
        refused = await _used(store, limit.refused, caller)
        if passed + refused > ABUSE_FACTOR * limit.usual.amount:
            await store.block(caller, self._block_seconds)
            until = await store.blocked_until(caller)
            raise rate_limited(
                limit.usual.amount, until or time.time(), code=ErrorCode.TEMPORARILY_BLOCKED
            )


async def _used(store: LimitStore, window: RateLimitItem, caller: str) -> int:
    found = await store.windows.get_window_stats(window, caller)
    return window.amount - found.remaining


def rate_limited(
    limit: int,
    reset_at: float,
    sentence: str | None = None,
    code: ErrorCode = ErrorCode.RATE_LIMITED,
) -> ApiError:
    """Return the error for exceeding ``limit``, which resets at ``reset_at`` (Unix s)."""
    seconds = max(1, math.ceil(reset_at - time.time()))
    headers = _headers(limit, 0, seconds)
    return ApiError(code, sentence, headers=headers, retry_after_seconds=seconds)


def _left(limit: _Limit, counted: Counted) -> Mapping[str, str]:
    reset = max(1, math.ceil(counted.reset_at - time.time()))
    return _headers(limit.usual.amount, counted.remaining, reset)


def _limit(kind: LimitKind, per_minute: int) -> _Limit | None:
    if per_minute == 0:
        return None
    return _Limit(
        RateLimitItemPerMinute(per_minute, namespace=kind.value),
        RateLimitItemPerMinute(per_minute * ABUSE_FACTOR, namespace=f"{kind.value}-refused"),
        may_block=kind is not LimitKind.LOG_IN,
    )


def _headers(limit: int, remaining: int, reset_seconds: int) -> dict[str, str]:
    """Return rate limit headers. **Source:** draft-ietf-httpapi-ratelimit-headers, up to -06."""
    return {
        "RateLimit-Limit": str(limit),
        "RateLimit-Remaining": str(remaining),
        "RateLimit-Reset": str(reset_seconds),
    }


class FailedAuthentications:
    """Limits failures per minute for each address and its wider networks. 0 means no limit.

    Attempts are counted after they fail, so concurrent attempts all pass.
    """

    def __init__(self, per_minute: int, shared: LimitStore | None = None) -> None:
        """Without ``shared``, use only the memory of this process."""
        self._per_minute = per_minute
        self._namespace = "failed-authentication"
        self._stores = SharedOrOwn(shared)

    def with_namespace(self, namespace: str) -> "FailedAuthentications":
        """Return the same limit for failures of another kind, which are counted separately."""
        other = copy(self)
        other._namespace = namespace
        return other

    async def check(self, address: str) -> None:
        """Check that neither the address nor one of its networks has too many failures.

        Raises:
            ApiError: 429, a limit is exceeded.
        """
        if self._per_minute:
            await self._stores.ask(lambda store: self._check(store, address))

    async def record(self, address: str) -> None:
        """Count a failure."""
        if self._per_minute:
            await self._stores.ask(lambda store: self._record(store, address))

    async def _check(self, store: LimitStore, address: str) -> None:
        for window in self._windows(address):
            found = await store.windows.get_window_stats(window.limit, *window.names)
            if not found.remaining:
                raise rate_limited(window.limit.amount, found.reset_time, _TOO_MANY_FAILURES)

    async def _record(self, store: LimitStore, address: str) -> None:
        for window in self._windows(address):
            await store.windows.hit(window.limit, *window.names)

    def _windows(self, address: str) -> Sequence[LimitWindow]:
        return [
            LimitWindow(
                RateLimitItemPerMinute(
                    self._per_minute * network.factor, namespace=self._namespace
                ),
                (network.name,),
            )
            for network in counted_networks(address)
        ]
