"""Builds authorization URLs and validates ID tokens, with authlib and joserfc.

No other module imports these libraries. authlib's clients are not used, because these clients read
responses of any size and do not encode the client's ID and secret (RFC 6749, section 2.3.1).
"""

from collections.abc import Mapping
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
"""Both names of the Ed25519 algorithm, the newer name first. **Source:** RFC 9864, section 2.2."""

_ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", *_EDWARDS),
)
"""Only asymmetric signatures: neither ``none`` nor algorithms with a shared secret."""

_LEEWAY_SECONDS: Final = 60
"""Maximum difference between the clocks of the provider and the service."""


class _Ed25519ByFormerName(EdDSAAlgorithm):
    """Ed25519 under the name that most providers still use. The name formerly included Ed448."""

    security_warning = ""

    def check_key(self, key: Any) -> None:
        super().check_key(key)
        if key.curve_name != "Ed25519":
            raise InvalidKeyCurveError("EdDSA is only accepted with Ed25519 keys")


class _Registry(JWSRegistry):
    algorithms = {**JWSRegistry.algorithms, "EdDSA": _Ed25519ByFormerName()}


class RefusedTokenError(Exception):
    """A token was not issued by the provider for this login. The message is for the log."""


def authorization_url(
    endpoint: str, *, client_id: str, redirect_url: str, scopes: str, flow: Flow
) -> str:
    """Return the provider's URL to which the browser is redirected to log in."""
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
    id_token: str, access_token: str, keys: Any, *, issuer: str, client_id: str, flow: Flow
) -> Mapping[str, Any]:
    """Verify an ID token and return its claims. ``keys`` is the decoded key set of the provider.

    **Source:** OpenID Connect Core 1.0, section 3.1.3.7.

    Raises:
        RefusedTokenError: the signature, issuer, audience, time, nonce or access token is wrong.
    """
    registry = _Registry(algorithms=_ALGORITHMS, strict_check_header=False)
    try:
        token = jwt.decode(id_token, KeySet.import_key_set(keys), registry=registry)
        claims = CodeIDToken(
            token.claims,
            _header_for_hashes(token.header),
            {
                "iss": {"essential": True, "value": issuer},
                "aud": {"essential": True, "value": client_id},
            },
            {"nonce": flow.nonce, "client_id": client_id, "access_token": access_token},
        )
        claims.validate(leeway=_LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        # Malformed tokens are rejected like invalid ones.
        raise RefusedTokenError(f"{type(error).__name__}: {error}") from error
    return dict(claims)


def _header_for_hashes(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header with the name of Ed25519 for which authlib can verify ``at_hash``.

    The hash is SHA-512, which Ed25519 itself uses. **Source:** RFC 8032, section 5.1.
    """
    if header.get("alg") in _EDWARDS:
        return {**header, "alg": "EdDSA"}
    return dict(header)
