"""``/api/session``."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from api.accounts.repository import OwnerAccount
from api.deps import Caller, service
from api.middleware.guard import GuardedRoute, check_origin, counted_address
from api.openapi import BODY_ERRORS, error_responses
from api.schemas import CleanText, RequestModel, ResponseModel, Timestamp
from api.security.credentials import MAX_PASSWORD_CHARACTERS
from api.security.csrf import is_loopback_host
from api.security.permissions import SESSION_COOKIE, BodyKind, OwnSession, Public, requires
from api.sessions.devices import DEVICE_COOKIE, DEVICE_SECONDS
from api.sessions.service import NewSession, Sessions
from api.validation.fields import MAX_EMAIL_CHARACTERS


class LogIn(RequestModel):
    """The credentials of a log-in."""

    email: Annotated[
        CleanText, Field(min_length=1, max_length=MAX_EMAIL_CHARACTERS, examples=["me@example.com"])
    ]
    password: Annotated[str, Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS)]


class SessionBody(ResponseModel):
    """The session: its owner, and when it ends."""

    email: str
    timezone: str
    expires_at: Timestamp


class SessionAnswer(ResponseModel):
    """A session; its token is in the cookie."""

    session: SessionBody


def session_answer(made: NewSession) -> SessionAnswer:
    """Return the JSON form of a session."""
    owner: OwnerAccount = made.owner
    return SessionAnswer(
        session=SessionBody(
            email=owner.email, timezone=owner.timezone, expires_at=made.record.expires_at
        )
    )


router = APIRouter(route_class=GuardedRoute, tags=["Session"])

SessionsDep = Annotated[Sessions, Depends(service(Sessions))]

_PATH = "/api/session"

_COOKIE: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            "Set-Cookie": {
                "schema": {"type": "string"},
                "description": f"The cookie {SESSION_COOKIE}: HttpOnly, SameSite=Lax, and Secure "
                "unless the API is called on the caller's own machine. A second one, "
                f"{DEVICE_COOKIE}, opens nothing: attempts to log in that bring it are counted by "
                "themselves.",
            }
        }
    }
}


@router.post(_PATH, summary="Log in", responses={**error_responses(*BODY_ERRORS), **_COOKIE})
@requires(Public.ANYBODY, BodyKind.JSON)
async def log_in(
    request: Request, sessions: SessionsDep, response: Response, body: LogIn
) -> SessionAnswer:
    """Log in with e-mail address and password; the answer sets the session cookie."""
    check_origin(request, required=False)
    made = await sessions.log_in(
        body.email, body.password, counted_address(request), request.cookies.get(DEVICE_COOKIE)
    )
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
    response.set_cookie(
        DEVICE_COOKIE,
        made.device,
        max_age=DEVICE_SECONDS,
        path=_PATH,
        httponly=True,
        samesite="strict",
        secure=_is_secure(request),
    )
    response.headers["Cache-Control"] = "no-store"
    return session_answer(made)


@router.delete(
    _PATH,
    status_code=204,
    response_class=Response,
    summary="Log out",
    responses=error_responses(),
)
@requires(OwnSession.ONLY)
async def log_out(
    request: Request, sessions: SessionsDep, response: Response, caller: Caller
) -> None:
    """End the session that the cookie stands for."""
    await sessions.log_out(caller.credential_id)
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="lax", secure=_is_secure(request)
    )


def _is_secure(request: Request) -> bool:
    # Browsers do not keep a Secure cookie that came over plain HTTP, which is what the local
    # stack speaks.
    return not is_loopback_host(request.headers.get("host", ""))
