"""Encryption of texts that must not be readable in Postgres or on a topic."""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from common.errors import MisconfiguredError


class SecretBox:
    """Encrypts and decrypts short texts with the installation's key or keys.

    **Source:** https://github.com/fernet/spec (AES-128-CBC with HMAC-SHA256).
    """

    def __init__(self, keys: str) -> None:
        """``keys`` are Fernet keys, comma-separated; the first one encrypts.

        Raises:
            MisconfiguredError: a key is not 32 bytes of URL-safe base64.
        """
        try:
            self._fernet = MultiFernet([Fernet(key.strip()) for key in keys.split(",")])
        except ValueError as error:
            raise MisconfiguredError("PLATESTREAM_SECRET_KEY is not a Fernet key") from error

    def encrypt(self, text: str) -> str:
        """Return ``text`` encrypted, as ASCII."""
        return self._fernet.encrypt(text.encode()).decode("ascii")

    def decrypt(self, token: str, *, max_age_seconds: int | None = None) -> str:
        """Return what :meth:`encrypt` was given, not longer ago than ``max_age_seconds``.

        Raises:
            MisconfiguredError: encrypted under a key that this installation does not have, or too
                long ago.
        """
        try:
            return self._fernet.decrypt(token.encode(), ttl=max_age_seconds).decode()
        except InvalidToken as error:
            raise MisconfiguredError("a secret was encrypted with another secret key") from error
