"""Retries, pages, streams and errors of the Python client, with and without ``await``."""

import asyncio
import inspect
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import islice
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from platestream_client import (
    ApiError,
    AsyncClient,
    Client,
    RetryPolicy,
    StreamGapError,
    UnreachableError,
)

_ADDRESS = "http://api.example"


class Service:
    """Records requests, and returns responses in order. Raises a response that is an exception."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


Act = Callable[[Any], Any]
Ask = Callable[..., Any]


def _blocking(service: Service, act: Act, items: int) -> Any:
    with Client(_ADDRESS, "pk_x", transport=httpx.MockTransport(service)) as client:
        found = act(client)
        return list(islice(found, items)) if inspect.isgenerator(found) else found


def _awaited(service: Service, act: Act, items: int) -> Any:
    async def run() -> Any:
        transport = httpx.MockTransport(service)
        async with AsyncClient(_ADDRESS, "pk_x", transport=transport) as client:
            found = act(client)
            if inspect.iscoroutine(found):
                return await found
            got = []
            async for one in found:
                got.append(one)
                if len(got) == items:
                    break
            await found.aclose()
            return got

    return asyncio.run(run())


@pytest.fixture(params=[_blocking, _awaited], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Calls a service with one of the clients. Returns the first ``items`` of an iterator."""

    def asked(service: Service, act: Act, items: int = 99) -> Any:
        return request.param(service, act, items)

    return asked


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The duration of each pause of the clients, in seconds."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("platestream_client.client.time", SimpleNamespace(sleep=waited.append))
    monkeypatch.setattr("platestream_client.client.asyncio", SimpleNamespace(sleep=sleep))
    return waited


def _refusal(seconds: int) -> httpx.Response:
    headers = {"Retry-After": str(seconds)}
    return httpx.Response(429, headers=headers, json={"error": "Wait.", "code": "rate_limited"})


def _answer(**body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)


def _failure(status: int, code: str) -> httpx.Response:
    return httpx.Response(status, json={"error": "A sentence.", "code": code, "requestId": "r1"})


def test_a_refusal_is_waited_for_as_long_as_it_asks(ask: Ask, pauses: list[float]) -> None:
    service = Service(_refusal(7), _refusal(7), _answer(alert={"id": "1"}))

    assert ask(service, lambda client: client.alerts.create({"name": "x"})) == {"id": "1"}
    assert pauses == [7, 7]
    assert service.requests[0].headers["Authorization"] == "Bearer pk_x"


def test_a_refusal_for_too_long_is_raised(ask: Ask, pauses: list[float]) -> None:
    with pytest.raises(ApiError) as refused:
        ask(Service(_refusal(300)), lambda client: client.account.credits())

    assert (refused.value.retry_after, refused.value.code) == (300, "rate_limited")
    assert pauses == []


@pytest.mark.parametrize("status", [None, 500, 502])
def test_what_may_have_been_done_is_repeated_only_if_it_is_a_read(
    ask: Ask, status: int | None, pauses: list[float]
) -> None:
    def fault() -> httpx.Response | Exception:
        return httpx.ReadTimeout("slow") if status is None else _failure(status, "x")

    reading, writing = Service(fault(), _answer(camera={})), Service(fault())
    ask(reading, lambda client: client.cameras.get("1"))
    with pytest.raises((ApiError, UnreachableError)):
        ask(writing, lambda client: client.cameras.create({"name": "x", "rtspUrl": "y"}))

    assert (len(reading.requests), len(writing.requests)) == (2, 1)
    assert 0.5 <= pauses[0] <= 1


def test_what_was_never_sent_is_sent_again(ask: Ask) -> None:
    service = Service(httpx.ConnectError("refused"), httpx.Response(204))

    assert ask(service, lambda client: client.webhooks.delete("1")) is None
    assert len(service.requests) == 2


def test_attempts_come_to_an_end(ask: Ask) -> None:
    service = Service(*[httpx.ConnectError("refused")] * 4)
    with pytest.raises(UnreachableError, match="refused"):
        ask(service, lambda client: client.account.credits())

    assert len(service.requests) == 4


