"""The event stream of new recognitions, over real connections."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import httpx
import pytest
from kafka import KafkaProducer
from msgspec.structs import replace
from sqlalchemy import text

from analytics_sql.erasure import Erasure, Erasures
from analytics_sql.recognitions import recognition_row
from api.db.database import Database
from api.errors import Dependency, DependencyUnavailableError
from api.live.feed import RecognitionFeed
from api.live.recent import (
    LiveRecord,
    RecentRecognitions,
    ResumeTokens,
    StreamCursor,
    StreamPosition,
)
from api.live.stream import CHECK_SECONDS
from api.security.lookup import CACHE_SECONDS
from api.security.permissions import Scope
from common.errors import MisconfiguredError, TransientError
from common.kafka.clients import producer_options, topic_name
from common.records.codec import encode
from common.records.recognitions import Recognition
from common.records.topics import RECOGNITIONS
from common.settings import KafkaSettings
from tests.integration.api.application import (
    NOW_MS,
    PASSWORD,
    Application,
    Options,
    StandInStore,
    running_application,
)
from tests.integration.api.serving import served
from tests.integration.api.waiting import until
from tests.records import OWNER, recognition

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Event:
    name: str
    id: str
    data: dict[str, object]


class Events:
    """Reads an event stream as the HTML standard defines it."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.aiter_lines()
        self.last_id = ""

    async def next(self) -> Event:
        """Return the next event; comments and IDs without data are not events."""
        name, data = "message", ""
        async with asyncio.timeout(10):
            async for line in self._lines:
                field, _, value = line.partition(": ")
                if field == "id":
                    self.last_id = value
                elif field == "event":
                    name = value
                elif field == "data":
                    data += value
                elif not line and data:
                    return Event(name, self.last_id, json.loads(data))
        raise EOFError


@asynccontextmanager
async def _opened(
    client: httpx.AsyncClient, *, query: dict[str, str] | None = None, last: str | None = None
) -> AsyncIterator[Events]:
    headers = {} if last is None else {"Last-Event-ID": last}
    async with client.stream(
        "GET", "/api/recognitions/stream", params=query, headers=headers
    ) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield Events(answer)


@pytest.fixture
async def streaming(database: Database) -> AsyncIterator[Application]:
    async with running_application(database, Options(feeds_streams=True)) as application:
        application.recent.reset({0: 0})
        yield application


@asynccontextmanager
async def _client(address: str, key: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=10) as client:
        yield client


def _publish(application: Application, owner_id: UUID, numbers: Iterable[int]) -> None:
    application.recent.post(
        LiveRecord(0, number, recognition_row(replace(recognition(number), owner_id=owner_id)))
        for number in numbers
    )


async def test_recognitions_come_as_in_the_list_and_only_ones_own(streaming: Application) -> None:
    caller, other = await streaming.new_owner(), await streaming.new_owner()
    async with (
        served(streaming) as address,
        _client(address, caller.key) as client,
        _opened(client) as events,
        _opened(client, query={"plate": "00004"}) as filtered,
    ):
        _publish(streaming, other.owner_id, [1, 2])
        _publish(streaming, caller.owner_id, [3, 4])
        _publish(streaming, other.owner_id, [5])
        got = [await events.next(), await events.next()]
        only = await filtered.next()

    assert [event.data["plate"] for event in got] == ["AB00003", "AB00004"]
    assert {event.data["userId"] for event in got} == {str(caller.owner_id)}
    assert set(got[0].data) == {
        *("id", "userId", "cameraId", "cameraName", "plate", "confidence", "timestamp"),
        *("photoUrl", "cropUrl", "plateCoordinates", "plateType", "characterConfidences"),
        *("firstSeenAt", "lastSeenAt", "readingsCount", "source"),
    }
    assert got[0].data["photoUrl"] == "recognitions/3/photo.jpg"
    assert (only.name, only.data["plate"]) == ("message", "AB00004")


