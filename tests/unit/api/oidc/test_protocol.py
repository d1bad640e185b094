"""Tokens that are accepted, and tokens that are rejected."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from api.oidc.flow import new_flow
from api.oidc.protocol import RefusedTokenError, checked_claims

ISSUER, CLIENT = "https://login.example.com", "platestream"
KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": "one"}) for _ in range(2))
KEYS = KeySet([KEY]).as_dict(private=False)
FLOW = new_flow(None)


def _claims(**changes: object) -> dict[str, Any]:
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": CLIENT,
        "sub": "ana",
        "exp": now + 300,
        "iat": now,
        "nonce": FLOW.nonce,
        **changes,
    }
    return {name: value for name, value in claims.items() if value is not None}


def _token(*, key: RSAKey = KEY, **changes: Any) -> str:
    return jwt.encode({"alg": "RS256", "kid": "one"}, _claims(**changes), key)


def _checked(token: str, keys: object = KEYS) -> Any:
    return checked_claims(token, "access", keys, issuer=ISSUER, client_id=CLIENT, flow=FLOW)


def _forged(algorithm: str, secret: bytes) -> str:
    """Return a token with an algorithm that does not require the provider's private key."""
    parts = ({"alg": algorithm, "kid": "one"}, _claims())
    head = b".".join(_encoded(json.dumps(part).encode()) for part in parts)
    signature = hmac.digest(secret, head, "sha256") if secret else b""
    return (head + b"." + _encoded(signature)).decode()


def _encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def test_a_token_of_this_login_is_accepted() -> None:
    assert _checked(_token(email="ana@example.com"))["email"] == "ana@example.com"
    both = _token(aud=[CLIENT, "another"], azp=CLIENT)
    assert _checked(both)["sub"] == "ana"


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"aud": None},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"nonce": "of another login"},
        {"nonce": None},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"at_hash": "of another access token"},
    ],
    ids=lambda changes: " ".join(f"{name}={str(value)[:20]}" for name, value in changes.items()),
)
def test_a_token_for_something_else_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RefusedTokenError):
        _checked(_token(**changes))


def test_a_token_that_the_provider_did_not_sign_is_refused() -> None:
    public = KEY.as_pem(private=False)
    unsigned, by_public_key = _forged("none", b""), _forged("HS256", public)
    for token in (_token(key=OTHER_KEY), unsigned, by_public_key, "", "a.b.c", _token()[:-4]):
        with pytest.raises(RefusedTokenError):
            _checked(token)


@pytest.mark.parametrize("keys", [{}, {"keys": []}, {"keys": ["x"]}, {"keys": None}, []])
def test_a_key_set_that_is_none_is_refused(keys: object) -> None:
    with pytest.raises(RefusedTokenError):
        _checked(_token(), keys)


@pytest.mark.parametrize("curve, is_believed", [("Ed25519", True), ("Ed448", False)])
@pytest.mark.parametrize("key_says", [True, False], ids=["named", "unnamed"])
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
def test_signatures_of_ed25519_are_believed_by_either_name_with_the_hash_of_the_access_token(
    curve: Any, is_believed: bool, key_says: bool
) -> None:
    half = hashlib.sha512(b"access").digest()[:32]
    registry = JWSRegistry(algorithms=["EdDSA", "Ed25519", "Ed448"])
    for name in ("EdDSA", curve):
        named: Any = {"kid": "one", **({"alg": name} if key_says else {})}
        key = OKPKey.generate_key(curve, named)
        keys = KeySet([key]).as_dict(private=False)

        def token(at_hash: str, key: OKPKey = key, name: str = name) -> str:
            claims = _claims(at_hash=at_hash)
            return jwt.encode({"alg": name, "kid": "one"}, claims, key, registry=registry)

        good = token(_encoded(half).decode())
        if is_believed:
            assert _checked(good, keys)["sub"] == "ana"
            with pytest.raises(RefusedTokenError, match="at_hash"):
                _checked(token(_encoded(half[:16]).decode()), keys)
        else:
            with pytest.raises(RefusedTokenError):
                _checked(good, keys)