def test_an_image_keeps_its_key_until_it_is_read(ask: Ask) -> None:
    running = _failure(409, "idempotency_key_in_use")
    service = Service(httpx.ReadTimeout("slow"), running, _answer(plates=[]))
    ask(service, lambda client: client.recognitions.recognize(b"image", store=True))
    keys = {request.headers["Idempotency-Key"] for request in service.requests}

    assert len(service.requests) == 3
    assert len(keys) == 1
    assert service.requests[2].content == b"image"
    assert service.requests[2].url.query == b"store=true"
    assert service.requests[2].headers["Content-Type"] == "application/octet-stream"


def test_a_csv_file_is_sent_as_it_is(ask: Ask) -> None:
    service = Service(_answer(plates=["AB12"]), _answer(cameras=[]))
    found = ask(service, lambda client: client.alerts.read_csv(b"\xc4;1"))
    ask(service, lambda client: client.cameras.read_csv(b"x", encoding="windows-1251"))

    assert found == {"plates": ["AB12"]}
    assert [request.headers["Content-Type"] for request in service.requests] == ["text/csv"] * 2
    assert service.requests[0].content == b"\xc4;1"
    assert service.requests[1].url.query == b"encoding=windows-1251"


def test_a_key_of_another_account_is_an_error(ask: Ask) -> None:
    service = Service(_failure(409, "idempotency_key_in_use"))
    with pytest.raises(ApiError, match="409"):
        ask(service, lambda client: client.recognitions.recognize(b"", idempotency_key="mine"))


def test_an_error_says_all_that_the_api_says(ask: Ask) -> None:
    fault = {"path": "limit", "message": "must be at most 200"}
    body = {"error": "No.", "code": "invalid_request", "requestId": "r1", "fields": [fault]}
    with pytest.raises(ApiError) as refused:
        ask(Service(httpx.Response(400, json=body)), lambda client: client.account.credits())

    error = refused.value
    assert (error.status, error.code, error.request_id) == (400, "invalid_request", "r1")
    assert error.fields == [fault]
    assert str(error) == "400 invalid_request: No. limit: must be at most 200."


@pytest.mark.parametrize("body", [b"<html>", b"[]"])
def test_an_answer_of_another_server_is_reported_as_such(ask: Ask, body: bytes) -> None:
    elsewhere = httpx.Response(302, headers={"Location": "http://evil.example"}, content=body)
    service = Service(elsewhere)
    with pytest.raises(ApiError, match="302 unknown"):
        ask(service, lambda client: client.account.credits())

    assert len(service.requests) == 1


def test_pages_follow_each_other(ask: Ask) -> None:
    service = Service(
        _answer(recognitions=[{"id": "1"}, {"id": "2"}], nextKey="k"),
        _answer(recognitions=[{"id": "3"}], nextKey=None),
    )
    found = ask(service, lambda client: client.recognitions.search(plate="ä b", min_confidence=0.5))
    first, second = (dict(request.url.params) for request in service.requests)

    assert [one["id"] for one in found] == ["1", "2", "3"]
    assert first == {"plate": "ä b", "minConfidence": "0.5", "limit": "200"}
    assert second == {**first, "lastKey": "k"}


def test_a_page_is_asked_for_when_it_is_needed(ask: Ask) -> None:
    service = Service(_answer(cameras=[{"id": "1"}], nextKey="k"))

    assert ask(service, lambda client: client.cameras.all(), 1) == [{"id": "1"}]


def test_an_export_is_a_row_of_files(ask: Ask) -> None:
    service = Service(
        httpx.Response(200, content=b"a", headers={"X-Next-Key": "k"}),
        httpx.Response(200, content=b"b"),
    )
    parts = ask(service, lambda client: client.recognitions.export(format="parquet"))

    assert [(part.content, part.next_key) for part in parts] == [(b"a", "k"), (b"b", None)]
    assert service.requests[1].url.params["lastKey"] == "k"


