"""Limits by address also apply to the networks that one client can have."""

import pytest

from api.errors import ApiError, ErrorCode
from api.limits.body_budget import BodyBounds, BodyBudget
from api.limits.limiter import FailedAuthentications, LimitKind, LimitRules, RateLimiter
from api.middleware.connections import ConnectionLimits
from api.security.client_address import counted_by
from api.sessions.attempts import AttemptRules, LoginAttempts, Origin
from tests.unit.api.callers import endless_limits
from tests.unit.api.wall_clock import WallClock

RULES = LimitRules(0, 0, demo_per_minute=2, block_seconds=300, log_in_per_minute=2)
MIB = 1 << 20


def _address(number: int, site: int = 0, prefix: str = "2001:db8:1") -> str:
    """Return the address that is counted for a /64 network of a /56 site in a /48 network."""
    return counted_by(f"{prefix}:{site:02x}{number:02x}::1")


async def _passes(limiter: RateLimiter, address: str, kind: LimitKind = LimitKind.DEMO) -> bool:
    try:
        await limiter.admit_address(address, kind)
    except ApiError as error:
        assert error.status == 429
        assert error.retry_after_seconds
        return False
    return True


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("kind", [LimitKind.DEMO, LimitKind.LOG_IN])
async def test_a_wider_network_has_four_and_sixteen_times_the_limit(kind: LimitKind) -> None:
    limiter = RateLimiter(RULES, endless_limits())
    of_site = [await _passes(limiter, _address(number % 256), kind) for number in range(300)]
    assert sum(of_site) == 8
    everywhere = [await _passes(limiter, _address(0, site), kind) for site in range(1, 255)]
    assert sum(everywhere) == 32 - 8
    assert await _passes(limiter, _address(0, prefix="2001:db8:2"), kind)
    assert await _passes(limiter, "192.0.2.1", kind)


@pytest.mark.usefixtures("clock")
async def test_a_refused_address_uses_up_nothing_of_its_neighbours() -> None:
    limiter = RateLimiter(RULES, endless_limits())
    assert sum([await _passes(limiter, _address(1)) for _ in range(500)]) == 2
    assert sum([await _passes(limiter, _address(2)) for _ in range(500)]) == 2


@pytest.mark.usefixtures("clock")
async def test_an_answer_has_the_remaining_limit_of_the_address() -> None:
    headers = await RateLimiter(RULES, endless_limits()).admit_address(_address(1), LimitKind.DEMO)
    assert (headers["RateLimit-Limit"], headers["RateLimit-Remaining"]) == ("2", "1")


async def test_failed_credentials_of_a_network_count_together(clock: WallClock) -> None:
    failures = FailedAuthentications(3)

    async def fails(address: str) -> bool:
        try:
            await failures.check(address)
        except ApiError as error:
            assert error.code is ErrorCode.RATE_LIMITED
            return False
        await failures.record(address)
        return True

    assert sum([await fails(_address(number % 256)) for number in range(300)]) == 12
    assert sum([await fails(_address(0, site)) for site in range(1, 255)]) == 48 - 12
    assert await fails("192.0.2.1")
    clock.now += 61
    assert await fails(_address(0))


async def _fails(attempts: LoginAttempts, number: int, address: str) -> bool:
    """Try a wrong password for a new account. Return whether the password was compared."""
    compared = False
    with pytest.raises(ApiError):
        async with attempts.attempt(f"{number}@example.com", Origin(address)):
            compared = True
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
    return compared


async def test_failed_logins_of_a_network_count_together(clock: WallClock) -> None:
    attempts = LoginAttempts(AttemptRules(5, per_address_per_minute=3, per_account_per_hour=100))
    of_site = [await _fails(attempts, number, _address(number % 256)) for number in range(300)]
    assert sum(of_site) == 12
    everywhere = [await _fails(attempts, site, _address(0, site)) for site in range(1, 255)]
    assert sum(everywhere) == 48 - 12
    assert await _fails(attempts, 1, "192.0.2.1")
    clock.now += 61
    assert await _fails(attempts, 1, _address(0))


@pytest.mark.usefixtures("clock")
async def test_a_known_address_is_not_refused_for_its_wider_network() -> None:
    attempts, known = LoginAttempts(AttemptRules(5, 3, 100)), Origin(_address(7, 1))
    async with attempts.attempt("owner@example.com", known) as is_known:
        assert not is_known
    for site in range(256):
        await _fails(attempts, site, _address(0, site))
    assert not await _fails(attempts, 1, _address(8, 1))
    async with attempts.attempt("owner@example.com", known) as is_known:
        assert is_known


def test_bodies_of_a_network_have_the_bound_of_an_address() -> None:
    budget = BodyBudget(BodyBounds(100 * MIB, 25 * MIB, 10 * MIB), endless_limits())
    with budget.for_address(_address(0, 0), 6 * MIB):
        with pytest.raises(ApiError) as refused:
            budget.for_address(_address(0, 1), 6 * MIB)
        assert refused.value.code is ErrorCode.RATE_LIMITED
        with budget.for_address("192.0.2.1", 6 * MIB):
            assert budget.held_bytes == 12 * MIB
    assert budget.held_bytes == 0


def test_connections_of_a_network_are_half_of_all_at_most() -> None:
    limits = ConnectionLimits(20, 4)
    peers = [f"2001:db8:1:{number:x}::1" for number in range(40)]
    admitted = [peer for peer in peers if limits.admit(peer)]
    assert len(admitted) == 10
    assert limits.admit("192.0.2.1")
    for peer in admitted:
        limits.release(peer)
    limits.release("192.0.2.1")
    assert limits.open == 0
    assert sum(map(limits.admit, peers)) == 10