class _Erased(StandInStore):
    """A list of erasures that can become unavailable."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error
        self.rows: list[tuple[UUID, str, int]] = []

    async def erasures(self) -> Erasures:
        if self.error is not None:
            raise self.error
        return Erasures(self.rows)


@pytest.mark.parametrize(
    "error",
    [DependencyUnavailableError(Dependency.SEARCH), MisconfiguredError("no such table")],
    ids=["unavailable", "none"],
)
async def test_a_new_process_shows_nothing_before_it_knows_what_was_erased(
    database: Database, error: Exception
) -> None:
    noted = _Erased(error)
    options = Options(feeds_streams=True, store=noted)
    async with running_application(database, options) as application:
        application.recent.reset({0: 0})
        caller = await application.new_owner()
        _publish(application, caller.owner_id, [1, 2])
        erasure = Erasure(caller.owner_id, "AB00001")
        noted.rows.append((erasure.user_id, erasure.plate_hash, erasure.before_ms))
        sealer = ResumeTokens(application.box)
        start = sealer.seal(StreamPosition({0: 0}, NOW_MS))
        async with served(application) as address, _client(address, caller.key) as client:
            refused = await client.get("/api/recognitions/stream")
            noted.error = None
            async with _opened(client, last=start) as events:
                noted.error = error
                first = await events.next()
            async with _opened(client, last=start) as events:
                again = await events.next()

    assert (refused.status_code, refused.json()["code"]) == (500, "dependency_unavailable")
    assert "search database" in refused.json()["error"]
    assert [first.data["plate"], again.data["plate"]] == ["AB00002"] * 2


async def test_a_client_that_reconnects_misses_nothing_and_gets_nothing_twice(
    streaming: Application,
) -> None:
    caller = await streaming.new_owner()
    got: list[object] = []
    async with served(streaming) as address, _client(address, caller.key) as client:
        last: str | None = None
        for turn in range(5):
            async with _opened(client, last=last) as events:
                for number in range(4):
                    _publish(streaming, caller.owner_id, [turn * 10 + number])
                    got.append((await events.next()).data["plate"])
                last = events.last_id
            # These recognitions arrive while no client is connected.
            _publish(streaming, caller.owner_id, range(turn * 10 + 4, turn * 10 + 10))
            async with _opened(client, last=last) as events:
                got += [(await events.next()).data["plate"] for _ in range(6)]
                last = events.last_id

    assert got == [f"AB{number:05}" for number in range(50)]


async def test_an_invalid_event_id_is_400(streaming: Application) -> None:
    async with streaming.client(await streaming.new_owner()) as client:
        for last in ("1", str(uuid.uuid4()), "x" * 500):
            answer = await client.get("/api/recognitions/stream", headers={"Last-Event-ID": last})
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")
            assert answer.json()["fields"][0]["path"] == "Last-Event-ID"


async def test_without_the_scope_it_is_403_and_without_kafka_500(database: Database) -> None:
    async with running_application(database) as application:
        other = await application.new_owner(scopes=frozenset({Scope.CAMERAS_READ}))
        async with application.client(other) as client:
            assert (await client.get("/api/recognitions/stream")).status_code == 403
        async with application.client(await application.new_owner()) as client:
            answer = await client.get("/api/recognitions/stream")
            assert (answer.status_code, answer.json()["code"]) == (500, "dependency_unavailable")
            assert answer.json()["error"].startswith("The message broker is not responding")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DELETE FROM api_keys", "invalid_credentials"),
        ("UPDATE api_keys SET enabled = false", "invalid_credentials"),
        ("UPDATE api_keys SET expires_at = now()", "expired_credentials"),
        ("UPDATE api_keys SET scopes = '{cameras:read}'", "missing_scope"),
    ],
    ids=["revoked", "disabled", "expired", "narrowed"],
)
async def test_a_stream_ends_within_a_second_of_its_key(
    streaming: Application, change: str, code: str
) -> None:
    caller = await streaming.new_owner()
    async with (
        served(streaming) as address,
        _client(address, caller.key) as client,
        _opened(client) as events,
    ):
        await streaming.database.run(lambda session: session.execute(text(change)))
        end = await events.next()
        with pytest.raises(EOFError):
            await events.next()

    assert (end.name, end.data["code"]) == ("end", code)
    assert CACHE_SECONDS + CHECK_SECONDS <= 1


async def test_a_session_may_follow_too(streaming: Application) -> None:
    caller = await streaming.new_owner()
    login = {"email": caller.email, "password": PASSWORD}
    async with (
        served(streaming) as address,
        httpx.AsyncClient(base_url=address, timeout=10) as client,
    ):
        assert (await client.post("/api/session", json=login)).status_code == 200
        async with _opened(client) as events:
            _publish(streaming, caller.owner_id, [7])
            assert (await events.next()).data["plate"] == "AB00007"


async def test_an_accounts_streams_are_bounded_over_all_its_keys_and_sessions(
    streaming: Application,
) -> None:
    caller, other = await streaming.new_owner(), await streaming.new_owner()
    login = {"email": caller.email, "password": PASSWORD}
    async with (
        served(streaming) as address,
        _client(address, caller.key) as client,
        _client(address, other.key) as others,
        httpx.AsyncClient(base_url=address, timeout=10) as browser,
    ):
        assert (await browser.post("/api/session", json=login)).status_code == 200
        async with (
            _opened(client),
            _opened(client),
            _opened(client),
            _opened(browser),
            _opened(browser),
            _opened(others),
        ):
            answer = await browser.get("/api/recognitions/stream")
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many_streams")
            assert "account" in answer.json()["error"]


async def test_a_client_that_reads_nothing_delays_no_other_and_is_closed(
    streaming: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.stream._SEND_SECONDS", 0.5)
    caller = await streaming.new_owner()
    async with served(streaming) as address, _client(address, caller.key) as client:
        host, _, port = address.removeprefix("http://").partition(":")
        _, stuck = await asyncio.open_connection(host, int(port), limit=1024)
        stuck.transport.pause_reading()  # type: ignore[attr-defined]
        stuck.write(
            b"GET /api/recognitions/stream HTTP/1.1\r\nHost: a\r\n"
            b"Authorization: Bearer " + caller.key.encode() + b"\r\n\r\n"
        )
        await stuck.drain()
        async with _opened(client) as events:
            longest = 0.0
            # This is far more data than the buffers of both ends hold.
            for number in range(15_000):
                _publish(streaming, caller.owner_id, [number])
                if number % 100 == 99:
                    started = time.monotonic()
                    for _ in range(100):
                        await events.next()
                    longest = max(longest, time.monotonic() - started)
        assert longest < 5

        async def all_left() -> bool:
            return not streaming.services.live.open_streams

        await until(all_left, seconds=10)
        stuck.close()


async def test_a_stop_ends_open_streams(streaming: Application) -> None:
    caller = await streaming.new_owner()
    async with (
        served(streaming) as address,
        _client(address, caller.key) as client,
        _opened(client) as events,
    ):
        streaming.services.live.end_all()
        with pytest.raises(EOFError):
            await events.next()


class _Stage:
    def __init__(self, settings: KafkaSettings) -> None:
        self._topic = topic_name(settings, RECOGNITIONS)
        self._producer = KafkaProducer(**producer_options(settings, "test"))

    def publish(self, *records: Recognition) -> None:
        sent = [
            self._producer.send(self._topic, key=str(one.camera_id).encode(), value=encode(one))
            for one in records
        ]
        for one in sent:
            one.get(timeout=20)

    def babble(self) -> None:
        """Publish a message that cannot be decoded."""
        self._producer.send(self._topic, key=b"1", value=b'{"version": 99}').get(timeout=20)

    def close(self) -> None:
        self._producer.close()


@asynccontextmanager
async def _fed(settings: KafkaSettings) -> AsyncIterator[RecentRecognitions]:
    recent = RecentRecognitions(1000)
    feed = RecognitionFeed(settings, recent)
    feed.start()

    async def well() -> bool:
        try:
            await feed.ping()
        except TransientError:
            return False
        return True

    try:
        await until(well, seconds=30)
        yield recent
    finally:
        feed.stop()


async def test_two_processes_read_the_topic_and_understand_each_others_positions(
    kafka_topics: KafkaSettings,
) -> None:
    stage = _Stage(kafka_topics)
    # Published before any process runs, because consumption starts some minutes in the past.
    await asyncio.to_thread(stage.publish, *(recognition(number) for number in range(20)))
    async with _fed(kafka_topics) as here, _fed(kafka_topics) as there:
        cursor = StreamCursor(here, OWNER)
        await asyncio.to_thread(stage.babble)
        await asyncio.to_thread(stage.publish, *(recognition(number) for number in range(20, 60)))

        async def arrived() -> bool:
            return all(len(kept.since(OWNER, 0)) == 60 for kept in (here, there))

        await until(arrived, seconds=30)
        first = cursor.next_batch(17)
        other = StreamCursor(there, OWNER)
        other.resume_from(StreamPosition(first[-1].offsets, 0), 0)
        rest = other.next_batch(1000)
    stage.close()

    plates = [passed.recognition.plate for passed in (*first, *rest)]
    assert sorted(plates) == [f"AB{number:05}" for number in range(20, 60)]
