"""The form of an API key: ``pk_``, 34 random base62 characters, 6 of checksum.

The checksum lets a mistyped or made-up key be refused, and a leaked one be recognised by a
scanner, without a look-up.
"""

import hashlib
import re
import secrets
import zlib

PREFIX = "pk_"
SHOWN_CHARACTERS = 11
"""How much of a key is kept in the clear, to tell keys apart."""

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_CHARACTERS = 34
_CHECKSUM_CHARACTERS = 6
_FORM = re.compile(r"pk_[0-9A-Za-z]{40}\Z", re.ASCII)


def new_key() -> str:
    """Return a new key of 202 random bits."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARACTERS))
    return f"{PREFIX}{body}{_checksum(body)}"


def is_well_formed(key: str) -> bool:
    """Tell whether ``key`` has the form and the checksum of a key (not whether it exists)."""
    if not _FORM.match(key):
        return False
    body = key[len(PREFIX) : -_CHECKSUM_CHARACTERS]
    return _checksum(body) == key[-_CHECKSUM_CHARACTERS:]


def key_hash(key: str) -> bytes:
    """Return what is stored of a key: its SHA-256 (32 bytes)."""
    return hashlib.sha256(key.encode()).digest()


def shown_prefix(key: str) -> str:
    """Return the part of a key that is shown in lists."""
    return key[:SHOWN_CHARACTERS]


def _checksum(body: str) -> str:
    """Return CRC-32 of ``body`` as six base62 digits, most significant first."""
    value = zlib.crc32(body.encode("ascii"))
    digits = []
    for _ in range(_CHECKSUM_CHARACTERS):
        value, digit = divmod(value, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
