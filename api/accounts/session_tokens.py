"""The form of a session's token: 256 random bits, of which only a hash is stored."""

import hashlib
import re
import secrets

_RANDOM_BYTES = 32
_FORM = re.compile(r"[0-9A-Za-z_-]{43}\Z", re.ASCII)


def new_token() -> str:
    """Return a new token."""
    return secrets.token_urlsafe(_RANDOM_BYTES)


def is_well_formed(token: str) -> bool:
    """Tell whether ``token`` has the form of one (not whether it exists)."""
    return _FORM.match(token) is not None


def token_hash(token: str) -> bytes:
    """Return what is stored of a token: its SHA-256 (32 bytes)."""
    return hashlib.sha256(token.encode()).digest()
