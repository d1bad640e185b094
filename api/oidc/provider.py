"""Calls the OpenID Connect provider over HTTP: discovery, tokens and keys.

The settings contain the issuer's URL; the discovery document contains all other URLs. The URLs can
point to a private network. The client does not follow redirects or use the environment's proxies,
and limits the time and size of responses.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote_plus

import aiohttp
import msgspec
import structlog
from cachetools import TTLCache

from api.errors import ApiError, Dependency, DependencyUnavailableError, ErrorCode
from api.oidc.flow import Flow, Identity
from api.oidc.protocol import RefusedTokenError, authorization_url, checked_claims
from api.oidc_settings import OidcSettings
from api.validation.fields import check_email_address

log = structlog.get_logger()

_SECONDS: Final = 10.0
"""Time limit of each call. A person is waiting for the result."""

_MAX_BYTES: Final = 256 * 1024
_DESCRIBED_SECONDS: Final = 600
_UNAVAILABLE_SECONDS: Final = 3
_MAX_SUBJECT_CHARACTERS: Final = 255
_MAX_LOGGED_CHARACTERS: Final = 100
_WRONG: Final = "returned an invalid response"
_T = TypeVar("_T")


class Description(msgspec.Struct, frozen=True):
    """Fields of the discovery document. **Source:** OpenID Connect Discovery 1.0, section 3."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Tokens(msgspec.Struct, frozen=True):
    id_token: str
    access_token: str


