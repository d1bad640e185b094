"""Checks whether a request came over HTTPS, and whether it came from a page of the same site."""

from typing import Final

from fastapi import Request

from api.deps import service_of
from api.errors import ApiError, ErrorCode
from api.security.client_address import PublicAccess, is_from
from api.security.csrf import is_loopback_host, is_same_origin
from api.security.permissions import SESSION_COOKIE

SECURE_PREFIX: Final = "__Host-"
"""Browsers accept a cookie with this prefix only over HTTPS and for one host.

**Source:** RFC 6265bis, section 4.1.3.
"""

_HTTPS: Final = "https"
_HTTPS_ORIGIN: Final = "https://"


def is_secure(request: Request) -> bool:
    """Return whether cookies of a request are for HTTPS only.

    This is the case if the request or its page came over HTTPS (directly or to a trusted proxy), or
    if the service's public URL is HTTPS and the request's host is not a loopback address.
    """
    access = service_of(request, PublicAccess)
    if _is_https(request, access):
        return True
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    if origin.startswith(_HTTPS_ORIGIN) and is_same_origin(origin, host):
        return True
    return access.is_https and not is_loopback_host(host)


def cookie_name(request: Request, name: str) -> str:
    """Return the name of a cookie, with the prefix if the cookie is for HTTPS only."""
    return SECURE_PREFIX + name if is_secure(request) else name


def session_token(request: Request) -> str | None:
    """Return the token of the session cookie, or None if the cookie is missing.

    Over HTTPS, only a cookie that was set over HTTPS counts, because an attacker on the network can
    set other cookies.
    """
    secure = request.cookies.get(SECURE_PREFIX + SESSION_COOKIE)
    if secure or is_secure(request):
        return secure
    return request.cookies.get(SESSION_COOKIE)


def check_origin(request: Request, *, required: bool) -> None:
    """Reject a request that a browser sent for a page of another site.

    Raises:
        ApiError: 403, the request came from another site.
    """
    origin = request.headers.get("origin")
    if origin is None and not required:
        return
    if origin is None or not is_same_origin(origin, request.headers.get("host", "")):
        raise ApiError(ErrorCode.CROSS_SITE_REQUEST)
    # This cookie was set over HTTPS, even if the proxy that terminates TLS is not trusted.
    has_secure_cookie = SECURE_PREFIX + SESSION_COOKIE in request.cookies
    if (has_secure_cookie or is_secure(request)) and not origin.startswith(_HTTPS_ORIGIN):
        access = service_of(request, PublicAccess)
        sentence = f"Use HTTPS: {access.url}." if access.is_https else None
        raise ApiError(ErrorCode.CROSS_SITE_REQUEST, sentence)


def _is_https(request: Request, access: PublicAccess) -> bool:
    if request.scope["scheme"] == _HTTPS:
        return True
    peer = "" if request.client is None else request.client.host
    forwarded = ",".join(request.headers.getlist("x-forwarded-proto"))
    # The first value is from the proxy that the client connected to.
    scheme = forwarded.partition(",")[0].strip().lower()
    return scheme == _HTTPS and is_from(peer, access.proxies)
