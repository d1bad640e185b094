"""Bytes of request bodies that an API process holds at once, in all and for each payer."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from api.errors import ApiError, ErrorCode
from api.limits.networks import counted_networks
from api.limits.owner_limits import LimitedCaller, OwnerLimit, OwnerLimits

_MIB = 1 << 20
_ONE_IMAGE = 16 * _MIB
_RETRY_AFTER_SECONDS = 2
_PUBLIC = "calls without credentials"
_OF_ADDRESS = "Too much data is being uploaded from this address. Try again shortly."


@dataclass(frozen=True)
class BodyBounds:
    """Bytes in all, of all calls without a credential together, and of one network among those."""

    in_all: int
    public: int
    per_address: int


BODY_MEBIBYTES = 256
"""Memory for request bodies over 64 KiB of an API process."""
# Calls without a credential have a quarter, an address has half of that.
BODY_BOUNDS = BodyBounds(
    in_all=BODY_MEBIBYTES * _MIB,
    public=BODY_MEBIBYTES // 4 * _MIB,
    per_address=BODY_MEBIBYTES // 8 * _MIB,
)


_Payers = dict[str, Callable[[int], None]]
"""Those charged for the bytes of a call, each with the check that refuses too many bytes in all."""


class BodyBudget:
    """Counts the bytes of bodies, from before the first one comes until their call is answered.

    Nobody holds more than is still free: so few who take all that they can leave room for others,
    and of ten such each has an eleventh.
    """

    def __init__(self, bounds: BodyBounds, limits: OwnerLimits) -> None:
        self._bounds = bounds
        self._limits = limits
        self._held: Counter[str] = Counter()
        self._in_all = 0

    @property
    def held_bytes(self) -> int:
        """The bytes that are held now."""
        return self._in_all

    def for_caller(self, caller: LimitedCaller, count: int) -> "BodyReservation":
        """Reserve ``count`` bytes for a body that comes with a credential.

        Raises:
            ApiError: 429 or 503; there is none.
        """

        def check(held: int) -> None:
            limit, own = OwnerLimit.BODY_MEBIBYTES, caller.limits
            self._limits.require(limit, caller.owner_id, own, held / _MIB)

        return self._share({str(caller.owner_id): check}, count)

    def for_address(self, address: str, count: int) -> "BodyReservation":
        """Reserve ``count`` bytes for a body that comes without one.

        The bound of an address is that of its IPv6 networks too.

        Raises:
            ApiError: 429 or 503; there is none.
        """

        def check_address(held: int) -> None:
            if held > self._bounds.per_address:
                raise _refusal(ErrorCode.RATE_LIMITED, _OF_ADDRESS)

        def check_public(held: int) -> None:
            if held > self._bounds.public:
                raise _refusal(ErrorCode.SERVICE_BUSY)

        networks = {f"address {each.name}": check_address for each in counted_networks(address)}
        return self._share({**networks, _PUBLIC: check_public}, count)

    def give_back(self, payers: Iterable[str], count: int) -> None:
        """Count ``count`` bytes less."""
        self._in_all -= count
        # What has come to nought is forgotten.
        self._held -= Counter(dict.fromkeys(payers, count))

    def _share(self, payers: _Payers, count: int) -> "BodyReservation":
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
    """The room that was taken for one body, given back when the block ends."""

    def __init__(self, budget: BodyBudget, payers: tuple[str, ...], count: int) -> None:
        self._budget = budget
        self._payers = payers
        self._count = count

    def __enter__(self) -> Self:
        """Hold it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give back what is left of it."""
        self.resize(0)

    def resize(self, count: int) -> None:
        """Give back the room of all but ``count`` bytes: no more came."""
        spare = max(0, self._count - count)
        self._budget.give_back(self._payers, spare)
        self._count -= spare


def _refusal(code: ErrorCode, sentence: str | None = None) -> ApiError:
    return ApiError(code, sentence, retry_after_seconds=_RETRY_AFTER_SECONDS)
