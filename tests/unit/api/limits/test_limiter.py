"""Sliding windows, and the block after abuse."""

from dataclasses import replace

import pytest

from api.errors import ApiError, ErrorCode
from api.limits.limiter import LimitKind, LimitRules, RateLimiter
from tests.unit.api.callers import caller, endless_limits
from tests.unit.api.wall_clock import WallClock

RULES = LimitRules(per_minute=10, recognize_per_minute=3, demo_per_minute=2, block_seconds=300)


async def _passed(limiter: RateLimiter, calls: int, *, recognizes: bool = False) -> list[bool]:
    return [await _passes(limiter, "key", recognizes=recognizes) for _ in range(calls)]


async def _passes(limiter: RateLimiter, key: str, *, recognizes: bool = False) -> bool:
    try:
        await limiter.admit(caller(key), recognizes=recognizes)
    except ApiError as error:
        assert error.status == 429
        return False
    return True


async def _refusal(limiter: RateLimiter) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await limiter.admit(caller("key"), recognizes=False)
    return refused.value


async def test_the_limit_slides(clock: WallClock) -> None:
    limiter = RateLimiter(RULES, endless_limits())
    assert all(await _passed(limiter, 5))
    clock.now += 30
    assert await _passed(limiter, 6) == [True] * 5 + [False]
    clock.now += 31
    # The first five calls are more than a minute old, but the second five are not.
    assert await _passed(limiter, 6) == [True] * 5 + [False]


async def test_a_refusal_says_how_long(clock: WallClock) -> None:
    limiter = RateLimiter(RULES, endless_limits())
    await _passed(limiter, 10)
    clock.now += 20.5
    refused = await _refusal(limiter)

    assert refused.code is ErrorCode.RATE_LIMITED
    assert refused.retry_after_seconds == 40
    assert refused.headers == {
        "RateLimit-Limit": "10",
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": "40",
    }
    clock.now += 40
    assert await _passes(limiter, "key")


@pytest.mark.usefixtures("clock")
async def test_an_answer_says_what_is_left() -> None:
    limiter = RateLimiter(RULES, endless_limits())
    headers = await limiter.admit(caller("key"), recognizes=False)
    assert headers["RateLimit-Remaining"] == "9"
    headers = await limiter.admit(caller("key"), recognizes=True)
    assert (headers["RateLimit-Limit"], headers["RateLimit-Remaining"]) == ("3", "2")


@pytest.mark.usefixtures("clock")
async def test_image_calls_have_their_own_limit_and_count_in_the_total() -> None:
    limiter = RateLimiter(RULES, endless_limits())
    assert await _passed(limiter, 4, recognizes=True) == [True] * 3 + [False]
    assert await _passed(limiter, 7) == [True] * 6 + [False]


@pytest.mark.usefixtures("clock")
async def test_one_caller_does_not_limit_another() -> None:
    limiter = RateLimiter(RULES, endless_limits())
    await _passed(limiter, 60)
    assert await _passes(limiter, "another key")


async def test_five_times_the_limit_blocks_for_five_minutes(clock: WallClock) -> None:
    limiter = RateLimiter(RULES, endless_limits())
    await _passed(limiter, 50)
    assert (await _refusal(limiter)).code is ErrorCode.TEMPORARILY_BLOCKED
    clock.now += 120
    blocked = await _refusal(limiter)
    assert blocked.code is ErrorCode.TEMPORARILY_BLOCKED
    assert blocked.retry_after_seconds == 180
    assert blocked.headers["RateLimit-Limit"] == "10"
    clock.now += 181
    assert await _passes(limiter, "key")


@pytest.mark.usefixtures("clock")
async def test_five_times_the_limit_of_image_calls_blocks_too() -> None:
    # These are 15 image calls, of which the limit of all calls rejects the last five.
    limiter = RateLimiter(RULES, endless_limits())
    await _passed(limiter, 15, recognizes=True)
    assert (await _refusal(limiter)).code is ErrorCode.RATE_LIMITED
    await _passed(limiter, 1, recognizes=True)
    assert (await _refusal(limiter)).code is ErrorCode.TEMPORARILY_BLOCKED


@pytest.mark.usefixtures("clock")
async def test_a_limit_of_zero_is_none() -> None:
    limiter = RateLimiter(
        LimitRules(per_minute=0, recognize_per_minute=0, demo_per_minute=0, block_seconds=1),
        endless_limits(requests_per_minute=1, image_calls_per_minute=1),
    )
    assert all(await _passed(limiter, 1000, recognizes=True))
    await limiter.admit(caller("key", limits={"requests_per_minute": 1}), recognizes=False)
    with pytest.raises(ApiError, match="limit of 1 requests per minute"):
        await limiter.admit(caller("key", limits={"requests_per_minute": 1}), recognizes=False)


@pytest.mark.usefixtures("clock")
async def test_the_keys_of_an_owner_count_together() -> None:
    limiter = RateLimiter(RULES, endless_limits(requests_per_minute=15))
    for name in ("first", "second"):
        for _ in range(7):
            await limiter.admit(caller(name, "owner"), recognizes=False)
    await limiter.admit(caller("third", "owner"), recognizes=False)

    with pytest.raises(ApiError, match="limit of 15 requests per minute") as refused:
        await limiter.admit(caller("fourth", "owner"), recognizes=False)
    assert refused.value.code is ErrorCode.RATE_LIMITED
    assert refused.value.retry_after_seconds == 60
    await limiter.admit(caller("a stranger's"), recognizes=False)


@pytest.mark.usefixtures("clock")
async def test_the_image_calls_of_an_owner_count_together() -> None:
    limiter = RateLimiter(RULES, endless_limits(image_calls_per_minute=4))
    for name in ("first", "second"):
        for _ in range(2):
            await limiter.admit(caller(name, "owner"), recognizes=True)

    with pytest.raises(ApiError, match="limit of 4 image calls per minute"):
        await limiter.admit(caller("third", "owner"), recognizes=True)
    await limiter.admit(caller("third", "owner"), recognizes=False)


@pytest.mark.usefixtures("clock")
async def test_an_account_can_have_its_own_limit() -> None:
    limiter = RateLimiter(RULES, endless_limits(requests_per_minute=1))
    larger = {"requests_per_minute": 2}
    for name in ("first", "second"):
        await limiter.admit(caller(name, "owner", larger), recognizes=False)
    with pytest.raises(ApiError, match="limit of 2 requests"):
        await limiter.admit(caller("third", "owner", larger), recognizes=False)


async def test_neither_the_demo_nor_many_logins_block_logins_of_an_address(
    clock: WallClock,
) -> None:
    rules = replace(RULES, log_in_per_minute=2)
    limiter = RateLimiter(rules, endless_limits())

    async def codes(kind: LimitKind, calls: int) -> list[ErrorCode | None]:
        return [await _code_of(limiter, kind) for _ in range(calls)]

    assert (await codes(LimitKind.DEMO, 12))[-1] is ErrorCode.TEMPORARILY_BLOCKED
    refused = [ErrorCode.RATE_LIMITED] * 38
    assert await codes(LimitKind.LOG_IN, 40) == [None, None, *refused]
    clock.now += 61
    assert await codes(LimitKind.LOG_IN, 1) == [None]
    assert await codes(LimitKind.DEMO, 1) == [ErrorCode.TEMPORARILY_BLOCKED]


async def _code_of(limiter: RateLimiter, kind: LimitKind) -> ErrorCode | None:
    try:
        await limiter.admit_address("192.0.2.1", kind)
    except ApiError as error:
        return error.code
    return None
