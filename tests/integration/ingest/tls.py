"""TLS in front of a camera, with a self-signed certificate as cameras have it."""

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from tests.services.authority import self_signed
from tests.services.peers import PeerServer


class TlsFront(PeerServer):
    """Accepts TLS connections and forwards them to a port of this machine."""

    def __init__(self, port: int, folder: Path, server_file: Path | None = None) -> None:
        """Listen in front of ``port``, and write the certificate to ``folder``.

        ``server_file`` is a different certificate with its key (PEM).
        """
        super().__init__()
        self._target = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(server_file or self_signed(folder))
        self.trusted_by = 0
        """Number of clients that sent data after they had received the certificate."""

    def talk(self, peer: socket.socket) -> None:
        with (
            suppress(ssl.SSLError, ConnectionError),
            socket.create_connection(("127.0.0.1", self._target)) as inner,
            self._context.wrap_socket(peer, server_side=True) as outer,
        ):
            backwards = threading.Thread(target=_pump, args=(inner, outer), daemon=True)
            backwards.start()
            if said := outer.recv(65_536):
                self.trusted_by += 1
                inner.sendall(said)
            _pump(outer, inner)
            backwards.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return
