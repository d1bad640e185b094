"""The page with the API description: Swagger UI, from the published files."""

import hashlib
import re
from importlib.resources import files
from typing import Final

from starlette.requests import Request

from api.docs import routes

VENDOR_SHA256: Final = {
    # swagger-ui-dist 5.35.0
    "swagger-ui-bundle.js": "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
    "swagger-ui.css": "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d",
}
STATIC = files("api.docs").joinpath("static")


def _request(path: str) -> Request:
    return Request({"type": "http", "method": "GET", "path": path, "headers": []})


def test_libraries_are_the_published_files() -> None:
    found = {
        name: hashlib.sha256(STATIC.joinpath(name).read_bytes()).hexdigest()
        for name in VENDOR_SHA256
    }

    assert found == VENDOR_SHA256


async def test_the_page_runs_its_own_files_alone() -> None:
    answer = await routes.docs(_request("/api/docs"))
    page = bytes(answer.body).decode()
    policy = answer.headers["content-security-policy"]

    assert "default-src 'none'" in policy and "script-src 'self';" in policy
    assert not re.search(r"https?:", page + STATIC.joinpath("start.js").read_text("utf-8"))
    assert not re.search(r"<script>|<style|\son\w+=", page)
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(named) == 3
    for path in named:
        assert (await routes.docs_file(_request(path))).status_code == 200
