"""Services for applications of which no route is called."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.services import Services


@asynccontextmanager
async def no_services() -> AsyncIterator[Services]:
    """Fail: nothing may start."""
    raise AssertionError("the application was started")
    yield
