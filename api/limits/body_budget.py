"""Limits the memory of an API process for request bodies, in total and per payer."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from api.errors import ApiError, ErrorCode
from api.limits.networks import counted_networks
from api.limits.owner_limits import LimitedCaller, OwnerLimit, OwnerLimits

_MIB = 1 << 20
_RETRY_AFTER_SECONDS = 2
_PUBLIC = "calls without credentials"
_OF_ADDRESS = "Too much data is being uploaded from this address. Try again shortly."


@dataclass(frozen=True)
class BodyBounds:
    """Maximum bytes: in total, for calls without a credential, and for such calls per network."""

    in_all: int
    public: int
    per_address: int


BODY_MEBIBYTES = 256
"""Memory of an API process for request bodies over 64 KiB."""
# Calls without a credential can use a quarter of the memory, and one address an eighth.
BODY_BOUNDS = BodyBounds(
    in_all=BODY_MEBIBYTES * _MIB,
    public=BODY_MEBIBYTES // 4 * _MIB,
    per_address=BODY_MEBIBYTES // 8 * _MIB,
)


_Payers = dict[str, Callable[[int], None]]
"""The payers of a call's bytes. Each payer's check raises ApiError if its total is too high."""


class BodyBudget:
    """Counts the bytes of request bodies, from before the first byte arrives until the response.

    A payer cannot hold more bytes than remain free. A few greedy payers therefore leave capacity
    for other payers: ten greedy payers hold an eleventh each.
    """

    def __init__(self, bounds: BodyBounds, limits: OwnerLimits) -> None:
        self._bounds = bounds
        self._limits = limits
        self._held: Counter[str] = Counter()
        self._in_all = 0

    @property
    def held_bytes(self) -> int:
        """The number of bytes that are currently reserved."""
        return self._in_all

    def for_caller(self, caller: LimitedCaller, count: int) -> "BodyReservation":
        """Reserve ``count`` bytes for the body of a call with a credential.

        Raises:
            ApiError: 429 or 503, not enough bytes are free.
        """

        def check(held: int) -> None:
            limit, own = OwnerLimit.BODY_MEBIBYTES, caller.limits
            self._limits.require(limit, caller.owner_id, own, held / _MIB)

        return self._reserve({str(caller.owner_id): check}, count)

    def for_address(self, address: str, count: int) -> "BodyReservation":
        """Reserve ``count`` bytes for the body of a call without a credential.

        The limit of an address also applies to each of its IPv6 networks.

        Raises:
            ApiError: 429 or 503, not enough bytes are free.
        """

        def check_address(held: int) -> None:
            if held > self._bounds.per_address:
                raise _refusal(ErrorCode.RATE_LIMITED, _OF_ADDRESS)

        def check_public(held: int) -> None:
            if held > self._bounds.public:
                raise _refusal(ErrorCode.SERVICE_BUSY)

        networks = {f"address {each.name}": check_address for each in counted_networks(address)}
        return self._reserve({**networks, _PUBLIC: check_public}, count)

    def release(self, payers: Iterable[str], count: int) -> None:
        """Release ``count`` bytes of each payer."""
        self._in_all -= count
        # Subtracting a Counter drops entries that reach zero.
        self._held -= Counter(dict.fromkeys(payers, count))

    def _reserve(self, payers: _Payers, count: int) -> "BodyReservation":
        if count:
            self._check(payers, count)
        self._in_all += count
        self._held.update(dict.fromkeys(payers, count))
        return BodyReservation(self, tuple(payers), count)

    def _check(self, payers: _Payers, count: int) -> None:
        for payer, check in payers.items():
            check(self._held[payer] + count)
        left = self._bounds.in_all - self._in_all - count
        if any(self._held[payer] + count > left for payer in payers):
            raise _refusal(ErrorCode.SERVICE_BUSY)


class BodyReservation:
    """Bytes that are reserved for one body until the ``with`` block ends."""

    def __init__(self, budget: BodyBudget, payers: tuple[str, ...], count: int) -> None:
        self._budget = budget
        self._payers = payers
        self._count = count

    def __enter__(self) -> Self:
        """Return this reservation."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the remaining bytes."""
        self.resize(0)

    def resize(self, count: int) -> None:
        """Reduce the reservation to ``count`` bytes."""
        spare = max(0, self._count - count)
        self._budget.release(self._payers, spare)
        self._count -= spare


def _refusal(code: ErrorCode, sentence: str | None = None) -> ApiError:
    return ApiError(code, sentence, retry_after_seconds=_RETRY_AFTER_SECONDS)
