"""Servers that talk to each client in a separate thread, on a free port of 127.0.0.1."""

import socket
import threading
from contextlib import suppress
from typing import Self


class PeerServer:
    """Calls :meth:`talk` for each client, and then closes its connection. A context manager."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def talk(self, peer: socket.socket) -> None:
        """Talk to a client. An OSError ends the connection."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # This wakes the thread; closing the socket alone does not.
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._server.accept()
                threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            self.talk(peer)
