"""Checks the health of a container by requesting the health page of the container's process.

The check imports only a small part of the standard library, because it runs every few seconds.
"""

import os
import socket
import sys
from collections.abc import Iterator, Mapping

SECONDS = 4.0


def pages(environment: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the ports and paths of possible health pages, with the API's port last."""
    if (port := int(environment.get("PLATESTREAM_METRICS_PORT", "0"))) != 0:
        yield port, "/healthz"
    yield int(environment.get("PLATESTREAM_API_PORT", "8000")), "/healthz"


def answer(port: int, path: str) -> bytes | None:
    """Return the first line of a page's response, or None if nothing listens on the port."""
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    except ConnectionRefusedError:
        return None
    with connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return connection.recv(256).partition(b"\r\n")[0]


def is_healthy(environment: Mapping[str, str]) -> bool:
    """Return whether the process that listens on the first open port reports that it is healthy."""
    for port, path in pages(environment):
        line = answer(port, path)
        if line is not None:
            return b" 200 " in line
    return False


if __name__ == "__main__":
    sys.exit(0 if is_healthy(os.environ) else 1)
