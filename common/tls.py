"""Files of TLS, Kafka's clients' above all. Apart from the settings, which check them at start."""

import ssl
from pathlib import Path

from common.errors import MisconfiguredError

_CA = "PLATESTREAM_KAFKA_CA_FILE"
_CERTIFICATE = "PLATESTREAM_KAFKA_CLIENT_CERTIFICATE_FILE"


def tls_context(ca_file: str, certificate_file: str) -> ssl.SSLContext:
    """Return a client's context: the chain and the host name of every broker are checked.

    Files are PEM. An empty ``ca_file`` means the system's certificates, an empty
    ``certificate_file`` none of one's own. The key is in the same file.

    Raises:
        MisconfiguredError: a file cannot be used; the sentence begins with its setting.
    """
    for setting, file in ((_CA, ca_file), (_CERTIFICATE, certificate_file)):
        if file:
            _require_readable(setting, file)
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except ssl.SSLError as error:
        raise MisconfiguredError(f"{_CA}: holds no certificates (PEM)") from error
    if certificate_file:
        try:
            # With a password, wrong as it is, a key that has one is refused: without, OpenSSL asks
            # for it on the terminal.
            context.load_cert_chain(certificate_file, password="-")  # noqa: S106
        except ssl.SSLError as error:
            raise MisconfiguredError(
                f"{_CERTIFICATE}: it and its key are not PEM without a password, or not a pair"
            ) from error
    return context


def file_of_certificates(file: str) -> str:
    """Return the name of a file that holds certificates (PEM), or the empty one.

    Raises:
        ValueError: it cannot be read, or holds none.
    """
    if file:
        try:
            ssl.create_default_context(cafile=file)
        except OSError as error:
            raise ValueError("cannot be read, or holds no certificates (PEM)") from error
    return file


def _require_readable(setting: str, file: str) -> None:
    try:
        with Path(file).open("rb"):
            return
    except OSError as error:
        raise MisconfiguredError(f"{setting}: {file}: {error.strerror}") from error
