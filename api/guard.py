"""The gate of every route: credential, limits, scope, kind of body, in this order.

It stands before FastAPI reads anything of the request, so a caller without rights learns nothing
and costs nothing.
"""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from api.access import Access, BodyKind, OwnSession, Public, access_to, is_named
from api.client_address import client_address, counted_by
from api.errors import ApiError, ErrorCode
from api.json_body import MAX_JSON_BODY_BYTES, MAX_PUBLIC_JSON_BODY_BYTES, with_limited_body
from api.limit_headers import tell_limits
from api.origin import is_same_origin
from api.principal import SESSION_COOKIE, Principal
from api.services import Services, services_of
from api.validation import validating_by

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class GuardedRoute(APIRoute):
    """A route that nobody passes without what the access table asks."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Leave a path that another route bears as its name to that route, whatever the method."""
        if self.param_convertors and is_named(scope["path"]):
            return Match.NONE, {}
        return super().matches(scope)

    def get_route_handler(self) -> _Handler:
        """Return FastAPI's handler with the gate before it."""
        inner = super().get_route_handler()
        assert self.methods is not None
        (method,) = self.methods
        access = access_to(method, self.path)

        async def guarded(request: Request) -> Response:
            await _pass_gate(request, access)
            with validating_by(services_of(request).rules):
                return await inner(_with_limited_body(request, access))

        return guarded


async def principal_of(request: Request) -> Principal:
    """Return the caller; a FastAPI dependency for routes that are not public.

    Asynchronous, because FastAPI calls other dependencies in a thread each: 0.4 ms a request.
    """
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


Caller = Annotated[Principal, Depends(principal_of)]
"""The caller, as a parameter of a route."""


def address_of(request: Request) -> str:
    """Return the address that the request comes from, through proxies that are trusted."""
    peer = None if request.client is None else request.client.host
    forwarded_for = request.headers.getlist("x-forwarded-for")
    return client_address(peer, forwarded_for, services_of(request).trusted_proxies)


async def check_again(request: Request) -> None:
    """Raise as the gate would, if the caller came with this request now: for answers that last.

    Raises:
        ApiError: 401 or 403.
        TransientError: it can not be told.
    """
    principal = await _authenticate(request, services_of(request))
    check_scope(principal, access_to(request.method, request.scope["route"].path))


def check_origin(request: Request, *, required: bool) -> None:
    """Refuse a request that a browser sends for a page of another site.

    Raises:
        ApiError: 403.
    """
    origin = request.headers.get("origin")
    if origin is None and not required:
        return
    if origin is None or not is_same_origin(origin, request.headers.get("host", "")):
        raise ApiError(ErrorCode.CROSS_SITE_REQUEST)


async def _pass_gate(request: Request, access: Access) -> None:
    """Let the request pass or raise."""
    if not isinstance(access.scope, Public):
        await _admit(request, access)
    elif access.limited_by_address:
        address = counted_by(address_of(request))
        tell_limits(request.scope, await services_of(request).limiter.admit_address(address))
    _check_content_type(request, access)


async def _admit(request: Request, access: Access) -> None:
    services: Services = services_of(request)
    principal = await _authenticate(request, services)
    request.state.principal = principal
    # Before the scope: a call that is refused counts like any other, and so does a flood of them.
    left = await services.limiter.admit(str(principal.credential_id), recognizes=access.recognizes)
    tell_limits(request.scope, left)
    check_scope(principal, access)


def check_scope(principal: Principal, access: Access) -> None:
    """Refuse a caller who may not do what a route does.

    Raises:
        ApiError: 403.
    """
    if isinstance(access.scope, OwnSession):
        if not principal.is_session:
            raise ApiError(ErrorCode.MISSING_SCOPE, "This is for sessions, not for API keys.")
    elif access.scope not in principal.scopes:
        raise ApiError(
            ErrorCode.MISSING_SCOPE, f"The API key lacks the scope {access.scope.value}."
        )


async def _authenticate(request: Request, services: Services) -> Principal:
    """Return the caller by the key or, where none is sent, by the session cookie."""
    authorization = request.headers.get("authorization")
    token = request.cookies.get(SESSION_COOKIE)
    # A proxy's own log-in (Basic) may come along; it says nothing here.
    if not token or _is_bearer(authorization):
        return await services.authenticator.authenticate(authorization)
    principal = await services.authenticator.authenticate_session(token)
    # Browsers send cookies along with what other sites ask for.
    if request.method not in _SAFE_METHODS:
        check_origin(request, required=True)
    return principal


def _is_bearer(authorization: str | None) -> bool:
    return (authorization or "").partition(" ")[0].lower() == "bearer"


def _check_content_type(request: Request, access: Access) -> None:
    if access.body is BodyKind.NONE or (access.body_optional and not _announces_body(request)):
        return
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != access.body.value:
        raise ApiError(
            ErrorCode.UNSUPPORTED_MEDIA_TYPE, f"Send this with Content-Type: {access.body.value}."
        )


def _announces_body(request: Request) -> bool:
    """Tell whether a body follows. **Source:** RFC 9112, section 6.3."""
    length = request.headers.get("content-length", "0")
    return length != "0" or "transfer-encoding" in request.headers


def _with_limited_body(request: Request, access: Access) -> Request:
    if access.body is not BodyKind.JSON:
        return request
    is_public = isinstance(access.scope, Public)
    most = MAX_PUBLIC_JSON_BODY_BYTES if is_public else MAX_JSON_BODY_BYTES
    return with_limited_body(request, most)
