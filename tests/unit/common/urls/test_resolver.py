"""Names that the machine's resolver is slow with."""

import threading

import pytest

from common.urls import resolver as module
from common.urls.resolver import ResolvedHost, SystemResolver


async def test_a_resolver_that_is_slow_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    said = threading.Event()

    def slow(*_: object) -> list[ResolvedHost]:
        said.wait(30)
        return []

    monkeypatch.setattr(module, "look_up", slow)
    monkeypatch.setattr(module, "_ADDRESSES_SECONDS", 0.05)
    resolver = SystemResolver(threads=4)
    found = await resolver.addresses("receiver.example.com", 443)
    still_asked = not said.is_set()
    said.set()
    resolver.close()

    assert found == ()
    assert still_asked
