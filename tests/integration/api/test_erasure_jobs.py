"""Jobs that erase a plate: their leases, and the data that remains of a job."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from api.db.database import Database
from api.erasure.images import RemovedImages
from api.erasure.service import ErasedPlate
from api.recognitions.repository import Misreading
from common.errors import TransientError
from tests.integration.api.application import Application, Caller, Options, running_application

pytestmark = pytest.mark.integration

PLATE, OTHER = "AB12CD", "XY99Z"


class Eraser:
    """Erases nothing, and fails or waits as a test requires."""

    def __init__(self) -> None:
        self.erased: list[tuple[UUID, str]] = []
        self.is_away = False
        self.began, self.may_end = asyncio.Event(), asyncio.Event()
        self.may_end.set()

    async def __call__(
        self, owner_id: UUID, plate: str, misread: Sequence[Misreading], before_ms: int
    ) -> ErasedPlate:
        if self.is_away:
            raise TransientError("ClickHouse: no answer from http://inside:8123")
        self.began.set()
        await self.may_end.wait()
        self.erased.append((owner_id, plate))
        return ErasedPlate(Counter(recognitions=2, alertTriggers=1), RemovedImages(4, 0))


@pytest.fixture
def eraser() -> Eraser:
    return Eraser()


@pytest.fixture
async def application(database: Database, eraser: Eraser) -> AsyncIterator[Application]:
    async with running_application(database, Options(erase_plate=eraser)) as app:
        yield app


async def ask(application: Application, caller: Caller, plate: str = PLATE) -> Any:
    async with application.client(caller) as client:
        answer = await client.post("/api/erasures", json={"plate": plate})
    assert answer.status_code == 202, answer.text
    return answer.json()["erasure"]


async def state(application: Application, caller: Caller, job: Any) -> Any:
    async with application.client(caller) as client:
        return (await client.get(f"/api/erasures/{job['id']}")).json()["erasure"]


async def plates_kept(application: Application) -> list[str | None]:
    found = await application.database.run(
        lambda session: session.execute(text("SELECT plate FROM erasure_jobs")).all()
    )
    return [plate for (plate,) in found]


async def change(application: Application, statement: str) -> None:
    await application.database.run(lambda session: session.execute(text(statement)))


async def test_a_finished_job_is_reported_and_its_plate_deleted(
    application: Application, eraser: Eraser
) -> None:
    caller = await application.new_owner()
    job = await ask(application, caller)
    for spelling in ("ab 12-cd", "\u00c4\u0412\u200b12\u0107\u0111"):
        assert (await ask(application, caller, spelling))["id"] == job["id"]
    sweep = application.services.erasure_jobs.sweep

    assert [await sweep(), await sweep()] == [1, 0]

    assert eraser.erased == [(caller.owner_id, PLATE)]
    done = await state(application, caller, job)
    assert (done["state"], done["plate"]) == ("done", "A****D")
    assert (done["counts"]["recognitions"], done["counts"]["images"]) == (2, 4)
    assert await plates_kept(application) == [None]
    waits = await ask(application, caller, OTHER)
    async with application.client(caller) as client:
        assert (await client.get("/api/erasures")).json() == {"erasures": [waits, done]}
        first = (await client.get("/api/erasures?limit=1")).json()
        last = (await client.get(f"/api/erasures?lastKey={first['nextKey']}")).json()
    assert (first["erasures"], last) == ([waits], {"erasures": [done], "nextKey": None})
    async with application.client(await application.new_owner()) as stranger:
        assert (await stranger.get("/api/erasures")).json() == {"erasures": []}
        assert (await stranger.get(f"/api/erasures/{job['id']}")).status_code == 404
        assert (await stranger.get(f"/api/erasures/{uuid4()}")).status_code == 404
        for plate in (" - ", "AB*", "A\u0416"):
            wrong = await stranger.post("/api/erasures", json={"plate": plate})
            assert (wrong.status_code, wrong.json()["fields"][0]["path"]) == (400, "plate")


async def test_an_account_has_one_done_at_a_time_and_a_killed_process_leaves_it_to_the_next(
    application: Application, eraser: Eraser
) -> None:
    caller, other = await application.new_owner(), await application.new_owner()
    first = await ask(application, caller)
    await ask(application, caller, OTHER)
    sweep = application.services.erasure_jobs.sweep
    eraser.may_end.clear()
    killed = asyncio.create_task(sweep())
    await eraser.began.wait()
    assert (await state(application, caller, first))["state"] == "running"
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    eraser.may_end.set()

    # The kill is not known yet, so the job and the account's next job stay claimed.
    assert await sweep() == 0
    await ask(application, other)
    assert [await sweep(), await sweep()] == [1, 0]
    await change(application, "UPDATE erasure_jobs SET leased_until = now() - interval '1 second'")

    assert [await sweep(), await sweep(), await sweep()] == [1, 1, 0]
    mine = [(caller.owner_id, PLATE), (caller.owner_id, OTHER)]
    assert eraser.erased == [(other.owner_id, PLATE), *mine]


async def test_what_could_not_be_done_is_said_and_tried_again(
    application: Application, eraser: Eraser
) -> None:
    caller = await application.new_owner()
    job = await ask(application, caller)
    sweep, eraser.is_away = application.services.erasure_jobs.sweep, True

    with pytest.raises(TransientError):
        await sweep()

    waiting = await state(application, caller, job)
    assert (waiting["state"], "inside" in waiting["error"]) == ("waiting", False)
    assert waiting["error"].endswith("The erasure will be retried.")
    eraser.is_away = False
    assert await sweep() == 0
    await change(application, "UPDATE erasure_jobs SET leased_until = now()")
    assert await sweep() == 1
    assert (await state(application, caller, job))["error"] is None


async def test_waiting_jobs_of_an_account_are_limited(application: Application) -> None:
    caller = await application.new_owner()
    for number in range(20):
        await ask(application, caller, f"AB{number}")
    async with application.client(caller) as client:
        refused = await client.post("/api/erasures", json={"plate": PLATE})
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
