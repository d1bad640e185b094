"""A certificate authority for a test, and a server certificate that the authority signed."""

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Authority:
    """Clients trust ``ca_file``; a server on 127.0.0.1 uses ``server``.

    ``server_file`` has the server's key and certificate (PEM), which a client can use too.
    """

    ca_file: Path
    server: ssl.SSLContext
    server_file: Path

    @classmethod
    def make(cls, folder: Path) -> Self:
        """Return a new authority and its server certificate, with their files in ``folder``."""
        ca_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        ca = _signed(ca_key, "An authority", "An authority", ca_key, _of_authority(ca_key))
        leaf = _signed(server_key, "server", "An authority", ca_key, _of_server(ca_key))
        ca_file = folder / "ca.pem"
        ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
        server_file = _written(folder / "server.pem", server_key, leaf)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server_file)
        return cls(ca_file, context, server_file)


def self_signed(folder: Path, *, names: Sequence[x509.GeneralName] = ()) -> Path:
    """Write a self-signed certificate with its key, and return the path of the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = [(x509.SubjectAlternativeName(names), False)] if names else []
    return _written(folder / "camera.pem", key, _signed(key, "camera", "camera", key, named))


def _written(path: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> Path:
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


def _of_authority(ca_key: ec.EllipticCurvePrivateKey) -> list[tuple[x509.ExtensionType, bool]]:
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return [
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (usage, True),
        (x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), False),
    ]


def _of_server(ca_key: ec.EllipticCurvePrivateKey) -> list[tuple[x509.ExtensionType, bool]]:
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.SubjectAlternativeName([here]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), False),
    ]


def _signed(
    key: ec.EllipticCurvePrivateKey,
    subject: str,
    issuer: str,
    ca_key: ec.EllipticCurvePrivateKey,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )
    for extension, is_critical in extensions:
        builder = builder.add_extension(extension, critical=is_critical)
    return builder.sign(ca_key, hashes.SHA256())
