"""Every error has the same format."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from api.errors import ApiError, BodyRefusedError, ErrorCode, FieldFault
from api.middleware.error_handlers import install_error_handlers
from api.middleware.request_context import ApiMetrics, RequestContext
from api.security.permissions import PermissionTable
from common.errors import InvalidInputError, MisconfiguredError, TransientError


class _Body(BaseModel):
    limit: int
    name: str


def _app(error: Exception | None = None) -> FastAPI:
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    app.state.permissions = PermissionTable({})
    install_error_handlers(app)
    app.add_middleware(RequestContext, metrics=ApiMetrics())

    @app.get("/fails")
    async def fails(request: Request) -> None:
        assert error is not None
        raise error

    @app.post("/takes")
    async def takes(body: _Body) -> None:
        return None

    return app


@asynccontextmanager
async def _client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as client:
        yield client


async def _fail(error: Exception) -> httpx.Response:
    async with _client(_app(error)) as client:
        return await client.get("/fails", headers={"X-Request-Id": "mine-1"})


@pytest.mark.parametrize("code", ErrorCode)
async def test_each_code_in_the_one_shape(code: ErrorCode) -> None:
    answer = await _fail(ApiError(code))

    assert answer.status_code == code.status
    assert answer.json() == {
        "error": code.sentence,
        "code": code,
        "requestId": "mine-1",
    }
    assert answer.headers["x-request-id"] == "mine-1"
    assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)


async def test_fields_and_waiting_time_are_shown() -> None:
    error = ApiError(
        ErrorCode.RATE_LIMITED,
        fields=[FieldFault("a.0.b", "is bad")],
        retry_after_seconds=7,
        headers={"RateLimit-Limit": "100"},
    )
    answer = await _fail(error)

    assert answer.json()["fields"] == [{"path": "a.0.b", "message": "is bad"}]
    assert answer.json()["retryAfter"] == 7
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["ratelimit-limit"] == "100"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidInputError("bad", code="truncated_image"), 400, "truncated_image"),
        (InvalidInputError("bad", code="not ours"), 400, "invalid_request"),
        (TransientError("unavailable"), 500, "dependency_unavailable"),
        (MisconfiguredError("secret place"), 500, "internal_error"),
        (RuntimeError("secret place"), 500, "internal_error"),
        (HTTPException(415), 415, "unsupported_media_type"),
        (BodyRefusedError(ApiError(ErrorCode.BODY_TOO_LARGE)), 413, "body_too_large"),
    ],
    ids=repr,
)
async def test_other_faults_have_their_code(error: Exception, status: int, code: str) -> None:
    answer = await _fail(error)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.json()["requestId"] == "mine-1"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/nothing", None, 404, "not_found"),
        ("GET", "/fails/", None, 404, "not_found"),
        ("DELETE", "/fails", None, 405, "method_not_allowed"),
        ("POST", "/takes", "{", 400, "invalid_json"),
        ("POST", "/takes", '{"limit": "x"}', 400, "invalid_request"),
        ("POST", "/takes", "[]", 400, "invalid_request"),
        ("POST", "/takes", "", 400, "invalid_request"),
        ("POST", "/takes", b"\xff\xfe", 400, "invalid_json"),
    ],
)
async def test_what_the_framework_refuses_has_the_one_shape(
    method: str, path: str, body: Any, status: int, code: str
) -> None:
    async with _client(_app()) as client:
        answer = await client.request(
            method, path, content=body, headers={"Content-Type": "application/json"}
        )

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["requestId"] == answer.headers["x-request-id"]


async def test_all_faults_are_reported_at_once() -> None:
    async with _client(_app()) as client:
        answer = await client.post("/takes", json={"limit": "x"})

    assert [fault["path"] for fault in answer.json()["fields"]] == ["limit", "name"]


@pytest.mark.parametrize("given", ["a b", "x" * 129, "ü", "a\tb", ""])
async def test_a_request_id_that_is_not_sane_is_replaced(given: str) -> None:
    async with _client(_app()) as client:
        answer = await client.get("/nothing", headers={b"X-Request-Id": given.encode()})

    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 32
