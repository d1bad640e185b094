"""All limited pools of the service: the callers that can fill each pool, and how it is shared.

A test compares the table with the source, so a new pool needs a line here. Another test fills each
pool of the API that is shared in turns with a greedy caller; another caller gets the next turn.
"""

import ast
import asyncio
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from cryptography.fernet import Fernet
from msgspec.structs import replace

from analytics_sql.recognitions import recognition_row
from api.adapters import outbound
from api.adapters.clickhouse import ClickHouseStore
from api.adapters.image_store import ImageStore
from api.alerts import insight
from api.alerts.insight import AlertInsight
from api.alerts.repository import AlertListing
from api.db import database as api_database
from api.db.database import Database
from api.errors import ApiError
from api.imports.routes import TableImports
from api.limits.fair_queue import queue_as
from api.oidc import service as oidc
from api.oidc.flow import Flow
from api.oidc.service import OidcLogIn, ProviderAnswer
from api.pictures import service as pictures
from api.pictures.service import Thumbnails
from api.recognize.readers import DEMO, FairReader
from api.security.lookup import UnknownCredentialQueue
from api.sessions import service as sessions
from api.sessions.attempts import AttemptRules, LoginAttempts, Origin
from api.sessions.methods import LogInMethods
from api.sessions.service import Sessions
from common.errors import InvalidInputError, PlatestreamError
from common.s3 import S3Bucket
from common.secrets import SecretBox
from common.settings import ClickHouseSettings, DatabaseSettings, S3Settings
from tests.integration.api.waiting import until
from tests.records import OWNER, recognition
from tests.unit.api.callers import endless_limits, named_id

ROOT = Path(__file__).resolve().parents[4]
SERVING = ("common", "recognition", "analytics_sql", "ingest", "streams", "api")
KINDS = frozenset(
    {
        "BodyBudget",
        "BoundedSemaphore",
        "CameraProbe",
        "CapacityLimiter",
        "ConnectionLimits",
        "EndpointQueues",
        "Exports",
        "FairThreads",
        "FairQueue",
        "OrderedTaskPool",
        "ProcessPoolExecutor",
        "Queue",
        "Semaphore",
        "StreamSlots",
        "ThreadPoolExecutor",
        "run_in_executor",
        "to_thread",
    }
)
"""Classes of pools, and calls that use a pool; `to_thread` uses the event loop's pool."""


@dataclass(frozen=True)
class Pool:
    """A pool: the module that creates the pool, its class, its callers, and how they share it."""

    module: str
    kind: str
    filled_by: str
    shared_by: str


