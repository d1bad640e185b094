"""Shared fixtures for tests of limits."""

import pytest

from tests.unit.api.wall_clock import WallClock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    """A fake clock that replaces ``time.time``."""
    fake = WallClock()
    monkeypatch.setattr("time.time", lambda: fake.now)
    return fake
