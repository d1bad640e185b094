"""Sweeps continue whatever their results are, and report an error only once."""

import asyncio

import pytest
from structlog.testing import capture_logs

from api.adapters.periodic_tasks import PeriodicTasks
from api.errors import Dependency, DependencyUnavailableError
from common.errors import MisconfiguredError


async def swept(monkeypatch: pytest.MonkeyPatch, *results: int | Exception) -> list[str]:
    """Sweep once for each result, and return the log messages."""
    left = list(results)
    done = asyncio.Event()

    async def sweep() -> int:
        if not left:
            done.set()
            return 0
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr("api.adapters.periodic_tasks._SWEEP_SECONDS", 0)
    with capture_logs() as logs:
        running = asyncio.create_task(PeriodicTasks((sweep,)).run())
        await done.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return [f"{one['log_level']} {one['event']}" for one in logs]


async def test_trouble_is_reported_once_and_so_is_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    unavailable, none = (
        DependencyUnavailableError(Dependency.SEARCH),
        MisconfiguredError("no such table"),
    )

    assert await swept(
        monkeypatch, unavailable, unavailable, none, none, none, 0, 0, unavailable, 3
    ) == [
        "warning sweep_postponed",
        "error sweep_postponed",
        "info sweep_recovered",
        "warning sweep_postponed",
        "info sweep_recovered",
        "info sweep_completed",
    ]


async def test_a_bug_ends_no_sweeping(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await swept(monkeypatch, RuntimeError("a bug"), 2, 0) == [
        "error sweep_failed",
        "info sweep_completed",
    ]
