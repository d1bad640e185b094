"""The API's pages on its metrics port: ``/metrics``, ``/healthz`` and ``/readyz``.

They answer from threads; what they report belongs to the event loop and is read there.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

from fastapi import FastAPI

from api.container import Services
from api.health.service import Readiness
from api.middleware.request_context import ApiMetrics
from common.metrics import HealthPageSettings, HealthServer, serve_health

_T = TypeVar("_T")
_ALIVE_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 10.0


def readiness_body(readiness: Readiness) -> dict[str, object]:
    """Return the JSON form of a readiness: its status, checks by dependency, and warnings."""
    return {
        "status": "ready" if readiness.is_ready else "not ready",
        "checks": {name: fault or "ok" for name, fault in readiness.faults.items()},
        "warnings": list(readiness.warnings),
    }


def serve_pages(settings: HealthPageSettings, port: int, app: FastAPI) -> HealthServer | None:
    """Serve the pages of an application on ``port``; 0 does nothing.

    Raises:
        MisconfiguredError: the port is taken, or the address is not of this machine.
    """
    metrics = app.state.metrics
    assert isinstance(metrics, ApiMetrics)
    process = _Process(app)
    return serve_health(settings, port, metrics.registry, process.is_alive, process.details)


class _Process:
    """An API process as seen from the threads of its pages."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def is_alive(self) -> bool:
        """Return whether the event loop runs."""
        return self._on_loop(_answer_at_once, _ALIVE_SECONDS) is not None

    def details(self) -> Mapping[str, object]:
        """Return what ``/readyz`` reports, which is only the status if the loop does not answer."""
        services = getattr(self._app.state, "services", None)
        if not isinstance(services, Services):
            return {"status": "starting"}
        readiness = self._on_loop(services.health.readiness, _ANSWER_SECONDS)
        return {"status": "stuck"} if readiness is None else readiness_body(readiness)

    def _on_loop(self, work: Callable[[], Coroutine[Any, Any, _T]], seconds: float) -> _T | None:
        loop = getattr(self._app.state, "loop", None)
        if loop is None or loop.is_closed():
            return None
        future = asyncio.run_coroutine_threadsafe(work(), loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            return None


async def _answer_at_once() -> bool:
    return True
