"""Generates and loads the passwords and keys of one installation."""

import base64
import secrets
from typing import Self

import msgspec

from deploy.local.files import Layout, write_whole


class LocalSecrets(msgspec.Struct, frozen=True, rename="camel"):
    """The secrets of one installation. ``repr`` does not show them."""

    postgres_password: str
    s3_access_key: str
    s3_secret_key: str
    clickhouse_password: str
    secret_key: str
    owner_password: str
    analyst_password: str
    kafka_password: str

    @classmethod
    def new(cls) -> Self:
        """Generate and return new secrets."""
        return cls(
            postgres_password=secrets.token_urlsafe(24),
            s3_access_key="local" + secrets.token_hex(8),
            s3_secret_key=secrets.token_urlsafe(30),
            clickhouse_password=secrets.token_urlsafe(24),
            # A Fernet key: 32 bytes, URL-safe base64.
            secret_key=base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            owner_password=secrets.token_urlsafe(15),
            analyst_password=secrets.token_urlsafe(24),
            kafka_password=secrets.token_urlsafe(24),
        )

    def __repr__(self) -> str:
        return "LocalSecrets(***)"


def load_or_create_secrets(layout: Layout) -> LocalSecrets:
    """Return this installation's secrets. The first call creates the file, private to this user."""
    if layout.secrets.exists():
        return msgspec.json.decode(layout.secrets.read_bytes(), type=LocalSecrets)
    made = LocalSecrets.new()
    text = msgspec.json.format(msgspec.json.encode(made), indent=2).decode()
    write_whole(layout.secrets, text + "\n", mode=0o600)
    return made
