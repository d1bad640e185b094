"""Signs deliveries. No I/O."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from standardwebhooks import Webhook

from common.records.webhooks import (
    PREVIOUS_SIGNATURE_HEADER,
    SIGNATURE_HEADER,
    STANDARD_HEADERS,
)

_PREFIX = "whsec_"
_SECRETS_REMEMBERED = 4096


def signature_headers(
    body: bytes, *, message_id: str, timestamp_seconds: int, secrets: Sequence[str]
) -> dict[str, str]:
    """Return the headers that sign ``body``: our own headers, and the Standard Webhooks headers.

    ``secrets`` are the current secret and, during a rotation, the previous secret.

    **Source:** the Standard Webhooks specification, "Signature scheme": base64 of the HMAC-SHA256
    of ``id.timestamp.body``; several signatures are separated by spaces.
    """
    id_header, timestamp_header, signature_header = STANDARD_HEADERS
    moment = datetime.fromtimestamp(timestamp_seconds, tz=UTC)
    text = body.decode()
    standard = (_standard(secret).sign(message_id, moment, text) for secret in secrets)
    headers = {
        SIGNATURE_HEADER: _hex_signature(secrets[0], body),
        id_header: message_id,
        timestamp_header: str(timestamp_seconds),
        signature_header: " ".join(standard),
    }
    if len(secrets) > 1:
        headers[PREVIOUS_SIGNATURE_HEADER] = _hex_signature(secrets[1], body)
    return headers


def _hex_signature(secret: str, body: bytes) -> str:
    return hmac.digest(secret.encode(), body, hashlib.sha256).hex()


@lru_cache(_SECRETS_REMEMBERED)
def _standard(secret: str) -> Webhook:
    return Webhook(_key(secret))


def _key(secret: str) -> bytes:
    """Return the key that libraries derive from a secret: base64 after the prefix ``whsec_``.

    The bytes of a secret in any other form are the key.
    """
    if secret.startswith(_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True) or secret.encode()
        except binascii.Error:
            return secret.encode()
    return secret.encode()
