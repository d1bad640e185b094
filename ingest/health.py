"""The worker's HTTP endpoints for an operator's tools: metrics and liveness."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from common.errors import MisconfiguredError


class HealthServer:
    """Answers ``/metrics`` and ``/healthz`` on this machine's own address."""

    def __init__(
        self, port: int, registry: CollectorRegistry, is_alive: Callable[[], bool]
    ) -> None:
        """Listen.

        Raises:
            MisconfiguredError: the port is taken.
        """
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(registry, is_alive))
        except OSError as error:
            raise MisconfiguredError(f"PLATESTREAM_INGEST_METRICS_PORT: {error}") from error
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._server.server_port

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _handler(
    registry: CollectorRegistry, is_alive: Callable[[], bool]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif self.path == "/healthz":
                status, word = (200, b"ok\n") if is_alive() else (503, b"stuck\n")
                self._answer(status, "text/plain", word)
            else:
                self._answer(404, "text/plain", b"not found\n")

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: probes come every few seconds."""

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
