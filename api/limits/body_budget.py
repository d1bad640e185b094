"""Bytes of request bodies that an API process holds at once, in all and for each payer."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from api.errors import ApiError, ErrorCode
from api.limits.owner_limits import LimitedCaller, OwnerLimit, OwnerLimits
from api.settings import ApiSettings

_MIB = 1 << 20
_ONE_IMAGE = 16 * _MIB
_RETRY_AFTER_SECONDS = 2
_PUBLIC = "calls without a credential"
_OF_ADDRESS = "Too much is being sent from this address at once; wait, then try again."


@dataclass(frozen=True)
class BodyBounds:
    """Bytes in all, of all calls without a credential together, and of one address among those."""

    in_all: int
    public: int
    per_address: int


def body_bounds(settings: ApiSettings) -> BodyBounds:
    """Return the bounds that the operator sets: calls without a credential have a quarter.

    An address has half of that. Either is room for one image.
    """
    in_all = settings.api_body_mebibytes * _MIB
    return BodyBounds(in_all, max(_ONE_IMAGE, in_all // 4), max(_ONE_IMAGE, in_all // 8))


Payers = dict[str, Callable[[int], None]]
"""Who pays for the bytes of a call, each with what refuses so many bytes in all."""


class BodyBudget:
    """Counts the bytes of bodies from when they come until their call is answered."""

    def __init__(self, bounds: BodyBounds, limits: OwnerLimits) -> None:
        self._bounds = bounds
        self._limits = limits
        self._held: Counter[str] = Counter()
        self._in_all = 0

    @property
    def held_bytes(self) -> int:
        """The bytes that are held now."""
        return self._in_all

    def of_caller(self, caller: LimitedCaller) -> "BodyShare":
        """Return the share of a call with a credential."""

        def check(held: int) -> None:
            limit, own = OwnerLimit.BODY_MEBIBYTES, caller.limits
            self._limits.require(limit, caller.owner_id, own, held / _MIB)

        return BodyShare(self, {str(caller.owner_id): check})

    def of_address(self, address: str) -> "BodyShare":
        """Return the share of a call without a credential."""

        def check_address(held: int) -> None:
            if held > self._bounds.per_address:
                raise _refusal(ErrorCode.RATE_LIMITED, _OF_ADDRESS)

        def check_public(held: int) -> None:
            if held > self._bounds.public:
                raise _refusal(ErrorCode.SERVICE_BUSY)

        return BodyShare(self, {f"address {address}": check_address, _PUBLIC: check_public})

    def take(self, payers: Payers, count: int) -> None:
        """Count ``count`` bytes more.

        Raises:
            ApiError: they are too many, and are not counted.
        """
        if self._in_all + count > self._bounds.in_all:
            raise _refusal(ErrorCode.SERVICE_BUSY)
        for payer, check in payers.items():
            check(self._held[payer] + count)
        self._in_all += count
        self._held.update(dict.fromkeys(payers, count))

    def give_back(self, payers: Payers, count: int) -> None:
        """Count ``count`` bytes less."""
        self._in_all -= count
        # What has come to nought is forgotten.
        self._held -= Counter(dict.fromkeys(payers, count))


class BodyShare:
    """The bytes of one call, given back when the block ends."""

    def __init__(self, budget: BodyBudget, payers: Payers) -> None:
        self._budget = budget
        self._payers = payers
        self._count = 0

    def __enter__(self) -> Self:
        """Begin with none."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give all back."""
        self._budget.give_back(self._payers, self._count)
        self._count = 0

    def add(self, count: int) -> None:
        """Count ``count`` bytes that have come.

        Raises:
            ApiError: 429 or 503; there is no room for them.
        """
        self._budget.take(self._payers, count)
        self._count += count


def _refusal(code: ErrorCode, sentence: str | None = None) -> ApiError:
    return ApiError(code, sentence, retry_after_seconds=_RETRY_AFTER_SECONDS)
