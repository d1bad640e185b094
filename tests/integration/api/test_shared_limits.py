"""Limits that several API processes share through a real rate limit store."""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from api.errors import ApiError, ErrorCode
from api.limits.limiter import FailedAuthentications, LimitKind, LimitRules, RateLimiter
from api.limits.storage import STORE_SECONDS, LimitStore, SharedLimitStore
from api.sessions.attempts import AttemptRules, LoginAttempts, Origin
from tests.services.redis import RedisServer, redis_process
from tests.unit.api.callers import caller as principal
from tests.unit.api.callers import endless_limits

pytestmark = pytest.mark.integration

RULES = LimitRules(per_minute=10, recognize_per_minute=3, demo_per_minute=2, block_seconds=30)


async def _said(limiter: RateLimiter, caller: str, *, recognizes: bool = False) -> str:
    try:
        await limiter.admit(principal(caller), recognizes=recognizes)
    except ApiError as error:
        assert error.status == 429
        return str(error.code)
    return "passed"


@pytest.fixture
async def stores(
    redis_server: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[LimitStore, LimitStore]]:
    """One store as two API processes use it, with time limits that allow for a busy machine."""
    monkeypatch.setattr("api.limits.storage.STORE_SECONDS", 60)
    pair = SharedLimitStore(redis_server), SharedLimitStore(redis_server)
    yield pair
    for store in pair:
        await store.close()


@pytest.fixture
async def processes(
    stores: tuple[LimitStore, LimitStore],
) -> AsyncIterator[tuple[RateLimiter, RateLimiter]]:
    """The limiters of two API processes that use the same store."""
    first, second = stores
    yield RateLimiter(RULES, endless_limits(), first), RateLimiter(RULES, endless_limits(), second)


@pytest.fixture
def caller() -> str:
    return uuid.uuid4().hex


async def test_two_processes_count_in_one_window(
    processes: tuple[RateLimiter, RateLimiter], caller: str
) -> None:
    said = [await _said(processes[number % 2], caller) for number in range(11)]

    assert said == ["passed"] * 10 + ["rate_limited"]
    assert await _said(processes[0], uuid.uuid4().hex) == "passed"


async def test_calls_at_once_pass_exactly_as_often_as_allowed(
    processes: tuple[RateLimiter, RateLimiter], caller: str
) -> None:
    said = await asyncio.gather(*(_said(processes[n % 2], caller) for n in range(40)))

    assert Counter(said) == {"passed": 10, "rate_limited": 30}


async def test_image_calls_count_in_both_limits(
    processes: tuple[RateLimiter, RateLimiter], caller: str
) -> None:
    said = [await _said(processes[n % 2], caller, recognizes=True) for n in range(4)]
    assert said == ["passed"] * 3 + ["rate_limited"]
    assert [await _said(processes[0], caller) for _ in range(7)].count("passed") == 6


async def test_a_block_holds_in_every_process(
    processes: tuple[RateLimiter, RateLimiter], caller: str
) -> None:
    for _ in range(51):
        last = await _said(processes[0], caller)

    assert last == "temporarily_blocked"
    with pytest.raises(ApiError) as refused:
        await processes[1].admit(principal(caller), recognizes=False)
    assert refused.value.code == "temporarily_blocked"
    assert refused.value.retry_after_seconds is not None
    assert 28 <= refused.value.retry_after_seconds <= 30


async def test_what_is_left_is_reported_for_all_processes(
    processes: tuple[RateLimiter, RateLimiter], caller: str
) -> None:
    await processes[0].admit(principal(caller), recognizes=False)
    headers = await processes[1].admit(principal(caller), recognizes=False)

    assert headers["RateLimit-Remaining"] == "8"
    assert 55 <= int(headers["RateLimit-Reset"]) <= 60


