"""Sets the cookies of a login, and deletes the session cookie at logout."""

from typing import Final

from fastapi import Request, Response

from api.middleware.transport import cookie_name, is_secure
from api.security.devices import DEVICE_COOKIE, DEVICE_SECONDS
from api.security.permissions import SESSION_COOKIE
from api.sessions.credential import NewSession

SESSION_PATH: Final = "/api/session"
"""Path prefix of all login methods, to which the device cookie is restricted."""


def set_session(request: Request, response: Response, made: NewSession) -> None:
    """Set the cookies of a new session."""
    _delete_plain_one(request, response)
    lifetime = made.record.expires_at - made.record.created_at
    response.set_cookie(
        cookie_name(request, SESSION_COOKIE),
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
    """Delete the cookie of a session that has ended."""
    _delete_plain_one(request, response)
    response.delete_cookie(
        cookie_name(request, SESSION_COOKIE),
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_secure(request),
    )


def _delete_plain_one(request: Request, response: Response) -> None:
    """On HTTPS, delete the session cookie of plain HTTP, which an attacker could have set."""
    if is_secure(request):
        response.delete_cookie(SESSION_COOKIE, path="/", httponly=True, samesite="lax")
