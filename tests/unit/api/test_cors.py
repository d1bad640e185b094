"""Pages of other origins can call the API only if configured, and never with a session."""

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

from api.app import create_app
from api.settings import ApiSettings

APP = "https://app.example.com"


def _preflight(app: FastAPI, origin: str) -> httpx.Request:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    return httpx.Request("OPTIONS", "http://api.test/api/recognitions", headers=headers)


async def _asked(app: FastAPI, origin: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        return await client.send(_preflight(app, origin))


async def test_a_page_of_a_named_origin_may_call_with_a_key() -> None:
    answer = await _asked(create_app(cors_origins=(APP,)), APP)

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == APP
    assert "authorization" in answer.headers["access-control-allow-headers"].lower()
    # Without this header, browsers send no cookie.
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origins", [(), (APP,)])
async def test_any_other_page_may_not(origins: tuple[str, ...]) -> None:
    answer = await _asked(create_app(cors_origins=origins), "https://evil.example")

    assert answer.status_code in (400, 405)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("text", ["app.example.com", "https://app.example.com/", "file://x"])
def test_what_is_no_origin_is_refused_at_start(text: str) -> None:
    with pytest.raises(ValidationError, match="must be origins"):
        ApiSettings.model_validate({"api_cors_origins": text})
