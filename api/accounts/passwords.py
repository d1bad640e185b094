"""Passwords: hashed with argon2id, compared in time that tells nothing."""

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

MIN_PASSWORD_CHARACTERS = 8
MAX_PASSWORD_CHARACTERS = 1024

# argon2-cffi's defaults are the low-memory profile of RFC 9106: argon2id, 64 MiB, 3 rounds.
_hasher = PasswordHasher()


def hash_password(password: str) -> str:
    """Return the argon2id hash of ``password`` with a salt of its own."""
    return _hasher.hash(password)


@cache
def unknown_hash() -> str:
    """Return the hash of a password that nobody has.

    Who logs in to an account that does not exist is compared with it, and learns nothing from the
    time that takes.
    """
    return hash_password(secrets.token_hex())


def password_matches(password: str, stored: str) -> bool:
    """Tell whether ``stored`` is a hash of ``password``."""
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
