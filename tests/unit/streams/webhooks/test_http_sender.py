"""What the sender does with names, without a network."""

import asyncio
import threading
from typing import Any

import pytest

from streams.webhooks import http_sender
from streams.webhooks.http_sender import ThreadResolver
from streams.webhooks.settings import WebhooksSettings


async def test_names_that_nobody_answers_for_delay_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_answer = threading.Event()

    def look_up(host: str, *more: object) -> list[Any]:
        if host == "dead.example.com":
            may_answer.wait(10)
        return []

    monkeypatch.setattr(http_sender, "_look_up", look_up)
    failing = WebhooksSettings.model_fields["webhook_attempts_at_once"].default // 2
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
