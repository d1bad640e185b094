"""The API as a process: unavailable dependencies, a clean stop, and kill -9."""

import asyncio
import os
import select
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from cryptography.fernet import Fernet
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.credits.repository import EntryKind, insert_entry
from api.db.database import Database
from common.settings import DatabaseSettings
from deploy.local.ports import free_ports
from deploy.local.servers.base import Program
from tests.integration.api import images
from tests.integration.api.application import PASSWORD, Caller, new_owner
from tests.integration.api.waiting import until
from tests.services.families import running_below
from tests.services.process import ChildProcess

pytestmark = pytest.mark.integration

NOWHERE = "127.0.0.1:1"
READY_SECONDS = 120
SWEPT_SECONDS = 90
HELD = 20
PER_ADDRESS = 100
STALLED = 150
LOG_IN_SECONDS = 5
_GUESSERS = "2001:db8:1"
PHOTO = images.jpeg(1920, 1080)


class ApiProcess:
    """A process ``python -m api`` on a free port, with a database and no other dependency."""

    def __init__(
        self, database: DatabaseSettings, folder: Path, settings: Mapping[str, str] | None = None
    ) -> None:
        self.port, self.metrics_port = free_ports(2)
        environment = {
            "PLATESTREAM_DATABASE_URL": database.database_url.get_secret_value(),
            "PLATESTREAM_SECRET_KEY": Fernet.generate_key().decode(),
            "PLATESTREAM_S3_ENDPOINT": f"http://{NOWHERE}",
            "PLATESTREAM_S3_SECRET_KEY": "none",
            "PLATESTREAM_CLICKHOUSE_URL": f"http://{NOWHERE}",
            "PLATESTREAM_CLICKHOUSE_PASSWORD": "none",
            "PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS": NOWHERE,
            "PLATESTREAM_API_PORT": str(self.port),
            "PLATESTREAM_METRICS_PORT": str(self.metrics_port),
            "PLATESTREAM_RECOGNITION_WORKERS": "1",
            "PLATESTREAM_RATE_LIMIT_PER_MINUTE": "0",
            "PLATESTREAM_RATE_LIMIT_RECOGNIZE_PER_MINUTE": "0",
            **(settings or {}),
        }
        program = Program(name="api", command=(sys.executable, "-m", "api"))
        folder.mkdir(exist_ok=True)
        self.process = ChildProcess(program, folder / "api.log", environment)
        self.address = f"http://127.0.0.1:{self.port}"
        self.pages = f"http://127.0.0.1:{self.metrics_port}"

    @asynccontextmanager
    async def running(self, caller: Caller) -> AsyncIterator[httpx.AsyncClient]:
        """Start the process, yield a client once images can be read, and kill the process."""
        self.process.start()
        headers = {"Authorization": f"Bearer {caller.key}"}
        try:
            async with httpx.AsyncClient(
                base_url=self.address, headers=headers, timeout=30
            ) as client:
                await self._until_the_recogniser_is_ready(client)
                yield client
        finally:
            self.process.kill()

    def freeze_recogniser(self) -> int:
        """Stop the inference worker (SIGSTOP), and return the worker's process ID."""
        (recogniser,) = running_below(self.process.pid, "recognition.workers.worker")
        os.kill(recogniser, signal.SIGSTOP)
        return recogniser

    def resident_mebibytes(self) -> int:
        """Return the memory of the process without its inference worker."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) // 1024

    async def takes_no_calls(self) -> bool:
        """Return whether the process refuses new connections."""
        async with httpx.AsyncClient(base_url=self.address, timeout=5) as client:
            try:
                await client.get("/healthz")
            except httpx.TransportError:
                return True
        return False

    async def _until_the_recogniser_is_ready(self, client: httpx.AsyncClient) -> None:
        async def ready() -> bool:
            assert self.process.is_running(), self.process.tail()
            with suppress(httpx.TransportError):
                checks = (await client.get(f"{self.pages}/readyz")).json().get("checks", {})
                return bool(checks.get("recognizer") == "ok")
            return False

        await until(ready, seconds=READY_SECONDS)


@pytest.fixture
def api(api_database: DatabaseSettings, tmp_path: Path) -> ApiProcess:
    return ApiProcess(api_database, tmp_path)


@pytest.fixture
async def caller(database: Database) -> Caller:
    return await new_owner(database, credits=100)


async def test_it_names_what_is_down_and_stops_cleanly(
    api: ApiProcess, caller: Caller, database: Database
) -> None:
    async with api.running(caller) as client:
        assert (await client.get("/healthz")).status_code == 200
        ready = await client.get(f"{api.pages}/readyz")
        assert ready.status_code == 503
        down = {name for name, said in ready.json()["checks"].items() if said != "ok"}
        assert down == {"clickhouse", "s3", "kafka"}
        assert (await client.get("/api/credits")).json()["credits"] == 100
        counted = (await client.get(f"{api.pages}/metrics")).text
        assert 'route="/api/credits",status="200"' in counted
        assert (await client.get(f"{api.pages}/healthz")).text == "ok\n"
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        hidden = [(await client.get(path)).status_code for path in ("/metrics", "/readyz")]
        assert hidden == [404, 404]

        recogniser = api.freeze_recogniser()
        working = asyncio.create_task(_recognize(client))
        await until(lambda: _has(database, "credit_reservations"), seconds=30)
        stopping = asyncio.create_task(asyncio.to_thread(api.process.stop))
        await until(api.takes_no_calls, seconds=30)
        os.kill(recogniser, signal.SIGCONT)
        await stopping
        # The request in flight was completed.
        assert (await working).status_code == 200


@pytest.mark.long
async def test_callers_that_do_not_read_block_no_other(
    api_database: DatabaseSettings, caller: Caller, tmp_path: Path
) -> None:
    settings = {"PLATESTREAM_API_MAX_CONNECTIONS": str(4 * PER_ADDRESS)}
    api = ApiProcess(api_database, tmp_path, settings)
    async with api.running(caller) as client:
        with ExitStack() as opened:
            crowd = [opened.enter_context(_non_reader(api.port)) for _ in range(300)]
            for one in crowd:
                one.sendall(b"GET /api/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
            said = Counter([await asyncio.to_thread(one.recv, 12) for one in crowd])
            assert said == {
                b"HTTP/1.1 200": PER_ADDRESS,
                b"HTTP/1.1 503": 300 - PER_ADDRESS,
            }
            # Another address still has connections.
            answers = [await client.get("/api/credits") for _ in range(20)]
            again = await client.get("/api/openapi.json")
        assert {answer.status_code for answer in answers} == {200}
        assert again.headers["content-encoding"] == "gzip"
        known = {"If-None-Match": again.headers["etag"]}
        assert (await client.get("/api/openapi.json", headers=known)).status_code == 304


@pytest.mark.long
async def test_logins_succeed_while_others_of_the_network_guess(
    api_database: DatabaseSettings, database: Database, tmp_path: Path
) -> None:
    settings = {"PLATESTREAM_TRUSTED_PROXIES": "127.0.0.1"}
    api = ApiProcess(api_database, tmp_path, settings)
    caller, other = await new_owner(database, credits=100), await new_owner(database, credits=100)
    async with api.running(caller) as client:
        stop, guesses = asyncio.Event(), Counter[int]()
        began = time.monotonic()
        known = await _log_in(client, caller.email, "192.0.2.1")
        # A busy machine takes longer for every password comparison.
        in_time = max(LOG_IN_SECONDS, 10 * (time.monotonic() - began))
        device = {"Cookie": f"device={known.cookies['device']}"}
        async with asyncio.TaskGroup() as guessing:
            for number in range(40):
                guessing.create_task(_guess(client, number, stop, guesses))
            await until(lambda: _are(guesses, 60), seconds=60)
            logs_in = (
                _log_in(client, caller.email, "203.0.113.1", device),
                # This login comes from the network of the guesses.
                _log_in(client, caller.email, f"{_GUESSERS}:ffff::1", device),
                # A new device at a new address waits for its turn among the networks.
                _log_in(client, other.email, "198.51.100.1"),
            )
            for each in logs_in:
                async with asyncio.timeout(in_time):
                    assert (await each).status_code == 200
            stop.set()

    assert set(guesses) <= {401, 429}


async def _guess(
    client: httpx.AsyncClient, number: int, stop: asyncio.Event, guesses: Counter[int]
) -> None:
    """Try a password every second, from an address of one /48 network, until ``stop`` is set."""
    tries = 0
    while not stop.is_set():
        tries += 1
        address = f"{_GUESSERS}:{number:x}{tries % 256:02x}::1"
        answer = await _log_in(client, f"nobody{number}.{tries}@example.com", address, wrong=True)
        guesses[answer.status_code] += 1
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 1)


async def _are(guesses: Counter[int], count: int) -> bool:
    return guesses.total() >= count


async def _log_in(
    client: httpx.AsyncClient,
    email: str,
    address: str,
    headers: Mapping[str, str] | None = None,
    *,
    wrong: bool = False,
) -> httpx.Response:
    body = {"email": email, "password": "a wrong one" if wrong else PASSWORD}
    told = {"X-Forwarded-For": address, **(headers or {})}
    client.cookies.clear()
    return await client.post("/api/session", json=body, headers=told)


@pytest.mark.long
async def test_an_idle_connection_stays_open_longer_than_at_common_proxies(
    api_database: DatabaseSettings, caller: Caller, tmp_path: Path
) -> None:
    api = ApiProcess(api_database, tmp_path)
    async with api.running(caller):
        reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(), 6)
        writer.close()


@pytest.mark.long
async def test_stalled_uploads_take_little_memory_and_block_no_other(
    api_database: DatabaseSettings, caller: Caller, database: Database, tmp_path: Path
) -> None:
    api = ApiProcess(api_database, tmp_path)
    greedy = await new_owner(database, credits=100)
    async with api.running(caller) as client:
        assert (await _recognize(client)).status_code == 200
        before = api.resident_mebibytes()
        with ExitStack() as opened:
            crowd = [
                opened.enter_context(await asyncio.to_thread(_stalled_upload, api.port, greedy))
                for _ in range(STALLED)
            ]
            refused, most = 0, before
            while refused < STALLED - 16:
                most = max(most, api.resident_mebibytes())
                answered, _, _ = await asyncio.to_thread(select.select, crowd, (), (), 60)
                assert answered, f"{refused} refused"
                for one in answered:
                    # The account has too many requests, or the connection has stalled for too long.
                    with suppress(ConnectionError):
                        assert one.recv(12) in (b"HTTP/1.1 429", b"HTTP/1.1 400")
                    crowd.remove(one)
                    refused += 1
            answers = [await _recognize(client) for _ in range(5)]
        assert {answer.status_code for answer in answers} == {200}
        assert most - before < STALLED / 2
        near = (await client.get(f"{api.pages}/metrics")).text
        assert f'limit="body_mebibytes",owner="{greedy.owner_id}"' in near


@pytest.mark.long
async def test_two_processes_and_kill_9_of_one_spend_a_balance_exactly(
    api_database: DatabaseSettings, caller: Caller, database: Database, tmp_path: Path
) -> None:
    await database.run(lambda session: _take_credits(session, caller, 50))
    killed, other = (ApiProcess(api_database, tmp_path / name) for name in ("one", "two"))
    async with killed.running(caller) as first, other.running(caller) as second:
        assert (await _recognize(second)).status_code == 200
        # Calls that the frozen process accepted stay in flight until the process is killed.
        killed.freeze_recogniser()
        calls = _begin_calls(first, HELD)
        await until(lambda: _has_reserved(database, HELD), seconds=30)
        calls += _begin_calls(first, 100 - HELD) + _begin_calls(second, 100)
        killed.process.kill()
        said = await asyncio.gather(*calls, return_exceptions=True)
        # The other process refunds the credits that the killed process had reserved.
        await until(lambda: _is_swept(database, "credit_reservations"), seconds=SWEPT_SECONDS)
        answers = [answer for answer in said if isinstance(answer, httpx.Response)]
        assert len(answers) <= 200 - HELD
        assert {answer.status_code for answer in answers} <= {200, 402, 500}
        unanswered = 200 - sum(answer.status_code != 500 for answer in answers)
        retried = [await _recognize_in_the_end(second) for _ in range(unanswered)]
        assert await _recognize_in_the_end(second) == 402

    # A paid response can be lost in transit, but no response is sent without payment.
    assert 1 + sum(answer.status_code == 200 for answer in answers) + retried.count(200) <= 50
    assert await _money(database) == (0, 0, 50)
    assert await _count(database, "SELECT sum(delta) FROM credit_entries") == 0


@pytest.mark.long
async def test_kill_9_while_a_camera_waits_for_a_worker(
    api: ApiProcess, caller: Caller, database: Database
) -> None:
    body = {"name": "Gate", "rtspUrl": "rtsp://10.0.0.8/1"}
    async with api.running(caller) as client:
        creating = asyncio.create_task(client.post("/api/cameras", json=body))
        await until(lambda: _has(database, "cameras"), seconds=30)
        api.process.kill()
        with pytest.raises(httpx.TransportError):
            await creating
    async with api.running(caller) as client:
        assert (await client.get("/api/cameras")).json() == {"cameras": []}
        await until(lambda: _is_swept(database, "cameras"), seconds=SWEPT_SECONDS)
    assert await _count(database, "SELECT count(*) FROM config_outbox WHERE value IS NULL") == 1


def _non_reader(port: int) -> socket.socket:
    """Return a connection from another address that reads almost nothing."""
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    caller.bind(("127.0.0.2", 0))
    caller.connect(("127.0.0.1", port))
    return caller


def _stalled_upload(port: int, caller: Caller) -> socket.socket:
    """Return a connection from another address that has sent the first MiB of an image call."""
    upload = socket.socket()
    upload.bind(("127.0.0.3", 0))
    upload.connect(("127.0.0.1", port))
    head = (
        "POST /api/recognize HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n"
        f"Authorization: Bearer {caller.key}\r\nContent-Length: 9000000\r\n\r\n"
    )
    # The API closes a rejected connection while the body is still being sent.
    with suppress(ConnectionError):
        upload.sendall(head.encode() + b"\xff\xd8\xff" + bytes(1 << 20))
    return upload


def _begin_calls(client: httpx.AsyncClient, count: int) -> list[asyncio.Task[httpx.Response]]:
    return [asyncio.create_task(_recognize(client)) for _ in range(count)]


async def _recognize(client: httpx.AsyncClient) -> httpx.Response:
    headers = {"Content-Type": "application/octet-stream"}
    return await client.post("/api/recognize", content=PHOTO, headers=headers)


async def _recognize_in_the_end(client: httpx.AsyncClient) -> int:
    """Return the status of a call that is retried while the service is busy."""
    while (answer := await _recognize(client)).status_code == 500:
        code = answer.json()["code"]
        assert code.startswith("recognizer_") or code == "dependency_unavailable"
    return answer.status_code


def _take_credits(session: Session, caller: Caller, amount: int) -> None:
    taken = insert_entry(
        session, caller.owner_id, delta=-amount, kind=EntryKind.GRANT, reason="removed"
    )
    assert taken is not None


async def _has_reserved(database: Database, credits_held: int) -> bool:
    return (await _money(database))[1] == credits_held


async def _has(database: Database, table: str) -> bool:
    return await _count(database, f"SELECT count(*) FROM {table}") > 0


async def _is_swept(database: Database, table: str) -> bool:
    return not await _has(database, table)


async def _count(database: Database, query: str) -> int:
    return await database.run(lambda session: int(session.scalar(text(query)) or 0))


async def _money(database: Database) -> tuple[int, int, int]:
    """Return the balance, the reserved credits, and the credits that calls have cost."""

    def work(session: Session) -> tuple[int, int, int]:
        row = session.execute(text(_MONEY)).one()
        return int(row[0]), int(row[1]), int(row[2])

    return await database.run(work)


_MONEY = """
SELECT balance, reserved, (SELECT count(*) FROM credit_entries WHERE kind = 'debit')
FROM credit_accounts
"""
