"""Encrypts text that must not be readable in PostgreSQL or on a topic."""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from common.errors import MisconfiguredError


class SecretBox:
    """Encrypts and decrypts short texts with the installation's key or keys.

    **Source:** https://github.com/fernet/spec (AES-128-CBC with HMAC-SHA256).
    """

    def __init__(self, keys: str) -> None:
        """``keys`` are Fernet keys, separated by commas. The first key encrypts.

        Raises:
            MisconfiguredError: a key is not 32 bytes of URL-safe base64.
        """
        try:
            self._fernet = MultiFernet([Fernet(key.strip()) for key in keys.split(",")])
        except ValueError as error:
            raise MisconfiguredError("PLATESTREAM_SECRET_KEY must be a Fernet key") from error

    def encrypt(self, text: str) -> str:
        """Return ``text`` encrypted, as ASCII."""
        return self._fernet.encrypt(text.encode()).decode("ascii")

    def decrypt(self, token: str, *, max_age_seconds: int | None = None) -> str:
        """Return the text that was passed to :meth:`encrypt` at most ``max_age_seconds`` ago.

        Raises:
            MisconfiguredError: the text was encrypted with an unknown key, or too long ago.
        """
        try:
            return self._fernet.decrypt(token.encode(), ttl=max_age_seconds).decode()
        except InvalidToken as error:
            raise MisconfiguredError(
                "a stored secret was encrypted with a different PLATESTREAM_SECRET_KEY"
            ) from error
