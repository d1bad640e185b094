"""Attempts to log in: what is in flight counts, and no moment opens the door."""

import pytest

from api.errors import ApiError, ErrorCode
from api.sessions.attempts import AttemptRules, LoginAttempts
from tests.unit.api.wall_clock import WallClock

RULES = AttemptRules(per_minute=5, per_address_per_minute=20, per_account_per_hour=20)
EMAIL, ADDRESS = "owner@example.com", "192.0.2.1"


async def _fail(attempts: LoginAttempts) -> bool:
    """Return whether a wrong password was looked at."""
    looked_at = False
    with pytest.raises(ApiError):
        async with attempts.attempt(EMAIL, ADDRESS):
            looked_at = True
            raise ApiError(ErrorCode.INVALID_CREDENTIALS)
    return looked_at


@pytest.mark.parametrize("seconds", [1, 59, 61, 119])
async def test_an_attempt_in_flight_for_long_lets_no_more_guesses_pass(
    clock: WallClock, seconds: int
) -> None:
    attempts = LoginAttempts(RULES)
    for _ in range(3):
        async with attempts.attempt(EMAIL, ADDRESS):
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
    async with attempts.attempt(EMAIL, ADDRESS):
        clock.now += 2
        assert not await _fail(attempts)


async def test_an_attempt_that_was_rate_limited_counts_as_no_failure() -> None:
    attempts = LoginAttempts(RULES)
    for _ in range(2 * RULES.per_minute):
        with pytest.raises(ApiError) as refused:
            async with attempts.attempt(EMAIL, ADDRESS):
                raise ApiError(ErrorCode.RATE_LIMITED, "Too many log in at once.")
        assert str(refused.value) == "Too many log in at once."

    assert await _fail(attempts)