class IdentityProvider:
    """Client of the provider that the settings name."""

    def __init__(self, settings: OidcSettings, redirect_url: str) -> None:
        """``redirect_url`` is the URL to which the provider redirects browsers after login."""
        self._settings = settings
        self._redirect_url = redirect_url
        self._described: TTLCache[str, Description] = TTLCache(1, _DESCRIBED_SECONDS)
        self._unavailable: TTLCache[str, bool] = TTLCache(1, _UNAVAILABLE_SECONDS)
        self._describing = asyncio.Lock()

    async def authorization_url(self, flow: Flow) -> str:
        """Return the provider's URL to which the browser is redirected to log in.

        Raises:
            DependencyUnavailableError: the provider is not responding, or its response is invalid.
        """
        described = await self._description()
        return authorization_url(
            described.authorization_endpoint,
            client_id=self._settings.oidc_client_id,
            redirect_url=self._redirect_url,
            scopes=self._settings.oidc_scopes,
            flow=flow,
        )

    async def identity(self, flow: Flow, code: str) -> Identity:
        """Exchange the code that the browser returned for the identity of the person.

        Raises:
            ApiError: 403, the code or the token is invalid.
            DependencyUnavailableError: the provider is not responding, or its response is invalid.
        """
        described = await self._description()
        tokens = await self._tokens(described, flow, code)
        keys = await self._json(described.jwks_uri, dict[str, Any])
        try:
            claims = checked_claims(
                tokens.id_token,
                tokens.access_token,
                keys,
                issuer=described.issuer,
                client_id=self._settings.oidc_client_id,
                flow=flow,
            )
        except RefusedTokenError as error:
            log.warning("oidc_token_rejected", reason=str(error))
            raise ApiError(ErrorCode.LOG_IN_REFUSED) from error
        if "email" not in claims and described.userinfo_endpoint is not None:
            claims = {**await self._userinfo(described.userinfo_endpoint, tokens, claims), **claims}
        return self._identity(described.issuer, claims)

    async def _description(self) -> Description:
        issuer = self._settings.oidc_issuer
        # One call serves all waiting logins. After a failure, logins fail immediately for 3 s.
        async with self._describing:
            if found := self._described.get(issuer):
                return found
            if issuer in self._unavailable:
                raise DependencyUnavailableError(Dependency.IDENTITY_PROVIDER)
            try:
                found = await self._json(f"{issuer.rstrip('/')}/{_WELL_KNOWN}", Description)
                check_description(found, issuer)
            except DependencyUnavailableError:
                self._unavailable[issuer] = True
                raise
            self._described[issuer] = found
        return found

    async def _tokens(self, described: Description, flow: Flow, code: str) -> _Tokens:
        client = self._settings.oidc_client_id
        secret = self._settings.oidc_client_secret.get_secret_value()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_url,
            "code_verifier": flow.verifier,
        }
        headers = dict(_ACCEPTS)
        methods = described.token_endpoint_auth_methods_supported
        if secret and ("client_secret_basic" in methods or "client_secret_post" not in methods):
            # **Source:** RFC 6749, section 2.3.1: ID and secret are form-encoded.
            login = aiohttp.encode_basic_auth(quote_plus(client), quote_plus(secret))
            headers["Authorization"] = login
        else:
            form |= {"client_id": client, **({"client_secret": secret} if secret else {})}
        status, body = await _exchange("POST", described.token_endpoint, data=form, headers=headers)
        if status == 200:
            return _decoded(body, _Tokens)
        fault = _fault(body)
        log.warning("oidc_code_rejected", status=status, error=fault[:_MAX_LOGGED_CHARACTERS])
        # Some providers return invalid_request for an invalid code, which is a failed login.
        if fault in ("invalid_grant", "invalid_request"):
            raise ApiError(ErrorCode.LOG_IN_REFUSED)
        raise DependencyUnavailableError(
            Dependency.IDENTITY_PROVIDER, "rejected Platestream's request"
        )

    async def _userinfo(
        self, endpoint: str, tokens: _Tokens, claims: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the claims of the userinfo endpoint, which must be about the same person."""
        bearer = {**_ACCEPTS, "Authorization": f"Bearer {tokens.access_token}"}
        found = await self._json(endpoint, dict[str, Any], bearer)
        if found.get("sub") != claims.get("sub"):
            raise ApiError(ErrorCode.LOG_IN_REFUSED)
        return found

    def _identity(self, issuer: str, claims: Mapping[str, Any]) -> Identity:
        subject, email = claims.get("sub"), claims.get("email")
        if not isinstance(subject, str) or not _is_subject(subject):
            raise ApiError(ErrorCode.LOG_IN_REFUSED)
        # Some providers send booleans as strings.
        is_verified = claims.get("email_verified") in (True, "true")
        is_trusted = self._settings.oidc_trusts_email and "email_verified" not in claims
        is_good = isinstance(email, str) and _is_address(email)
        named = str(email).strip().lower() if is_good else None
        name = claims.get("name")
        return Identity(
            issuer,
            subject,
            named if is_verified or is_trusted else None,
            name if isinstance(name, str) else "",
            named,
        )

    async def _json(self, url: str, kind: type[_T], headers: Mapping[str, str] | None = None) -> _T:
        status, body = await _exchange("GET", url, headers=headers or _ACCEPTS)
        if status != 200:
            log.warning("oidc_provider_error", url=url, status=status)
            raise DependencyUnavailableError(Dependency.IDENTITY_PROVIDER, "returned an error")
        return _decoded(body, kind)


_WELL_KNOWN: Final = ".well-known/openid-configuration"
_ACCEPTS: Final = {"Accept": "application/json"}


def check_description(described: Description, issuer: str) -> None:
    """Check that the issuer matches, and that all URLs use HTTPS if the issuer's URL does.

    Raises:
        DependencyUnavailableError: the document names another issuer, or a URL does not use HTTPS.
    """
    named = (
        described.authorization_endpoint,
        described.token_endpoint,
        described.jwks_uri,
        described.userinfo_endpoint or issuer,
    )
    needed = "https://" if issuer.startswith("https://") else "http"
    if described.issuer != issuer or not all(url.startswith(needed) for url in named):
        log.warning("oidc_discovery_invalid", issuer=described.issuer)
        raise DependencyUnavailableError(Dependency.IDENTITY_PROVIDER, _WRONG)


async def _exchange(method: str, url: str, **given: Any) -> tuple[int, bytes]:
    """Send a request on a new connection. Return the status and the body.

    A reused connection could be closed while the code, which is valid only once, is being sent.
    """
    try:
        async with (
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=_SECONDS), cookie_jar=aiohttp.DummyCookieJar()
            ) as session,
            session.request(method, url, allow_redirects=False, **given) as response,
        ):
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > _MAX_BYTES:
                    log.warning("oidc_response_too_large", url=url)
                    raise DependencyUnavailableError(Dependency.IDENTITY_PROVIDER, _WRONG)
            return response.status, bytes(body)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        log.warning("oidc_provider_unavailable", url=url, reason=f"{type(error).__name__}: {error}")
        raise DependencyUnavailableError(Dependency.IDENTITY_PROVIDER) from error


def _decoded(body: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        log.warning("oidc_response_invalid", reason=str(error))
        raise DependencyUnavailableError(Dependency.IDENTITY_PROVIDER, _WRONG) from error


def _is_subject(text: str) -> bool:
    """Return whether ``text`` can be a subject. **Source:** OpenID Connect Core 1.0, section 2."""
    return 0 < len(text) <= _MAX_SUBJECT_CHARACTERS and text.isascii() and text.isprintable()


def _is_address(text: str) -> bool:
    # Some non-ASCII letters become ASCII in lower case, which could match another address.
    try:
        return text.isascii() and bool(check_email_address(text.strip()))
    except ValueError:
        return False


def _fault(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body, type=dict[str, Any]).get("error", ""))
    except (msgspec.DecodeError, RecursionError):
        return ""
