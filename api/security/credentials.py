"""Generates, checks and hashes API keys, session tokens, passwords and signing secrets.

An API key consists of ``pk_``, 34 random base62 characters and a checksum of 6 characters. The
checksum allows the API to reject mistyped keys and most guesses without a lookup, and scanners to
recognise leaked keys.
"""

import base64
import hashlib
import re
import secrets
import zlib
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files

from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import hash_secret

KEY_PREFIX = "pk_"
SHOWN_CHARACTERS = 11
"""Number of leading characters of a key that are stored as plain text, to distinguish keys."""

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_CHARACTERS = 34
_CHECKSUM_CHARACTERS = 6
_KEY_FORM = re.compile(r"pk_[0-9A-Za-z]{40}\Z", re.ASCII)


def new_api_key() -> str:
    """Return a new key with 202 random bits."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARACTERS))
    return f"{KEY_PREFIX}{body}{_checksum(body)}"


def is_api_key(key: str) -> bool:
    """Return whether ``key`` has the format and checksum of an API key (not whether it exists)."""
    if not _KEY_FORM.match(key):
        return False
    body = key[len(KEY_PREFIX) : -_CHECKSUM_CHARACTERS]
    return _checksum(body) == key[-_CHECKSUM_CHARACTERS:]


def key_hash(key: str) -> bytes:
    """Return the stored form of a key: the SHA-256 hash (32 bytes)."""
    return hashlib.sha256(key.encode()).digest()


def shown_prefix(key: str) -> str:
    """Return the part of a key that is shown in lists."""
    return key[:SHOWN_CHARACTERS]


def _checksum(body: str) -> str:
    """Return the CRC-32 of ``body`` as six base62 digits, most significant first."""
    value = zlib.crc32(body.encode("ascii"))
    digits = []
    for _ in range(_CHECKSUM_CHARACTERS):
        value, digit = divmod(value, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


_TOKEN_BYTES = 32
_TOKEN_FORM = re.compile(r"[0-9A-Za-z_-]{43}\Z", re.ASCII)


def new_session_token() -> str:
    """Return a new session token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def is_session_token(token: str) -> bool:
    """Return whether ``token`` has the format of a session token (not whether it exists)."""
    return _TOKEN_FORM.match(token) is not None


def token_hash(token: str) -> bytes:
    """Return the stored form of a token: the SHA-256 hash (32 bytes)."""
    return hashlib.sha256(token.encode()).digest()


MIN_PASSWORD_CHARACTERS = 8
MAX_PASSWORD_CHARACTERS = 1024

# argon2-cffi's defaults are the low-memory profile of RFC 9106: argon2id, 64 MiB, 3 rounds.
PASSWORD_HASHER = PasswordHasher()


def hash_password(password: str, like: str = "") -> str:
    """Return the argon2id hash of ``password``, with the cost and the salt of the hash ``like``.

    If ``like`` is empty, the salt is random. All people with the same email address have the same
    salt, so that a login computes one hash, no matter how many accounts use the address.
    """
    if not like:
        return PASSWORD_HASHER.hash(password)
    cost, salt = extract_parameters(like), like.split("$")[-2]
    computed = hash_secret(
        password.encode(),
        base64.b64decode(salt + "=" * (-len(salt) % 4)),
        time_cost=cost.time_cost,
        memory_cost=cost.memory_cost,
        parallelism=cost.parallelism,
        hash_len=cost.hash_len,
        type=cost.type,
        version=cost.version,
    )
    return computed.decode("ascii")


@cache
def unknown_hash() -> str:
    """Return the hash of a random password.

    Passwords of unknown addresses are compared with this hash, so that timing reveals nothing.
    """
    return hash_password(secrets.token_hex())


def matching_hashes(password: str, stored: Collection[str]) -> frozenset[str]:
    """Return the hashes in ``stored`` that match ``password``.

    Compute one hash per salt in ``stored``, or one hash if ``stored`` is empty.
    """
    salts = {one.rpartition("$")[0]: one for one in stored} or {"": unknown_hash()}
    return frozenset(hash_password(password, like) for like in salts.values()).intersection(stored)


def password_fault(password: str) -> str | None:
    """Return why ``password`` is not allowed, or None. The text continues a field's name."""
    if not MIN_PASSWORD_CHARACTERS <= len(password) <= MAX_PASSWORD_CHARACTERS:
        return f"must have {MIN_PASSWORD_CHARACTERS} to {MAX_PASSWORD_CHARACTERS} characters"
    if password.strip().lower() in _common_passwords():
        return "must not be one of the 10,000 most common passwords"
    return None


@cache
def _common_passwords() -> frozenset[str]:
    lines = files(__package__).joinpath("common_passwords.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("# "))


MAX_SECRET_CHARACTERS = 256

_SECRET_PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_signing_secret() -> str:
    """Return a new secret with 256 random bits: ``whsec_`` and base64, as webhook libraries expect.

    **Source:** the Standard Webhooks specification.
    """
    return _SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii")


def overlap_end(overlap: timedelta) -> datetime | None:
    """Return the time at which a replaced secret stops signing, or None without an overlap."""
    return datetime.now(UTC).replace(microsecond=0) + overlap if overlap else None
