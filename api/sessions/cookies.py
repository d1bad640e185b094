"""The cookies that a log-in leaves, and that a log-out takes back."""

from typing import Final

from fastapi import Request, Response

from api.security.csrf import is_loopback_host
from api.security.permissions import SESSION_COOKIE
from api.sessions.devices import DEVICE_COOKIE, DEVICE_SECONDS
from api.sessions.service import NewSession

SESSION_PATH: Final = "/api/session"
"""Below it people log in, by whichever way: devices are known there alone."""


def set_session(request: Request, response: Response, made: NewSession) -> None:
    """Set the cookies of a session that was just made."""
    lifetime = made.record.expires_at - made.record.created_at
    response.set_cookie(
        SESSION_COOKIE,
        made.token,
        max_age=round(lifetime.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_secure(request),
    )
    response.set_cookie(
        DEVICE_COOKIE,
        made.device,
        max_age=DEVICE_SECONDS,
        path=SESSION_PATH,
        httponly=True,
        samesite="strict",
        secure=is_secure(request),
    )
    response.headers["Cache-Control"] = "no-store"


def delete_session(request: Request, response: Response) -> None:
    """Take the cookie of a session back that has ended."""
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="lax", secure=is_secure(request)
    )


def is_secure(request: Request) -> bool:
    """Tell whether a cookie is to come over TLS only.

    Browsers do not keep such a one that came over plain HTTP, which is what the local stack speaks.
    """
    return not is_loopback_host(request.headers.get("host", ""))
