"""Routes of ``/api/session/oidc``: login through the OpenID Connect provider."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from api.deps import service, service_of
from api.errors import ApiError, ErrorCode
from api.middleware.guard import GuardedRoute, rate_limit_address
from api.middleware.transport import check_origin, cookie_name, is_secure
from api.oidc.flow import FLOW_COOKIE, FLOW_SECONDS
from api.oidc.service import OidcLogIn, ProviderAnswer
from api.openapi import BODY_ERRORS, error_responses
from api.people.schemas import TokenField
from api.schemas import CleanText, RequestModel, ResponseModel
from api.security.client_address import PublicAccess
from api.security.csrf import is_loopback_host, is_same_origin
from api.security.devices import DEVICE_COOKIE
from api.security.permissions import AddressLimit, BodyKind, Public, requires
from api.sessions.cookies import SESSION_PATH, set_session
from api.sessions.routes import COOKIES, SessionAnswer, session_answer

_PATH = f"{SESSION_PATH}/oidc"
_MAX_CODE_CHARACTERS = 4096
_MAX_STATE_CHARACTERS = 512


class OidcBegin(RequestModel):
    """Options for starting a login through the identity provider."""

    invitation: TokenField | None = Field(
        default=None,
        description="Token of the invitation to accept with this login; null if none.",
        examples=["p8QkS1TzK0s7mT2b0n3vJq9rXyEoWc5hUu4iLdAaGfM"],
    )


class OidcBegun(ResponseModel):
    """The URL at which to continue the login."""

    url: str = Field(
        description="Provider URL to open in the browser.",
        examples=["https://login.example.com/authorize?response_type=code"],
    )


class OidcReturn(RequestModel):
    """The parameters with which the provider redirected the browser."""

    code: Annotated[
        CleanText,
        Field(
            min_length=1,
            max_length=_MAX_CODE_CHARACTERS,
            description="The `code` parameter.",
            examples=["SplxlOBeZQQYbYS6WxSbIA"],
        ),
    ]
    state: Annotated[
        CleanText,
        Field(
            min_length=1,
            max_length=_MAX_STATE_CHARACTERS,
            description="The `state` parameter.",
            examples=["af0ifjsldkj"],
        ),
    ]
    iss: Annotated[CleanText, Field(max_length=_MAX_STATE_CHARACTERS)] | None = Field(
        default=None,
        description="The `iss` parameter; null if absent.",
        examples=["https://login.example.com"],
    )


router = APIRouter(route_class=GuardedRoute, tags=["Session"])

OidcDep = Annotated[OidcLogIn, Depends(service(OidcLogIn))]


@router.post(
    _PATH,
    summary="Start an OpenID Connect login",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Public.ANYBODY, BodyKind.JSON, limited_by_address=AddressLimit.LOG_IN)
async def begin_oidc(
    request: Request, oidc: OidcDep, response: Response, body: OidcBegin
) -> OidcBegun:
    """Returns the provider URL to open. Sets a cookie that is required to complete the login."""
    check_origin(request, required=False)
    _check_returns_here(request)
    url, cookie = await oidc.begin(body.invitation, rate_limit_address(request))
    response.set_cookie(value=cookie, max_age=FLOW_SECONDS, **_flow_cookie(request))
    response.headers["Cache-Control"] = "no-store"
    return OidcBegun(url=url)


@router.post(
    f"{_PATH}/return",
    summary="Complete an OpenID Connect login",
    responses={
        **error_responses(
            *BODY_ERRORS,
            ErrorCode.NOT_FOUND,
            ErrorCode.INVITATION_OVER,
            ErrorCode.INVITATION_FOR_ANOTHER,
            ErrorCode.LOG_IN_EXPIRED,
            ErrorCode.LOG_IN_REFUSED,
            ErrorCode.EMAIL_NOT_VERIFIED,
            ErrorCode.EMAIL_DOMAIN_REFUSED,
            ErrorCode.UNKNOWN_PERSON,
            ErrorCode.PERSON_SWITCHED_OFF,
            ErrorCode.BOUND_TO_ANOTHER,
            ErrorCode.PERSON_EXISTS,
            ErrorCode.LIMIT_REACHED,
        ),
        **COOKIES,
    },
)
@requires(Public.ANYBODY, BodyKind.JSON, limited_by_address=AddressLimit.LOG_IN)
async def finish_oidc(
    request: Request, oidc: OidcDep, response: Response, body: OidcReturn
) -> SessionAnswer:
    """Completes the login and sets the session cookie."""
    check_origin(request, required=False)
    cookies = request.cookies
    made = await oidc.finish(
        ProviderAnswer(body.code, body.state, body.iss),
        cookies.get(cookie_name(request, FLOW_COOKIE)),
        rate_limit_address(request),
        cookies.get(DEVICE_COOKIE),
    )
    set_session(request, response, made)
    response.delete_cookie(**_flow_cookie(request))
    return session_answer(made.credential)


def _flow_cookie(request: Request) -> dict[str, Any]:
    secure = is_secure(request)
    # A cookie with the prefix __Host- must have the path /.
    path = "/" if secure else _PATH
    name = cookie_name(request, FLOW_COOKIE)
    return {"key": name, "path": path, "httponly": True, "samesite": "strict", "secure": secure}


def _check_returns_here(request: Request) -> None:
    """Reject a login from a page to which the provider does not return the browser.

    After the return, the browser would not send the cookie. Pages on loopback hosts are allowed,
    because the host can be a tunnel or a forwarded port.

    Raises:
        ApiError: 403, the page has another origin. The message contains the correct URL.
    """
    origin, url = request.headers.get("origin"), service_of(request, PublicAccess).url
    if origin is None or is_loopback_host(request.headers.get("host", "")):
        return
    parts = urlsplit(url)
    if not is_same_origin(origin, parts.netloc) or not origin.startswith(f"{parts.scheme}:"):
        raise ApiError(ErrorCode.CROSS_SITE_REQUEST, f"Log in with the identity provider at {url}.")
