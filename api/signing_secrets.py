"""Secrets that sign deliveries."""

import base64
import secrets

MAX_SECRET_CHARACTERS = 256

_PREFIX = "whsec_"
_RANDOM_BYTES = 32


def new_signing_secret() -> str:
    """Return a new secret of 256 random bits, in the form that libraries for webhooks know.

    **Source:** the Standard Webhooks specification: ``whsec_`` and base64.
    """
    return _PREFIX + base64.b64encode(secrets.token_bytes(_RANDOM_BYTES)).decode("ascii")
