"""Loads TLS files, mainly for Kafka clients. The settings check these files at start."""

import ssl
from pathlib import Path

from common.errors import MisconfiguredError

_CA = "PLATESTREAM_KAFKA_CA_FILE"
_CERTIFICATE = "PLATESTREAM_KAFKA_CLIENT_CERTIFICATE_FILE"


def tls_context(ca_file: str, certificate_file: str) -> ssl.SSLContext:
    """Return a client's TLS context, which verifies the brokers' certificates and host names.

    Files are PEM. An empty ``ca_file`` means the system's certificates, and an empty
    ``certificate_file`` means no client certificate. The certificate file also contains the key.

    Raises:
        MisconfiguredError: a file cannot be used. The message begins with the setting.
    """
    for setting, file in ((_CA, ca_file), (_CERTIFICATE, certificate_file)):
        if file:
            _require_readable(setting, file)
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except ssl.SSLError as error:
        raise MisconfiguredError(f"{_CA}: the file contains no PEM certificates") from error
    if certificate_file:
        try:
            # With an arbitrary passphrase, an encrypted key is rejected. Without a passphrase,
            # OpenSSL would prompt on the terminal.
            context.load_cert_chain(certificate_file, password="-")  # noqa: S106
        except ssl.SSLError as error:
            raise MisconfiguredError(
                f"{_CERTIFICATE}: the certificate and key must be a matching pair in PEM format, "
                "without a passphrase"
            ) from error
    return context


def file_of_certificates(file: str) -> str:
    """Return ``file`` if it is empty or names a file with PEM certificates.

    Raises:
        ValueError: the file cannot be read, or contains no certificates.
    """
    if file:
        try:
            ssl.create_default_context(cafile=file)
        except OSError as error:
            raise ValueError("cannot be read, or contains no PEM certificates") from error
    return file


def _require_readable(setting: str, file: str) -> None:
    try:
        with Path(file).open("rb"):
            return
    except OSError as error:
        raise MisconfiguredError(f"{setting}: {file}: {error.strerror}") from error
