"""Servers that freeze accept connections but do not respond. Calls fail soon and name the server.

Otherwise a call would wait for ten seconds (ClickHouse) or fifteen seconds (PostgreSQL).
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.orm import Session

from analytics_sql.migrate import migrate as migrate_search
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.db.database import Database
from api.db.engine import open_engine
from api.db.migrate import migrate
from api.errors import DependencyUnavailableError
from common.settings import DatabaseSettings, S3Settings
from deploy.local.servers.postgres import PostgresServer
from deploy.local.servers.s3 import S3Server
from tests.integration.api.application import Options, running_application
from tests.integration.api.waiting import until
from tests.services.clickhouse import create_database, start_clickhouse
from tests.services.postgres import postgres_process
from tests.services.s3 import s3_process

pytestmark = pytest.mark.integration

# A call counts as slow after 1.5 s, a health check takes 3 s, and the machine may be busy.
SOON_SECONDS = 8.0
AT_ONCE_SECONDS = 1.5
RECOVERY_SECONDS = 30.0
RETENTION_DAYS = 36_500


class _Server(Protocol):
    def pause(self) -> None: ...

    def resume(self) -> None: ...


@contextmanager
def _frozen(server: _Server) -> Iterator[None]:
    server.pause()
    try:
        yield
    finally:
        server.resume()


async def _is_refused(client: httpx.AsyncClient, path: str, part: str) -> float:
    """Return the duration of a call that reports the unavailable dependency."""
    began = time.monotonic()
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (500, "dependency_unavailable")
    assert answer.json()["error"] == f"The {part} is not responding. Try again later."
    return time.monotonic() - began


async def _until_answered(client: httpx.AsyncClient, path: str) -> None:
    async def answered() -> bool:
        return (await client.get(path)).status_code == 200

    await until(answered, seconds=RECOVERY_SECONDS)


@pytest.mark.long
async def test_the_search_database_freezes_dies_and_recovers(
    database: Database, tmp_path: Path
) -> None:
    server = start_clickhouse(tmp_path)
    address = create_database(server.address)
    schema = address.client()
    migrate_search(schema, retention_days=RETENTION_DAYS)
    schema.close()
    store = ClickHouseStore(address.settings())
    async with (
        running_application(database, Options(store=store)) as application,
        application.client(await application.new_owner()) as client,
    ):
        assert (await client.get("/api/recognitions")).status_code == 200
        with _frozen(server):
            lists = [_is_refused(client, "/api/recognitions", "search database") for _ in range(30)]
            assert max(await asyncio.gather(*lists)) < SOON_SECONDS
            one = "/api/recognitions/00000000-0000-0000-0000-000000000001"
            assert await _is_refused(client, one, "search database") < AT_ONCE_SECONDS
            assert (await client.get("/api/cameras")).status_code == 200
        await _until_answered(client, "/api/recognitions")
        await asyncio.to_thread(server.kill)
        assert await _is_refused(client, "/api/recognitions", "search database") < SOON_SECONDS
        await asyncio.to_thread(server.start)
        assert (await client.get("/api/recognitions")).status_code == 200
    await store.close()
    server.stop()


@pytest.mark.long
async def test_the_configuration_database_freezes(tmp_path: Path) -> None:
    with postgres_process(tmp_path) as server:
        assert isinstance(server.server, PostgresServer)
        settings = DatabaseSettings(database_url=SecretStr(server.server.url()))
        engine = open_engine(settings)
        migrate(engine)
        engine.dispose()
        database = Database(settings, pool_size=2)
        async with (
            running_application(database) as application,
            application.client(await application.new_owner()) as client,
        ):
            assert (await client.get("/api/cameras")).status_code == 200
            given_up = await _a_transaction_in_which_it_stops(database, server)
            part = "configuration database"
            # There are more calls than threads, and each thread is blocked by a query.
            lists = [_is_refused(client, "/api/cameras", part) for _ in range(9)]
            assert max(await asyncio.gather(*lists)) < SOON_SECONDS
            with pytest.raises(DependencyUnavailableError):
                await given_up
            assert await _is_refused(client, "/api/credits", part) < AT_ONCE_SECONDS
            readiness = await application.services.health.readiness()
            assert readiness.faults["postgres"] == f"the {part} is not responding"
            server.resume()
            await _until_answered(client, "/api/cameras")
            await _a_long_transaction_ends(database)
            assert await _name_of_the_table(database) is None
        database.close()


async def _a_transaction_in_which_it_stops(
    database: Database, server: _Server
) -> asyncio.Task[None]:
    """Freeze the server between two statements of a transaction, and return the transaction."""
    stopped = threading.Event()

    def work(session: Session) -> None:
        session.execute(text("CREATE TABLE given_up (number int)"))
        server.pause()
        stopped.set()
        # The transaction waits for the server while the server is frozen.
        session.execute(text("INSERT INTO given_up VALUES (1)"))

    task = asyncio.create_task(database.run(work))
    await asyncio.to_thread(stopped.wait, RECOVERY_SECONDS)
    return task


async def _name_of_the_table(database: Database) -> str | None:
    named: str | None = await database.run(
        lambda session: session.scalar(text("SELECT to_regclass('given_up')::text"))
    )
    return named


async def _a_long_transaction_ends(database: Database) -> None:
    slept: Any = await database.run(lambda session: session.scalar(text("SELECT pg_sleep(5.5), 1")))
    assert slept is not None


@pytest.mark.long
async def test_the_image_store_freezes(tmp_path: Path) -> None:
    with s3_process(tmp_path) as server:
        assert isinstance(server.server, S3Server)
        settings = S3Settings.model_validate(
            {
                "s3_endpoint": server.server.endpoint,
                "s3_access_key": server.server.access_key,
                "s3_secret_key": server.server.secret_key,
            }
        )
        images = ImageStore(settings)
        await images.put("one", b"\xff\xd8\xff", "image/jpeg")
        with _frozen(server):
            began = time.monotonic()
            # There are more calls than threads.
            said = await asyncio.gather(
                *(images.image("one") for _ in range(20)), return_exceptions=True
            )
            assert {str(one) for one in said} == {"the image store is not responding"}
            assert time.monotonic() - began < SOON_SECONDS
            with pytest.raises(DependencyUnavailableError):
                await images.ping()

        async def has_recovered() -> bool:
            try:
                return await images.image("one") is not None
            except DependencyUnavailableError:
                return False

        await until(has_recovered, seconds=RECOVERY_SECONDS)
        images.close()
