"""What of OpenID Connect is a library's: addresses of requests, checks of tokens.

The only module that imports authlib and joserfc. Authlib's own clients are left aside: they read
answers of any length, over httpx.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyCurveError, JoseError
from joserfc.jwa import EdDSAAlgorithm
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from api.oidc.flow import Flow

_EDWARDS: Final = ("Ed25519", "EdDSA")
"""One signature by both of its names, the newer first. **Source:** RFC 9864, section 2.2."""

_ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", *_EDWARDS),
)
"""Signatures of which the provider alone has the key: neither none nor a shared secret's."""

_LEEWAY_SECONDS: Final = 60
"""Clocks of provider and service may differ by so much."""


class _Ed25519ByFormerName(EdDSAAlgorithm):
    """The signature as most providers still name it; the name was that of Ed448 as well."""

    security_warning = ""

    def check_key(self, key: Any) -> None:
        super().check_key(key)
        if key.curve_name != "Ed25519":
            raise InvalidKeyCurveError("EdDSA is taken with keys of Ed25519 alone")


class _Registry(JWSRegistry):
    algorithms = {**JWSRegistry.algorithms, "EdDSA": _Ed25519ByFormerName()}


class RefusedTokenError(Exception):
    """A token is not what the provider made for this log-in; says why, for the log."""


@dataclass(frozen=True, repr=False)
class ReceivedTokens:
    """What the provider gave for a code. ``keys`` is its key set, as JSON."""

    id_token: str
    access_token: str
    keys: Any


def authorization_url(
    endpoint: str, *, client_id: str, redirect_url: str, scopes: str, flow: Flow
) -> str:
    """Return where a browser goes to log in at the provider."""
    url: str = prepare_grant_uri(
        endpoint,
        client_id,
        "code",
        redirect_uri=redirect_url,
        scope=scopes,
        state=flow.state,
        nonce=flow.nonce,
        code_challenge=create_s256_code_challenge(flow.verifier),
        code_challenge_method="S256",
    )
    return url


def checked_claims(
    tokens: ReceivedTokens, *, issuer: str, client_id: str, flow: Flow
) -> Mapping[str, Any]:
    """Return what an ID token says of who logged in.

    **Source:** OpenID Connect Core 1.0, section 3.1.3.7.

    Raises:
        RefusedTokenError: signature, issuer, audience, time, nonce or access token do not fit.
    """
    registry = _Registry(algorithms=_ALGORITHMS, strict_check_header=False)
    try:
        keys = KeySet.import_key_set(tokens.keys)
        token = jwt.decode(tokens.id_token, keys, registry=registry)
        claims = CodeIDToken(
            token.claims,
            _header_for_hashes(token.header),
            {
                "iss": {"essential": True, "value": issuer},
                "aud": {"essential": True, "value": client_id},
            },
            {
                "nonce": flow.nonce,
                "client_id": client_id,
                "access_token": tokens.access_token,
            },
        )
        claims.validate(leeway=_LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        # What is not of the expected form is refused like what does not fit.
        raise RefusedTokenError(f"{type(error).__name__}: {error}") from error
    return dict(claims)


def _header_for_hashes(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return a header by which authlib finds the hash of at_hash: it knows one name of Ed25519.

    Of that the hash is SHA-512, with which it signs. **Source:** RFC 8032, section 5.1.
    """
    if header.get("alg") in _EDWARDS:
        return {**header, "alg": "EdDSA"}
    return dict(header)
