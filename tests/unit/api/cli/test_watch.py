"""What ``platestream watch`` makes of the stream, and of its breaking off."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3
from typer.testing import CliRunner

from api.cli.app import app
from api.cli.remote import recognitions
from api.cli.remote.connection import RemoteApi

PASS = {"id": "1", "timestamp": "2026-11-21T16:32:52.301Z", "plate": "AB12CDE", "confidence": 0.97}
FIRST = f"id: a\n: open\n\nid: b\ndata: {json.dumps(PASS | {'cameraName': 'Gate'})}\n\n"
REST = 'event: reset\ndata: {"reason": "gap"}\n\nid: c\n: beat\n\n'


def test_a_line_for_each_pass_and_the_stream_is_taken_up_where_it_broke_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str | None] = []

    def stream(_: RemoteApi, path: str, last_event_id: str | None, **query: Any) -> Iterator[bytes]:
        asked.append(last_event_id)
        if len(asked) == 3:
            raise KeyboardInterrupt
        text = FIRST if len(asked) == 1 else REST
        # Parts end anywhere.
        yield from (text[start : start + 7].encode() for start in range(0, len(text), 7))
        if len(asked) == 1:
            raise urllib3.exceptions.ProtocolError("gone")

    monkeypatch.setattr(RemoteApi, "stream", stream)
    monkeypatch.setattr(recognitions, "_PAUSE_S", 0.0)
    environment = {"PLATESTREAM_URL": "http://127.0.0.1:1", "PLATESTREAM_KEY": "pk_x"}
    done = CliRunner().invoke(app, ["watch"], env=environment)

    assert asked == [None, "b", "c"]
    assert [line.split()[2:4] for line in done.stdout.splitlines()] == [["AB12CDE", "97%"]]
    assert "the line broke" in done.stderr
    assert "some recognitions" in done.stderr
    assert done.exit_code == 0
