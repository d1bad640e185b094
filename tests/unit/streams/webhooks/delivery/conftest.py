"""Fixtures of the tests of delivery."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.streams.webhooks.delivery.bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    opened = Bench()
    yield opened
    await opened.crash()
