"""The image's health check: asks the page of the process that runs in this container.

Standard library only, and little of it: it is started every few seconds.
"""

import os
import socket
import sys
from collections.abc import Iterator, Mapping

SECONDS = 4.0


def pages(environment: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield where the process may answer, the API's own port last."""
    if (port := int(environment.get("PLATESTREAM_METRICS_PORT", "0"))) != 0:
        yield port, "/healthz"
    yield int(environment.get("PLATESTREAM_API_PORT", "8000")), "/healthz"


def answer(port: int, path: str) -> bytes | None:
    """Return the first line of what a page answers, None where nobody listens."""
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    except ConnectionRefusedError:
        return None
    with connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return connection.recv(256).partition(b"\r\n")[0]


def is_healthy(environment: Mapping[str, str]) -> bool:
    """Return whether whoever listens here says that all is well."""
    for port, path in pages(environment):
        line = answer(port, path)
        if line is not None:
            return b" 200 " in line
    return False


if __name__ == "__main__":
    sys.exit(0 if is_healthy(os.environ) else 1)
