"""The sender's handling of host names, without a network."""

import asyncio
import threading
from typing import Any

import pytest

from common.urls import resolver as resolver_module
from streams.webhooks.app import CONCURRENT_ATTEMPTS
from streams.webhooks.delivery.http_sender import ThreadResolver, retry_after_seconds


async def test_names_without_a_dns_answer_delay_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    may_answer = threading.Event()

    def look_up(host: str, *more: object) -> list[Any]:
        if host == "dead.example.com":
            may_answer.wait(10)
        return []

    monkeypatch.setattr(resolver_module, "look_up", look_up)
    failing = CONCURRENT_ATTEMPTS // 2
    resolver = ThreadResolver()
    dead = [asyncio.create_task(resolver.resolve("dead.example.com")) for _ in range(failing)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            assert await resolver.resolve("receiver.example.com") == []
        assert not any(task.done() for task in dead)
    finally:
        may_answer.set()
        await asyncio.gather(*dead)
        await resolver.close()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("120", 120),
        (" 0 ", 0),
        ("-1", None),
        ("soon", None),
        ("1.5", None),
        ("9" * 400, 999_999_999),
        ("Sat, 21 Nov 2026 10:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0),
        ("²", None),
        ("Wed, 21 Oct 99999999999 07:28:00 GMT", None),
    ],
)
def test_retry_after_as_receivers_write_it(text: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(text, 1_795_255_200) == seconds
