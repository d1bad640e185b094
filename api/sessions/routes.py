"""``/api/session``."""

from typing import Any

from fastapi import APIRouter, Request, Response

from api.answers import BODY_ERRORS, errors
from api.client_address import counted_by
from api.guard import Caller, GuardedRoute, address_of, check_origin
from api.origin import is_loopback_host
from api.principal import SESSION_COOKIE
from api.services import services_of
from api.sessions.schemas import LogIn, SessionAnswer, session_answer

router = APIRouter(route_class=GuardedRoute, tags=["Session"])

_COOKIE: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            "Set-Cookie": {
                "schema": {"type": "string"},
                "description": f"The cookie {SESSION_COOKIE}: HttpOnly, SameSite=Lax, and Secure "
                "unless the API is called on the caller's own machine.",
            }
        }
    }
}


@router.post("/api/session", summary="Log in", responses={**errors(*BODY_ERRORS), **_COOKIE})
async def log_in(request: Request, response: Response, body: LogIn) -> SessionAnswer:
    """Log in with e-mail address and password; the answer sets the session cookie."""
    check_origin(request, required=False)
    address = counted_by(address_of(request))
    made = await services_of(request).sessions.log_in(body.email, body.password, address)
    lifetime = made.record.expires_at - made.record.created_at
    response.set_cookie(
        SESSION_COOKIE,
        made.token,
        max_age=round(lifetime.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
        secure=_is_secure(request),
    )
    response.headers["Cache-Control"] = "no-store"
    return session_answer(made)


@router.delete(
    "/api/session",
    status_code=204,
    response_class=Response,
    summary="Log out",
    responses=errors(),
)
async def log_out(request: Request, response: Response, caller: Caller) -> None:
    """End the session that the cookie stands for."""
    await services_of(request).sessions.log_out(caller.credential_id)
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="lax", secure=_is_secure(request)
    )


def _is_secure(request: Request) -> bool:
    # Browsers do not keep a Secure cookie that came over plain HTTP, which is what the local
    # stack speaks.
    return not is_loopback_host(request.headers.get("host", ""))
