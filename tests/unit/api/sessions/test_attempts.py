"""Login attempts: attempts in flight count, so there is never a moment without a limit."""

import pytest

from api.errors import ApiError, ErrorCode
from api.sessions.attempts import KNOWN_ADDRESS_SECONDS, AttemptRules, LoginAttempts, Origin
from tests.unit.api.wall_clock import WallClock

RULES = AttemptRules(per_minute=5, per_address_per_minute=20, per_account_per_hour=20)
EMAIL, ADDRESS = "owner@example.com", "192.0.2.1"
HERE, ELSEWHERE = Origin(ADDRESS), Origin("198.51.100.7")


async def _fail(attempts: LoginAttempts, origin: Origin = HERE) -> bool:
    """Try a wrong password, and return whether it was compared."""
    looked_at = False
    with pytest.raises(ApiError):
        async with attempts.attempt(EMAIL, origin):
            looked_at = True
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
    return looked_at


@pytest.mark.parametrize("seconds", [1, 59, 61, 119])
async def test_an_attempt_in_flight_for_long_lets_no_more_guesses_pass(
    clock: WallClock, seconds: int
) -> None:
    attempts = LoginAttempts(RULES)
    for _ in range(3):
        async with attempts.attempt(EMAIL, HERE):
            clock.now += seconds

    assert sum([await _fail(attempts) for _ in range(300)]) == RULES.per_minute


async def test_guesses_are_limited_by_the_hour_too(clock: WallClock) -> None:
    attempts = LoginAttempts(RULES)
    looked_at = 0
    for _ in range(30):
        looked_at += sum([await _fail(attempts) for _ in range(10)])
        clock.now += 61

    assert looked_at == RULES.per_account_per_hour


async def test_what_is_in_flight_counts_in_the_next_span_of_time(clock: WallClock) -> None:
    attempts = LoginAttempts(AttemptRules(1, 0, 0))
    clock.now -= clock.now % 60 - 59
    async with attempts.attempt(EMAIL, HERE):
        clock.now += 2
        assert not await _fail(attempts)


async def test_an_attempt_that_was_rate_limited_counts_as_no_failure() -> None:
    attempts = LoginAttempts(RULES)
    for _ in range(2 * RULES.per_minute):
        with pytest.raises(ApiError) as refused:
            async with attempts.attempt(EMAIL, HERE):
                raise ApiError(ErrorCode.RATE_LIMITED, "Too many log in at once.")
        assert str(refused.value) == "Too many log in at once."

    assert await _fail(attempts)


async def _fail_until_refused(attempts: LoginAttempts, origins: list[Origin]) -> int:
    """Fail until a login is denied, and return the number of compared passwords."""
    looked_at = 0
    for origin in origins:
        while await _fail(attempts, origin):
            looked_at += 1
    return looked_at


def _strangers(number: int) -> list[Origin]:
    return [Origin(f"203.0.113.{last}") for last in range(number)]


async def _log_in(attempts: LoginAttempts, origin: Origin) -> None:
    async with attempts.attempt(EMAIL, origin):
        pass


async def test_strangers_do_not_lock_out_known_devices(clock: WallClock) -> None:
    attempts, device = LoginAttempts(RULES), Origin("198.51.100.8", "device")
    await _log_in(attempts, HERE)
    clock.now += KNOWN_ADDRESS_SECONDS

    assert await _fail_until_refused(attempts, _strangers(30)) == RULES.per_account_per_hour
    await _log_in(attempts, HERE)
    await _log_in(attempts, device)
    with pytest.raises(ApiError):
        await _log_in(attempts, ELSEWHERE)


async def test_a_stranger_at_the_owners_address_does_not_count_for_the_owners_device() -> None:
    attempts = LoginAttempts(RULES)
    await _log_in(attempts, HERE)

    assert await _fail_until_refused(attempts, [HERE]) == RULES.per_minute
    await _log_in(attempts, Origin(ADDRESS, "device"))


@pytest.mark.parametrize("origin", [HERE, Origin(ADDRESS, "device")])
async def test_who_logged_in_before_guesses_within_bounds_too(
    clock: WallClock, origin: Origin
) -> None:
    attempts = LoginAttempts(RULES)
    await _log_in(attempts, origin)
    looked_at = []
    for _ in range(10):
        looked_at.append(await _fail_until_refused(attempts, [origin]))
        clock.now += 61

    assert looked_at == [RULES.per_minute] * 4 + [0] * 6
    # The device's failures do not count for other devices.
    assert await _fail_until_refused(attempts, _strangers(30)) == RULES.per_account_per_hour


async def test_an_address_is_forgotten(clock: WallClock) -> None:
    attempts = LoginAttempts(RULES)
    await _log_in(attempts, HERE)
    clock.now += 2 * KNOWN_ADDRESS_SECONDS

    await _fail_until_refused(attempts, _strangers(30))
    with pytest.raises(ApiError):
        await _log_in(attempts, HERE)


async def test_an_address_is_known_for_one_account_only(clock: WallClock) -> None:
    attempts = LoginAttempts(RULES)
    async with attempts.attempt("another@example.com", HERE):
        pass

    await _fail_until_refused(attempts, _strangers(30))
    assert not await _fail(attempts)