# redis-py leaves broken connections to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
async def test_while_the_store_is_unavailable_each_process_counts_alone(
    tmp_path: Path, caller: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.limits.storage._RETRY_SECONDS", 0)
    monkeypatch.setattr("api.limits.storage.STORE_SECONDS", 60)
    store = redis_process(tmp_path)
    assert isinstance(store.server, RedisServer)
    reached = SharedLimitStore(SecretStr(store.server.url))
    limiter = RateLimiter(RULES, endless_limits(), reached)
    # Without the store, this process counts alone.
    said = [await _said(limiter, caller) for _ in range(11)]
    assert said == ["passed"] * 10 + ["rate_limited"]
    with store:
        assert await _said(limiter, caller) == "passed"
        monkeypatch.setattr("api.limits.storage._RETRY_SECONDS", 60)
        monkeypatch.setattr("api.limits.storage.STORE_SECONDS", STORE_SECONDS)
        store.pause()
        started = time.monotonic()
        # The store is frozen: the first call waits for half a second, the others do not wait.
        assert [await _said(limiter, uuid.uuid4().hex) for _ in range(20)] == ["passed"] * 20
        assert time.monotonic() - started < 3
        store.resume()
    await reached.close()


async def test_refused_keys_count_in_one_window(
    stores: tuple[LimitStore, LimitStore], caller: str
) -> None:
    failures = [FailedAuthentications(4, store) for store in stores]
    for number in range(4):
        await failures[number % 2].check(caller)
        await failures[number % 2].record(caller)
    for counted in failures:
        with pytest.raises(ApiError) as refused:
            await counted.check(caller)
        assert refused.value.code is ErrorCode.RATE_LIMITED
    await failures[0].check("another")


LOGIN_RULES = AttemptRules(per_minute=3, per_address_per_minute=0, per_account_per_hour=0)


async def _try(
    attempts: LoginAttempts, email: str, address: str = "192.0.2.1", *, fails: bool = True
) -> str:
    """Try to log in, and return the outcome."""
    try:
        async with attempts.attempt(email, Origin(address)):
            await asyncio.sleep(0.01)
            if fails:
                raise ApiError(ErrorCode.INVALID_CREDENTIALS)
    except ApiError as error:
        return str(error.code)
    return "logged in"


async def test_login_attempts_count_in_one_window(
    stores: tuple[LimitStore, LimitStore], caller: str
) -> None:
    attempts = [LoginAttempts(LOGIN_RULES, store) for store in stores]
    for _ in range(4):
        assert await _try(attempts[0], caller, fails=False) == "logged in"
    said = [await _try(attempts[n % 2], caller) for n in range(4)]

    assert said == ["invalid_credentials"] * 3 + ["rate_limited"]
    assert await _try(attempts[0], caller, fails=False) == "rate_limited"
    assert await _try(attempts[1], "another", fails=False) == "logged in"


async def test_the_networks_of_an_address_count_in_every_process(
    stores: tuple[LimitStore, LimitStore], caller: str
) -> None:
    site = f"2001:db8:{caller[:4]}"
    attempts = [LoginAttempts(AttemptRules(0, 1, 0), store) for store in stores]
    failures = [FailedAuthentications(1, store) for store in stores]
    limiters = [RateLimiter(RULES, endless_limits(), store) for store in stores]
    tried, checked, admitted = Counter[str](), 0, 0
    for number in range(6):
        address = f"{site}:{number}::/64"
        tried[await _try(attempts[number % 2], f"{caller} {number}", address)] += 1
        with suppress(ApiError):
            await failures[number % 2].check(address)
            await failures[number % 2].record(address)
            checked += 1
    for number in range(10):
        with suppress(ApiError):
            left = await limiters[number % 2].admit_address(f"{site}:{number}::/64", LimitKind.DEMO)
            assert (left["RateLimit-Limit"], left["RateLimit-Remaining"]) == ("2", "1")
            admitted += 1

    assert tried == {"invalid_credentials": 4, "rate_limited": 2}
    assert (checked, admitted) == (4, 8)


async def test_attempts_at_once_in_two_processes_are_no_way_around_the_limit(
    stores: tuple[LimitStore, LimitStore], caller: str
) -> None:
    attempts = [LoginAttempts(LOGIN_RULES, store) for store in stores]
    said = Counter(await asyncio.gather(*(_try(attempts[n % 2], caller) for n in range(40))))

    assert set(said) == {"invalid_credentials", "rate_limited"}
    assert said["invalid_credentials"] <= 3


async def test_an_address_is_known_to_every_process(
    stores: tuple[LimitStore, LimitStore], caller: str
) -> None:
    rules = AttemptRules(per_minute=0, per_address_per_minute=0, per_account_per_hour=2)
    attempts = [LoginAttempts(rules, store) for store in stores]
    assert await _try(attempts[0], caller, "198.51.100.7", fails=False) == "logged in"
    said = [await _try(attempts[0], caller, f"203.0.113.{n}") for n in range(3)]

    assert said == ["invalid_credentials"] * 2 + ["rate_limited"]
    assert await _try(attempts[1], caller, "198.51.100.7", fails=False) == "logged in"


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
async def test_attempts_are_limited_while_the_store_is_unavailable(caller: str) -> None:
    nowhere = SharedLimitStore(SecretStr("redis://127.0.0.1:1/0"))
    attempts = LoginAttempts(LOGIN_RULES, nowhere)
    said = [await _try(attempts, caller) for _ in range(4)]
    await nowhere.close()

    assert said == ["invalid_credentials"] * 3 + ["rate_limited"]
