"""TLS in front of a camera, with a self-signed certificate as cameras have it."""

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class TlsFront:
    """Accepts TLS connections and forwards them to a port of this machine."""

    def __init__(self, port: int, folder: Path, server_file: Path | None = None) -> None:
        """Listen in front of ``port``, and write the certificate to ``folder``.

        ``server_file`` is a different certificate with its key (PEM).
        """
        self._target = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(server_file or certificate_in(folder))
        self.trusted_by = 0
        """Number of clients that sent data after they had received the certificate."""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # This wakes the thread; closing the socket alone does not.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(ssl.SSLError, ConnectionError),
            plain,
            socket.create_connection(("127.0.0.1", self._target)) as inner,
            self._context.wrap_socket(plain, server_side=True) as outer,
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


def certificate_in(folder: Path, *, names: Sequence[x509.GeneralName] = ()) -> Path:
    """Write a self-signed certificate with its key, and return the path of the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "camera")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    path = folder / "camera.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
