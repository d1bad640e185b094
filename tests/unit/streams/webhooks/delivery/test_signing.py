"""Signatures as receivers verify them."""

import base64
import hashlib
import hmac

import pytest

from streams.webhooks.delivery.signing import signature_headers


def test_the_specifications_own_example() -> None:
    """**Source:** the test vector of the Standard Webhooks libraries."""
    headers = signature_headers(
        b'{"test": 2432232314}',
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp_seconds=1614265330,
        secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-timestamp"] == "1614265330"


@pytest.mark.parametrize("secret", ["whsec_" + base64.b64encode(b"x" * 32).decode(), "simple!"])
def test_both_signatures_and_those_of_a_previous_secret(secret: str) -> None:
    body = '{"plate":"AB1","camera":"Tür"}'.encode()
    headers = signature_headers(
        body, message_id="m", timestamp_seconds=1_900_000_000, secrets=[secret, "previous"]
    )

    assert headers["X-Signature-256"] == _hex(secret, body)
    assert headers["X-Signature-256-Previous"] == _hex("previous", body)
    new, old = headers["webhook-signature"].split(" ")
    signed = b"m.1900000000." + body
    assert (
        old
        == "v1," + base64.b64encode(hmac.new(b"previous", signed, hashlib.sha256).digest()).decode()
    )
    key = b"x" * 32 if secret.startswith("whsec_") else secret.encode()
    assert new == "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _hex(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
