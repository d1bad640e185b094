"""The image call costs one credit if it returns 200, and nothing otherwise."""

import asyncio
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.credits import repository as credits_repository
from api.db.database import Database
from api.security.permissions import Principal
from common.errors import InvalidInputError
from recognition.workers.pool import (
    RecognizerBusyError,
    RecognizerCrashedError,
    RecognizerTimeoutError,
)
from tests.integration.api.application import (
    IMAGE_CALLS_AT_ONCE,
    Application,
    running_application,
)
from tests.integration.api.images import jpeg, png
from tests.unit.api.callers import named_id

pytestmark = pytest.mark.integration

OCTETS = {"Content-Type": "application/octet-stream"}
IMAGE = jpeg()


async def test_200_calls_at_once_spend_50_credits_exactly(application: Application) -> None:
    caller = await application.new_owner(credits=50)
    async with application.client(caller) as client:
        answers = await asyncio.gather(*(_recognize(client) for _ in range(200)))

    assert Counter(answer.status_code for answer in answers) == {200: 50, 402: 150}
    assert await _money(application.database, caller.owner_id) == (0, 0, 0)
    remaining = sorted(a.json()["creditsRemaining"] for a in answers if a.status_code == 200)
    assert remaining == list(range(50))


async def test_concurrent_calls_of_an_account_are_limited(application: Application) -> None:
    owner, other = [await application.new_owner(credits=1) for _ in range(2)]
    principal = Principal(owner.owner_id, named_id("another key"), frozenset())
    images = application.services.image_recognition
    async with application.client(owner) as client, application.client(other) as theirs:
        with ExitStack() as working:
            for _ in range(IMAGE_CALLS_AT_ONCE):
                working.enter_context(images.counted_call(principal))
            refused = await _recognize(client)
            assert (await _recognize(theirs)).status_code == 200
        assert (await _recognize(client)).status_code == 200

    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert f"limit of {IMAGE_CALLS_AT_ONCE} concurrent image calls" in refused.json()["error"]
    assert refused.headers["Retry-After"] == "1"


async def test_no_credits_is_402_in_the_one_shape(application: Application) -> None:
    async with application.client(await application.new_owner()) as client:
        answer = await _recognize(client)

    assert answer.status_code == 402
    assert set(answer.json()) == {"error", "code", "requestId"}
    assert "nsufficient credits" in answer.json()["error"]
    assert application.reader.calls == 0


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidInputError("ends early", code="truncated_image"), 400, "truncated_image"),
        (InvalidInputError("unheard of", code="something_new"), 400, "unreadable_image"),
        (RecognizerBusyError("full"), 500, "recognizer_busy"),
        (RecognizerTimeoutError("slow"), 500, "recognizer_timeout"),
        (RecognizerCrashedError("dead"), 500, "recognizer_timeout"),
        (RuntimeError("a bug"), 500, "internal_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
async def test_an_error_costs_nothing(
    application: Application, error: Exception, status: int, code: str
) -> None:
    caller = await application.new_owner(credits=3)
    application.reader.error = error
    async with application.client(caller) as client:
        answer = await _recognize(client, key="k")
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert await _money(application.database, caller.owner_id) == (3, 0, 3)

        application.reader.error = None
        assert (await _recognize(client, key="k")).status_code == 200


async def test_the_credit_of_a_call_that_died_is_refunded(database: Database) -> None:
    async with running_application(database) as application:
        caller = await application.new_owner(credits=2)
        past = datetime.now(UTC) - timedelta(seconds=1)
        held = await database.run(
            lambda session: credits_repository.reserve(session, caller.owner_id, 1, past)
        )
        assert held is not None
        assert await _money(database, caller.owner_id) == (2, 1, 2)

        assert await application.services.image_recognition.sweep() == 1
        assert await _money(database, caller.owner_id) == (2, 0, 2)
        # A call that was presumed dead and then continues costs nothing.
        assert await database.run(lambda s: credits_repository.settle(s, held, "late")) is None
        assert await _money(database, caller.owner_id) == (2, 0, 2)


async def test_the_same_idempotency_key_pays_once(application: Application) -> None:
    caller = await application.new_owner(credits=5)
    async with application.client(caller) as client:
        answers = await asyncio.gather(*(_recognize(client, key="once") for _ in range(20)))
        bodies = {answer.text for answer in answers}
        assert {answer.status_code for answer in answers} == {200}
        assert len(bodies) == 1
        assert application.reader.calls == 1

        other = await client.post(
            "/api/recognize", content=png(), headers=OCTETS | {"Idempotency-Key": "once"}
        )
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert await _money(application.database, caller.owner_id) == (4, 0, 4)


async def test_an_idempotency_key_is_the_owners_own(application: Application) -> None:
    for _ in range(2):
        caller = await application.new_owner(credits=1)
        async with application.client(caller) as client:
            assert (await _recognize(client, key="same")).json()["creditsRemaining"] == 0


async def test_two_sweepers_and_calls_at_once_keep_the_sum(application: Application) -> None:
    caller = await application.new_owner(credits=30)
    sweep = application.services.image_recognition.sweep
    async with application.client(caller) as client:
        await asyncio.gather(*(_recognize(client) for _ in range(40)), *(sweep() for _ in range(9)))

    balance, reserved, ledger = await _money(application.database, caller.owner_id)
    assert (balance, reserved) == (0, 0)
    assert ledger == 0


async def _recognize(client: httpx.AsyncClient, *, key: str | None = None) -> httpx.Response:
    headers = OCTETS if key is None else OCTETS | {"Idempotency-Key": key}
    return await client.post("/api/recognize", content=IMAGE, headers=headers)


async def _money(database: Database, owner_id: UUID) -> tuple[int, int, int]:
    """Return the balance, the reserved credits, and the sum of the ledger."""

    def work(session: Session) -> tuple[int, int, int]:
        row = session.execute(text(_MONEY), {"owner": owner_id}).one()
        return int(row[0]), int(row[1]), int(row[2])

    return await database.run(work)


_MONEY = """
SELECT balance, reserved,
       (SELECT coalesce(sum(delta), 0) FROM credit_entries e WHERE e.owner_id = a.owner_id)
FROM credit_accounts a WHERE owner_id = :owner
"""