POOLS: Sequence[Pool] = (
    # API: pools that callers share in turns.
    Pool("api/adapters/clickhouse.py", "FairQueue", "searches", "owner"),
    Pool("api/adapters/image_store.py", "FairThreads", "images, stored image calls", "owner"),
    Pool("api/adapters/outbound.py", "FairThreads", "addresses of webhooks and alerts", "owner"),
    Pool("api/alerts/insight.py", "FairThreads", "tests and explanations of alerts", "owner"),
    Pool("api/db/database.py", "FairThreads", "all calls", "owner; before login network"),
    Pool("api/oidc/service.py", "FairQueue", "logins by the identity provider", "network"),
    Pool("api/pictures/service.py", "FairThreads", "images with a width", "owner"),
    Pool("api/recognize/readers.py", "FairQueue", "image calls", "owner; the demo is one"),
    Pool("api/recognize/readers.py", "FairQueue", "demo calls", "network"),
    Pool("api/security/lookup.py", "FairQueue", "keys and sessions not valid before", "network"),
    # These are "passwords" and "known-passwords".
    Pool("api/sessions/service.py", "FairThreads", "log-ins", "network; known devices apart"),
    Pool("api/adapters/outbound.py", "FairThreads", "addresses of services to notify", "owner"),
    Pool("api/imports/routes.py", "FairThreads", "CSV files", "owner; seconds a minute for each"),
    # API: pools with a limit for each account or network.
    Pool("api/__main__.py", "ConnectionLimits", "connections", "address: four can fill all"),
    Pool("api/middleware/http_protocol.py", "ConnectionLimits", "connections in tests", "likewise"),
    Pool("api/cameras/probe.py", "Semaphore", "camera tests", "owner: one for each"),
    Pool("api/container.py", "BodyBudget", "request bodies", "owner or network: free share"),
    Pool("api/container.py", "CameraProbe", "camera tests", "owner: one; full with as many owners"),
    Pool("api/container.py", "Exports", "exports", "owner: 2"),
    Pool("api/container.py", "StreamSlots", "live streams", "owner: free share"),
    # Pools inside a pool that callers fill.
    Pool("api/limits/fair_threads.py", "FairQueue", "each FairThreads above", "caller"),
    Pool("api/limits/fair_threads.py", "ThreadPoolExecutor", "callers with a turn", "turns"),
    Pool("recognition/workers/pool.py", "Queue", "images whose turn it is", "turns before it"),
    Pool("recognition/workers/worker.py", "Queue", "images of its process", "turns before it"),
    # Webhooks stage: attempts take turns, and each other pool has capacity for all attempts.
    Pool("streams/webhooks/delivery/dispatcher.py", "EndpointQueues", "deliveries", "owner"),
    Pool("common/urls/resolver.py", "ThreadPoolExecutor", "attempts", "turns before it"),
    Pool("streams/webhooks/apprise/sender.py", "ThreadPoolExecutor", "attempts", "turns before it"),
    Pool("streams/webhooks/delivery/crops.py", "ThreadPoolExecutor", "attempts", "turns before it"),
    # Stages: frames of cameras. Each account has a share (streams/recognition/reading).
    Pool("streams/recognition/reading/ordered_worker.py", "Semaphore", "frames", "owner's share"),
    Pool("streams/recognition/app.py", "OrderedTaskPool", "frames", "owner's share"),
    Pool("streams/recognition/tracking/images.py", "ThreadPoolExecutor", "passes", "owner's share"),
    # Pools without a caller: the server administrator's broker and commands.
    Pool("streams/mqtt/broker.py", "Semaphore", "the broker", "one installation"),
    Pool("streams/mqtt/broker.py", "Semaphore", "the broker, after it reconnects", "likewise"),
    # Threads of the event loop, which have no turns because no caller of the API can fill them.
    Pool("api/alerts/insight.py", "to_thread", "the end of the process", "no others"),
    Pool("api/imports/routes.py", "to_thread", "the end of the process", "no others"),
    Pool("api/pictures/service.py", "to_thread", "the end of the process", "no others"),
    Pool("api/sessions/service.py", "to_thread", "the end of the process", "no others"),
    Pool("api/health/service.py", "to_thread", "a timer", "one at a time"),
    Pool("api/health/service.py", "to_thread", "probes", "all probes of a moment share one"),
    *(Pool("api/health/stack_check.py", "to_thread", "a command", "one operator"),) * 3,
    Pool("recognition/workers/process.py", "to_thread", "ends of processes", "one for each"),
    Pool("streams/alerts/state.py", "to_thread", "a timer", "one for each partition"),
    Pool("streams/mqtt/broker.py", "to_thread", "the start", "no others"),
    Pool("streams/mqtt/broker.py", "to_thread", "the end of the process", "no others"),
    Pool("streams/recognition/frame_store.py", "to_thread", "frames", "owner's share"),
    Pool("streams/recognition/frame_store.py", "to_thread", "the end", "no others"),
    Pool("streams/recognition/tracking/pending_images.py", "to_thread", "passes", "owner's share"),
    Pool("streams/runtime/app.py", "to_thread", "the start", "no others"),
    # Calls in the executors listed above.
    Pool("common/urls/resolver.py", "run_in_executor", "attempts", "turns before it"),
    *(Pool("streams/recognition/tracking/images.py", "run_in_executor", "passes", "owner's share"),)
    * 2,
    Pool("streams/webhooks/apprise/sender.py", "run_in_executor", "attempts", "turns before it"),
    Pool("streams/webhooks/delivery/crops.py", "run_in_executor", "attempts", "turns before it"),
)


def _created() -> Iterator[tuple[str, str]]:
    for room in SERVING:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and (name := _name(node.func)) in KINDS:
                    yield path.relative_to(ROOT).as_posix(), name


def _name(called: ast.expr) -> str:
    # FairQueue[UUID](...) creates a FairQueue.
    called = called.value if isinstance(called, ast.Subscript) else called
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def test_every_pool_is_listed_with_who_can_fill_it() -> None:
    assert Counter((pool.module, pool.kind) for pool in POOLS) == Counter(_created())


