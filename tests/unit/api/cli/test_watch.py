"""Output of ``platestream watch`` for recognitions, and for a gap in the event stream."""

import json
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from api.cli.app import app

PASS = {"id": "1", "timestamp": "2026-11-21T16:32:52.301Z", "plate": "AB12CDE", "confidence": 0.97}
FIRST = f"retry: 0\nid: b\ndata: {json.dumps(PASS | {'cameraName': 'Gate'})}\n\n"
REST = 'event: reset\ndata: {"reason": "gap", "since": "2026-11-21T16:00:00Z"}\n\n'


def test_a_line_for_each_pass_and_the_stream_is_taken_up_where_it_broke_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str | None] = []

    def handle(_: Any, request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Last-Event-ID"))
        if len(asked) == 2:
            raise httpx.ConnectError("gone")
        if len(asked) == 4:
            raise KeyboardInterrupt
        return httpx.Response(200, text=FIRST if len(asked) == 1 else REST)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    environment = {"PLATESTREAM_URL": "http://127.0.0.1:1", "PLATESTREAM_KEY": "pk_x"}
    done = CliRunner().invoke(app, ["watch"], env=environment)

    assert asked == [None, "b", "b", "b"]
    assert [line.split()[2:4] for line in done.stdout.splitlines()] == [["AB12CDE", "97%"]]
    assert "some recognitions" in done.stderr
    assert done.exit_code == 0


def test_an_address_that_does_not_answer_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(*_: object) -> httpx.Response:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    environment = {"PLATESTREAM_URL": "http://127.0.0.1:1", "PLATESTREAM_KEY": "pk_x"}
    done = CliRunner().invoke(app, ["watch"], env=environment)

    assert done.exit_code == 1
    assert "is not responding" in done.stderr