def test_an_id_cannot_lead_elsewhere(ask: Ask) -> None:
    service = Service(_failure(404, "not_found"))
    with pytest.raises(ApiError):
        ask(service, lambda client: client.cameras.get("../credits?x=/"))

    assert service.requests[0].url.raw_path == b"/api/cameras/..%2Fcredits%3Fx%3D%2F"


def test_a_time_needs_its_zone() -> None:
    naive = datetime(2026, 11, 1)  # noqa: DTZ001
    with Client(_ADDRESS, "pk_x") as client, pytest.raises(ValueError, match="time zone"):
        list(client.recognitions.search(from_=naive))


def test_a_client_needs_an_address_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLATESTREAM_URL", raising=False)
    monkeypatch.setenv("PLATESTREAM_KEY", "pk_x")
    with pytest.raises(ValueError, match="PLATESTREAM_URL"):
        Client()


def _stream(*chunks: bytes, fault: Exception | None = None) -> httpx.Response:
    return httpx.Response(200, stream=_Chunks(chunks, fault))


class _Chunks(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, chunks: Sequence[bytes], fault: Exception | None) -> None:
        self._chunks, self._fault = chunks, fault

    def __iter__(self) -> Any:
        yield from self._chunks
        if self._fault is not None:
            raise self._fault

    async def __aiter__(self) -> Any:
        for chunk in self:
            yield chunk


def _event(id: str, plate: str) -> bytes:
    return f"id: {id}\ndata: {json.dumps({'plate': plate}, ensure_ascii=False)}\n\n".encode()


def test_a_stream_goes_on_where_it_was_cut(ask: Ask, pauses: list[float]) -> None:
    """The cut is in the middle of a character, and of an event whose ID has arrived."""
    first, second, third = _event("1", "Tür\u2028"), _event("2", "B"), _event("3", "C")
    service = Service(
        _stream(b"retry: 2000\nid: 0\n: open\n\n" + first[:20], first[20:], second[:-3]),
        _stream(fault=httpx.ReadError("cut")),
        httpx.ConnectError("away"),
        _failure(503, "service_busy"),
        _stream(second + third),
    )
    found = ask(service, lambda client: client.recognitions.stream(plate="x"), 3)
    lasts = [request.headers.get("Last-Event-ID") for request in service.requests]

    assert [one["plate"] for one in found] == ["Tür\u2028", "B", "C"]
    assert lasts == [None, "1", "1", "1", "1"]
    assert pauses == [2, 4, 8, 16]
    assert service.requests[0].url.query == b"plate=x"


def test_a_gap_in_a_stream_is_an_error_unless_it_is_asked_for(ask: Ask) -> None:
    gap = b'event: reset\ndata: {"since": "2026-11-25T10:00:00Z"}\n\n' + _event("2", "B")
    with pytest.raises(StreamGapError, match="10:00"):
        ask(Service(_stream(gap)), lambda client: client.recognitions.stream())
    told: list[str] = []
    found = ask(
        Service(_stream(gap)), lambda client: client.recognitions.stream(on_gap=told.append), 1
    )

    assert (found[0]["plate"], told) == ("B", ["2026-11-25T10:00:00Z"])


def test_a_stream_ends_when_it_may_not_be_read_any_more(ask: Ask) -> None:
    end = b'event: end\ndata: {"error": "Revoked.", "code": "invalid_credentials"}\n\n'
    for answer in (_stream(end), _failure(401, "invalid_credentials")):
        with pytest.raises(ApiError) as ended:
            ask(Service(answer), lambda client: client.recognitions.stream())
        assert ended.value.code == "invalid_credentials"


def test_a_stream_that_never_started_fails(ask: Ask) -> None:
    service = Service(*[httpx.ConnectError("away")] * 4)
    with pytest.raises(UnreachableError):
        ask(service, lambda client: client.recognitions.stream())


def test_a_policy_bounds_the_pauses() -> None:
    policy = RetryPolicy(attempts=9, longest_wait=1.5)
    fault = UnreachableError("x")

    assert (policy.pause(fault, 8, may_be_repeated=True) or 0) <= 1.5
    assert policy.pause(fault, 9, may_be_repeated=True) is None