class Work:
    """Work that begins when it gets a turn, and ends when the test allows it."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._ends: dict[str, threading.Event] = {}

    def add(self, name: str) -> None:
        self._ends[name] = threading.Event()

    def do(self, name: str) -> None:
        """Begin work in a thread, and wait until the work may end."""
        self.begun.append(name)
        self._ends[name].wait(20)

    async def wait(self, name: str) -> None:
        """Begin work on the event loop, and wait until the work may end."""
        self.begun.append(name)
        await asyncio.to_thread(self._ends[name].wait, 20)

    def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()


Call = Callable[[str], Awaitable[Any]]
"""Performs the work with this name in a pool, for the caller of the current context."""


def _database(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr(api_database, "in_transaction", lambda _, transaction: transaction(None))
    settings = DatabaseSettings.model_validate({"database_url": "postgresql://a:b@127.0.0.1:1/c"})
    database = Database(settings, pool_size=2)
    return lambda name: database.run(lambda _: work.do(name))


def _s3(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr(S3Bucket, "has", lambda _, key: work.do(key))
    given = {"s3_endpoint": "http://127.0.0.1:1", "s3_secret_key": "secret"}
    return ImageStore(S3Settings.model_validate(given)).has


def _thumbnails(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    def shrunk(data: bytes, width_px: int) -> bytes:
        work.do(data.decode())
        return b""

    monkeypatch.setattr(pictures, "shrunk", shrunk)
    made = Thumbnails()
    return lambda name: made.make(name, name.encode(), 16)


def _resolver(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    def look_up(host: str, port: int) -> list[object]:
        work.do(host)
        return []

    monkeypatch.setattr(outbound, "look_up", look_up)
    resolver = outbound.HostResolver()
    return lambda name: resolver.addresses(name, 80)


def _services(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    def first_request_url(text: str) -> str:
        work.do(text)
        raise InvalidInputError("is not complete")

    monkeypatch.setattr(outbound, "_first_address", first_request_url)
    gate = outbound.OutboundUrlChecker(cast(Any, None), cast(Any, None))
    return lambda name: gate.check((), [("path", name)])


def _imports(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    made = TableImports()
    return lambda name: made.read(named_id(name[0]), b"AB12\n", None, lambda table: work.do(name))


class _NoRows:
    async def run(self, work: Callable[[Any], Any]) -> Any:
        return work(SimpleNamespace(scalar=lambda _: None))


def _sessions(work: Work, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    def matching(password: str, hashes: Sequence[str]) -> frozenset[str]:
        work.do(password)
        return frozenset()

    monkeypatch.setattr(sessions, "matching_hashes", matching)
    monkeypatch.setattr(sessions, "get_log_in", lambda session, person_id: None)
    return Sessions(
        cast(Database, _NoRows()),
        cast(Any, None),
        LoginAttempts(AttemptRules(0, 0, 0)),
        cast(Any, None),
        endless_limits(),
        cast(Any, None),
        LogInMethods(),
        lifetime=cast(Any, None),
    )


def _log_in(made: Sessions, device: str | None) -> Call:
    return lambda name: made.check_password(
        uuid4(), f"{name[0]}@example.com", name, Origin("192.0.2.1", device)
    )


def _strangers_passwords(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    return _log_in(_sessions(work, monkeypatch), None)


def _known_passwords(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    return _log_in(_sessions(work, monkeypatch), "device")


def _explanations(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a call that does its work while it builds an alert's rule for the caller."""

    def rule_of(name: str) -> object:
        work.do(name)
        return SimpleNamespace(failures=lambda plate: ("condition",))

    class Rows:
        def list_alerts(self, session: object, owner_id: UUID) -> AlertListing:
            config = asked.popleft()
            return AlertListing(cast(Any, (SimpleNamespace(id=OWNER, config=config),)), None)

    class Store:
        async def triggers_for(self, *_: object) -> tuple[()]:
            return ()

    asked: deque[str] = deque()
    monkeypatch.setattr(insight, "rule_of", rule_of)
    made = AlertInsight(
        cast(Any, _NoRows()), cast(Any, Rows()), cast(Any, Store()), endless_limits()
    )

    async def explain(name: str) -> object:
        asked.append(name)
        seen = replace(recognition_row(recognition(1)), user_id=named_id(name[0]))
        return await made.explain(seen)

    return explain


