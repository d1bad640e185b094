"""Serves ``/metrics``, ``/healthz`` and ``/readyz`` on the API's metrics port.

Threads serve the pages. The reported state belongs to the event loop and is read there.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry

from common.metrics import HealthPageSettings, HealthServer, serve_health

_T = TypeVar("_T")
_ALIVE_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 10.0

Report = Callable[[], Coroutine[Any, Any, Mapping[str, object]]]


class ProcessPages:
    """The pages of one application."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """``registry`` contains the metrics."""
        self._registry = registry
        self._loop: asyncio.AbstractEventLoop | None = None
        self._report: Report | None = None

    def serve(self, settings: HealthPageSettings, port: int) -> HealthServer | None:
        """Serve the pages on ``port``, and return the server. Return None if ``port`` is 0.

        Raises:
            MisconfiguredError: the port is in use, or this machine does not have the address.
        """
        return serve_health(settings, port, self._registry, self._is_alive, self._details)

    def start(self, report: Report) -> None:
        """Serve the result of ``report`` as ``/readyz``. ``report`` runs on this event loop."""
        self._loop, self._report = asyncio.get_running_loop(), report

    def _is_alive(self) -> bool:
        return self._on_loop(_answer_at_once, _ALIVE_SECONDS) is not None

    def _details(self) -> Mapping[str, object]:
        if self._report is None:
            return {"status": "starting"}
        return self._on_loop(self._report, _ANSWER_SECONDS) or {"status": "stuck"}

    def _on_loop(self, work: Callable[[], Coroutine[Any, Any, _T]], seconds: float) -> _T | None:
        if self._loop is None or self._loop.is_closed():
            return None
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            return None


async def _answer_at_once() -> bool:
    return True
