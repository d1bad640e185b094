"""What tests of the webhooks stage share."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.streams.webhooks.delivery.bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A dispatcher with all its dependencies."""
    opened = Bench()
    yield opened
    await opened.crash()