def _searches(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    given = {"clickhouse_password": "never used"}
    store = ClickHouseStore(ClickHouseSettings.model_validate(given), searches_at_once=2)

    async def search(name: str) -> None:
        async with store.slot(named_id(name[0])):
            await work.wait(name)

    return search


def _reader(work: Work) -> FairReader:
    class Processes:
        async def read_image(self, data: bytes, *, wait_seconds: float) -> Any:
            await work.wait(data.decode())

    return FairReader(Processes(), at_once=4, waiting=20, wait_seconds=60)


def _images(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    reader = _reader(work)
    return lambda name: reader.read_image(name.encode(), named_id(name[0]))


def _demo(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    reader = _reader(work)
    return lambda name: reader.read_image(name.encode(), DEMO)


def _unknown_credentials(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    queue = UnknownCredentialQueue(2)
    return lambda name: queue.run(lambda: work.wait(name))


def _provider_calls(work: Work, monkeypatch: pytest.MonkeyPatch) -> Call:
    class Provider:
        async def authorization_url(self, flow: Flow) -> str:
            return flow.state

        async def identity(self, flow: Flow, code: str) -> Any:
            await work.wait(code)
            raise PlatestreamError("nobody")

    class NoFailures:
        async def check(self, address: str) -> None: ...

    monkeypatch.setattr(oidc, "IdentityProvider", lambda settings, redirect_url: Provider())
    settings = cast(
        Any, SimpleNamespace(oidc_issuer="https://provider.example", public_url="http://localhost")
    )
    box, failures = SecretBox(Fernet.generate_key().decode()), cast(Any, NoFailures())
    made = OidcLogIn(settings, cast(Any, None), box, failures, endless_limits(), cast(Any, None))

    async def log_in(name: str) -> None:
        url, cookie = await made.begin(None, "192.0.2.1")
        await made.finish(ProviderAnswer(name, url, None), cookie, "192.0.2.1", None)

    return log_in


FAIR_POOLS: Sequence[Callable[[Work, pytest.MonkeyPatch], Call]] = (
    _database,
    _s3,
    _thumbnails,
    _resolver,
    _services,
    _imports,
    _strangers_passwords,
    _known_passwords,
    _explanations,
    _searches,
    _images,
    _demo,
    _unknown_credentials,
    _provider_calls,
)


def test_every_pool_of_the_api_that_is_shared_in_turns_is_tried() -> None:
    in_turns = [
        pool
        for pool in POOLS
        if pool.kind in ("FairQueue", "FairThreads") and pool.module != "api/limits/fair_threads.py"
    ]
    # The login module creates a pool for unknown devices and a pool for known devices.
    assert len(FAIR_POOLS) == len(in_turns) + 1


@pytest.mark.parametrize("pool", FAIR_POOLS, ids=lambda pool: pool.__name__.strip("_"))
async def test_a_greedy_caller_keeps_no_other_waiting(
    pool: Callable[[Work, pytest.MonkeyPatch], Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    call = pool(work, monkeypatch)
    greedy = [f"g{number}" for number in range(60)]
    for name in (*greedy, "other"):
        work.add(name)
    queue_as("greedy")
    calls = [asyncio.create_task(_done(call, name)) for name in greedy]
    await _settled(work)
    full = len(work.begun)
    assert 0 < full < len(greedy)

    queue_as("other")
    calls.append(asyncio.create_task(_done(call, "other")))
    await _settled(work)
    for ended in range(len(greedy)):
        if "other" in work.begun:
            break
        count = len(work.begun)
        work.end(work.begun[ended])
        await _begun_more_than(work, count)
    # At most one more turn of the greedy caller, which waited first, precedes the other's.
    assert work.begun.index("other") <= full + 1
    work.end(*greedy, "other")
    await asyncio.gather(*calls)


async def test_known_devices_wait_for_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work()
    made = _sessions(work, monkeypatch)
    names = [f"s{number}" for number in range(60)]
    for name in (*names, "known"):
        work.add(name)
    calls = []
    for number, name in enumerate(names):
        # There are as many networks as calls, so no network can be evicted for another.
        queue_as(f"network {number}")
        calls.append(asyncio.create_task(_done(_log_in(made, None), name)))
    await _settled(work)
    assert len(work.begun) == 1
    calls.append(asyncio.create_task(_done(_log_in(made, "device"), "known")))
    await _begun_more_than(work, 1)
    assert work.begun[1] == "known"
    work.end(*names, "known")
    await asyncio.gather(*calls)


async def _done(call: Call, name: str) -> None:
    # Calls are rejected if there is no capacity, and fail because no resources exist.
    with suppress(ApiError, PlatestreamError):
        await call(name)


async def _begun_more_than(work: Work, count: int) -> None:
    async def more() -> bool:
        return len(work.begun) > count

    await until(more, seconds=20)


async def _settled(work: Work) -> None:
    """Wait until no work has begun for about a fifth of a second."""
    quiet = 0
    while quiet < 10:
        before = len(work.begun)
        await asyncio.sleep(0.02)
        quiet = quiet + 1 if len(work.begun) == before else 0
