"""What tests of the webhooks stage share."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.streams.webhooks.bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A dispatcher with all its neighbours."""
    opened = Bench()
    yield opened
    await opened.crash()
