"""How long a credential is cached, and which credentials wait for a lookup."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest

from api.db.database import Database
from api.errors import ApiError, ErrorCode
from api.security.lookup import (
    CACHE_SECONDS,
    UNKNOWN_SECONDS,
    CredentialCache,
    CredentialLookup,
    UnknownCredentialQueue,
)
from api.security.repository import KeyRecord
from tests.clock import Clock

DIGEST, OTHER = b"d" * 32, b"o" * 32

RECORD = KeyRecord(
    UUID(int=1), UUID(int=2), "gate", "pk_", frozenset(), True, None, None, datetime.now(UTC)
)


class _Rows:
    """Fake database that counts queries. Queries wait while the database is held."""

    def __init__(self) -> None:
        self.found: KeyRecord | None = None
        self.questions = 0
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def run(self, work: Callable[[Any], Any]) -> Any:
        self.questions += 1
        await self.goes_on.wait()
        return work(None)


def _lookup(
    rows: _Rows, clock: Clock, line: UnknownCredentialQueue | None = None
) -> CredentialLookup[KeyRecord]:
    found: Callable[[Any, bytes], KeyRecord | None] = lambda session, digest: rows.found  # noqa: E731
    return CredentialLookup(cast(Database, rows), found, line or UnknownCredentialQueue(2), clock)


def test_a_credential_is_believed_from_the_question_on() -> None:
    clock = Clock()
    cache = CredentialCache[KeyRecord](clock)
    asked_at, clock.seconds = clock.seconds, clock.seconds + 0.5
    cache.put(DIGEST, RECORD, asked_at)
    assert cache.get(DIGEST) == RECORD
    clock.seconds = asked_at + CACHE_SECONDS - 0.01
    assert cache.get(DIGEST) == RECORD
    clock.seconds = asked_at + CACHE_SECONDS
    assert cache.get(DIGEST) is None


def test_what_was_changed_here_is_forgotten_at_once() -> None:
    cache = CredentialCache[KeyRecord](Clock())
    cache.put(DIGEST, RECORD, 100.0)
    cache.forget(RECORD.id)
    assert cache.get(DIGEST) is None
    cache.put(DIGEST, RECORD, 100.0)
    cache.put(DIGEST, None, 100.0)
    assert cache.get(DIGEST) is None


async def test_an_unknown_credential_is_looked_up_every_two_seconds() -> None:
    clock, rows = Clock(), _Rows()
    lookup = _lookup(rows, clock)
    assert [await lookup.find(DIGEST) for _ in range(50)] == [None] * 50
    assert rows.questions == 1

    rows.found = RECORD
    clock.seconds += UNKNOWN_SECONDS
    assert await lookup.find(DIGEST) == RECORD


async def test_a_credential_that_was_just_made_is_looked_up_at_once() -> None:
    rows = _Rows()
    lookup = _lookup(rows, Clock())
    assert await lookup.find(DIGEST) is None
    rows.found = RECORD
    lookup.trust(DIGEST)

    assert await lookup.find(DIGEST) == RECORD


async def test_invalid_credentials_evict_no_valid_one() -> None:
    rows = _Rows()
    lookup = _lookup(rows, Clock())
    rows.found = RECORD
    await lookup.find(DIGEST)
    rows.found = None
    for number in range(20_000):
        await lookup.find(number.to_bytes(32))

    assert await lookup.find(DIGEST) == RECORD


async def test_unknown_credentials_wait_in_a_separate_queue() -> None:
    rows = _Rows()
    lookup = _lookup(rows, Clock(), UnknownCredentialQueue(2, max_waiting=5))
    lookup.trust(DIGEST)
    rows.goes_on.clear()
    strangers = [asyncio.create_task(lookup.find(bytes([n]) * 32)) for n in range(7)]
    await _turn_the_loop()
    assert rows.questions == 2

    with pytest.raises(ApiError) as refused:
        await lookup.find(OTHER)
    assert refused.value.code is ErrorCode.SERVICE_BUSY
    assert (refused.value.status, refused.value.retry_after_seconds) == (503, 1)
    # Credentials that were valid before do not wait for unknown credentials.
    known = asyncio.create_task(lookup.find(DIGEST))
    await _turn_the_loop()
    assert rows.questions == 3
    rows.goes_on.set()
    assert await asyncio.gather(*strangers) == [None] * 7
    assert await known is None
    assert await lookup.find(OTHER) is None


async def test_a_caller_that_disconnects_leaves_the_queue() -> None:
    rows = _Rows()
    lookup = _lookup(rows, Clock(), UnknownCredentialQueue(1, max_waiting=1))
    rows.goes_on.clear()
    first = asyncio.create_task(lookup.find(DIGEST))
    await _turn_the_loop()
    second = asyncio.create_task(lookup.find(OTHER))
    await _turn_the_loop()
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    third = asyncio.create_task(lookup.find(OTHER))
    await _turn_the_loop()
    rows.goes_on.set()

    assert [await first, await third] == [None, None]


async def _turn_the_loop() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
