"""Invalid credentials are limited by address, and do not delay valid ones."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from api.db.database import Database
from api.errors import ApiError, ErrorCode
from api.limits.limiter import FailedAuthentications
from api.security import credentials
from api.security.authentication import Authenticator
from api.security.permissions import ALL_SCOPES
from api.security.repository import KeyRecord
from tests.unit.api.wall_clock import WallClock

HERE, ELSEWHERE = "192.0.2.1", "192.0.2.2"
PER_MINUTE = 5


class _Keys:
    """Fake database with one record or none."""

    def __init__(self) -> None:
        self.record: KeyRecord | None = None
        self.questions = 0

    async def run(self, work: Callable[[Any], Any]) -> Any:
        self.questions += 1
        return self.record


class _Gate:
    """An authenticator under test."""

    def __init__(self, per_minute: int = PER_MINUTE) -> None:
        self.keys = _Keys()
        self.now = 100.0
        failures = FailedAuthentications(per_minute)
        database = cast(Database, self.keys)
        self.authenticator = Authenticator(database, failures, clock=lambda: self.now)

    async def say(self, key: str | None = None, address: str = HERE) -> str:
        """Return the outcome for a key. Without ``key``, a new random key is sent."""
        try:
            await self.authenticator.authenticate(f"Bearer {key or _made_up()}", address)
        except ApiError as error:
            return str(error.code)
        await self.authenticator.close()
        return "welcome"


def _made_up() -> str:
    return credentials.new_api_key()


def _record(*, enabled: bool = True, ends_in: timedelta = timedelta(days=1)) -> KeyRecord:
    now = datetime.now(UTC)
    return KeyRecord(
        id=uuid.uuid4(),
        owner_id=uuid.uuid4(),
        name="test",
        prefix="pk_",
        scopes=ALL_SCOPES,
        enabled=enabled,
        created_at=now,
        last_used_at=now,
        expires_at=now + ends_in,
    )


async def test_unknown_keys_are_refused_without_a_look_up_beyond_the_limit(
    clock: WallClock,
) -> None:
    gate = _Gate()
    said = [await gate.say() for _ in range(130)]
    assert said == ["invalid_credentials"] * PER_MINUTE + ["rate_limited"] * 125
    assert gate.keys.questions == PER_MINUTE
    assert await gate.say(address=ELSEWHERE) == "invalid_credentials"

    clock.now += 61
    assert await gate.say() == "invalid_credentials"


async def test_a_refusal_says_how_long(clock: WallClock) -> None:
    gate = _Gate()
    for _ in range(PER_MINUTE):
        await gate.say()
    clock.now += 20.5
    with pytest.raises(ApiError) as refused:
        await gate.authenticator.authenticate(f"Bearer {_made_up()}", HERE)

    assert refused.value.code is ErrorCode.RATE_LIMITED
    assert (refused.value.status, refused.value.retry_after_seconds) == (429, 40)
    assert refused.value.headers["RateLimit-Limit"] == str(PER_MINUTE)
    assert "this address" in str(refused.value)


@pytest.mark.usefixtures("clock")
async def test_a_key_that_was_good_is_not_held_up_by_the_failures_of_others() -> None:
    gate, key = _Gate(), _made_up()
    gate.keys.record = _record()
    assert await gate.say(key) == "welcome"
    gate.keys.record = None
    assert [await gate.say() for _ in range(9)][-1] == "rate_limited"
    # The key is accepted by another lookup, and not only from the cache.
    gate.keys.record = _record()
    gate.now += 1
    assert await gate.say(key) == "welcome"
    gate.keys.record = None
    gate.now += 1
    assert await gate.say(key) == "invalid_credentials"
    assert await gate.say(key) == "rate_limited"


@pytest.mark.usefixtures("clock")
async def test_a_key_that_was_just_made_passes_at_once() -> None:
    gate, key = _Gate(), _made_up()
    for _ in range(2):
        await gate.say(key)
    assert [await gate.say() for _ in range(9)][-1] == "rate_limited"
    gate.keys.record = _record()
    gate.authenticator.expect_key(key)

    assert await gate.say(key) == "welcome"


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("record", "code"),
    [
        (_record(enabled=False), "invalid_credentials"),
        (_record(ends_in=timedelta(days=-1)), "expired_credentials"),
    ],
    ids=["disabled", "expired"],
)
async def test_keys_that_are_no_longer_good_count_too(record: KeyRecord, code: str) -> None:
    gate, key = _Gate(), _made_up()
    gate.keys.record = record

    said = [await gate.say(key) for _ in range(PER_MINUTE + 1)]
    assert said == [code] * PER_MINUTE + ["rate_limited"]


@pytest.mark.usefixtures("clock")
async def test_what_costs_no_look_up_does_not_count() -> None:
    gate = _Gate()
    assert [await gate.say("pk_x") for _ in range(9)] == ["invalid_credentials"] * 9
    for _ in range(9):
        with pytest.raises(ApiError, match="Bearer"):
            await gate.authenticator.authenticate(None, HERE)
    gate.keys.record = _record()
    assert [await gate.say() for _ in range(9)] == ["welcome"] * 9


@pytest.mark.usefixtures("clock")
async def test_sessions_count_with_keys() -> None:
    gate = _Gate()
    for _ in range(PER_MINUTE):
        with pytest.raises(ApiError, match="Log in again"):
            token = credentials.new_session_token()
            await gate.authenticator.authenticate_session(token, HERE)

    assert await gate.say() == "rate_limited"


@pytest.mark.usefixtures("clock")
async def test_a_limit_of_zero_is_none() -> None:
    gate = _Gate(per_minute=0)
    assert {await gate.say() for _ in range(1_000)} == {"invalid_credentials"}
