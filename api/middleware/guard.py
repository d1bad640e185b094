"""Checks access to every route, in this order: credential, rate limits, scope, content type.

The checks run before FastAPI reads the request, so denied calls reveal nothing and cost little.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from uuid import UUID

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from api.actors import Actor, ActorKind, acting
from api.audit.actions import ActionSubject, AuditAction
from api.audit.audit_buffer import AuditBuffer, audited_parameters
from api.deps import service_of
from api.errors import ApiError, BodyRefusedError, ErrorCode, FieldFault
from api.limits.body_budget import BodyBudget, BodyReservation
from api.limits.fair_queue import queue_as
from api.limits.limiter import LimitKind, RateLimiter
from api.limits.networks import queue_network
from api.middleware.bodies import (
    IMAGE_RULE,
    JSON_RULE,
    PUBLIC_JSON_RULE,
    TABLE_RULE,
    BodyRule,
    declared_body_size,
    limit_body,
)
from api.middleware.request_state import request_id_of, set_limit_headers
from api.middleware.transport import check_origin, session_token
from api.security.authentication import Authenticator
from api.security.client_address import PublicAccess, client_address, counted_by
from api.security.devices import DEVICE_COOKIE, Devices
from api.security.permissions import (
    Access,
    Administrator,
    BodyKind,
    OwnSession,
    PermissionTable,
    Principal,
    Public,
    declared_access,
    permissions_in,
)
from api.validation.fields import ValidationRules, validating_by
from common.errors import MisconfiguredError

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_SHOWN_CHARACTERS, _SHOWN_NAMES = 100, 20
_FIRST_ERROR = 400
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class GuardedRoute(APIRoute):
    """A route that checks the access that its endpoint declares with :func:`requires`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Use the endpoint's name as operation ID."""
        super().__init__(*args, **kwargs | {"generate_unique_id_function": _operation_id})

    @property
    def access(self) -> Access:
        """The access that the endpoint declares.

        Raises:
            MisconfiguredError: the endpoint declares no access.
        """
        return declared_access(self.endpoint)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match no path that is the literal path of another route, whatever the method."""
        if self.param_convertors and permissions_in(scope).is_literal(scope["path"]):
            return Match.NONE, {}
        return super().matches(scope)

    def get_route_handler(self) -> _Handler:
        """Return FastAPI's handler, preceded by the access checks."""
        inner = super().get_route_handler()
        access, names = self.access, _query_names(self)

        async def guarded(request: Request) -> Response:
            await _admit_request(request, access)
            if names is not None:
                _check_query(request, names)
            with validating_by(service_of(request, ValidationRules)), _acting(request, access):
                answer = await _answered(request, access, inner)
            _record(request, access, answer)
            return answer

        return guarded


def _operation_id(route: APIRoute) -> str:
    return route.name


async def _answered(request: Request, access: Access, inner: _Handler) -> Response:
    if access.body is BodyKind.NONE:
        return await inner(request)
    rule = _body_rule(access)
    with _reserved_share(request, access, rule) as share:
        return await inner(limit_body(request, rule, share.resize))


def _acting(request: Request, access: Access) -> AbstractContextManager[None]:
    """Return a context that attributes changes to the caller, except in reads and image calls."""
    changes = request.method not in _SAFE_METHODS and not access.recognizes
    return acting(_actor(request) if changes else None)


def _record(request: Request, access: Access, answer: Response) -> None:
    """Add a successful call to the audit log if the route is audited."""
    if access.audit is None or answer.status_code >= _FIRST_ERROR:
        return
    named = request.path_params.get("id")
    subject = None
    if named is not None:
        subject = ActionSubject(access.audit.partition(".")[0], UUID(named))
    owner_id = request.state.principal.owner_id
    details = audited_parameters(request.query_params.multi_items())
    action = AuditAction(owner_id, access.audit, _actor(request), subject, details)
    service_of(request, AuditBuffer).add(action)


def _query_names(route: APIRoute) -> frozenset[str] | None:
    """Return a route's query parameters, or None if any are allowed (health checks, scrapers)."""
    if not route.include_in_schema:
        return None
    return frozenset(_names_below(route.dependant))


def _names_below(dependant: Dependant) -> Iterator[str]:
    for field in dependant.query_params:
        yield from _names_of(field.field_info.annotation, field.alias)
    for each in dependant.dependencies:
        yield from _names_below(each)


def _names_of(kind: Any, alias: str) -> Sequence[str]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [field.alias or name for name, field in kind.model_fields.items()]
    return [alias]


def _check_query(request: Request, names: frozenset[str]) -> None:
    """Reject unknown parameters, because a misspelt filter would return too much.

    Raises:
        ApiError: 400, the call has unknown parameters. The error has a fault for each parameter.
    """
    unknown = [name for name in request.query_params if name not in names]
    if unknown:
        faults = [
            FieldFault(name[:_SHOWN_CHARACTERS], "is not a parameter of this call")
            for name in unknown[:_SHOWN_NAMES]
        ]
        raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)


def permission_table(routes: Sequence[BaseRoute]) -> PermissionTable:
    """Return the access that each route of an application requires.

    Raises:
        MisconfiguredError: a route is not a :class:`GuardedRoute`. The application cannot start.
    """
    access: dict[tuple[str, str], Access] = {}
    for route in routes:
        if not isinstance(route, GuardedRoute):
            raise MisconfiguredError(f"{route!r} is not a GuardedRoute")
        access.update({(method, route.path): route.access for method in route.methods or ()})
    return PermissionTable(access)


def rate_limit_address(request: Request) -> str:
    """Return the address or network for which per-address limits count the request."""
    return counted_by(_sender(request))


def _sender(request: Request) -> str:
    """Return the client's address, which trusted proxies report in a header."""
    peer = None if request.client is None else request.client.host
    forwarded_for = request.headers.getlist("x-forwarded-for")
    trusted = service_of(request, PublicAccess).proxies
    return client_address(peer, forwarded_for, trusted)


def _actor(request: Request) -> Actor:
    """Return the caller as an actor of the audit log."""
    address, request_id = _sender(request), request_id_of(request)
    caller: Principal | None = getattr(request.state, "principal", None)
    person, key = (None, None) if caller is None else (caller.person, caller.key)
    if person is not None:
        return Actor(ActorKind.PERSON, person.id, person.email, None, address, request_id)
    if caller is not None and key is not None:
        identity = caller.credential_id, key.name, key.prefix
        return Actor(ActorKind.KEY, *identity, address, request_id)
    return Actor(ActorKind.NOBODY, address=address, request_id=request_id)


async def recheck_access(request: Request) -> None:
    """Check again, during a long response, that the caller has access.

    Raises:
        ApiError: 401 or 403, the caller has lost access.
        TransientError: PostgreSQL is not responding.
    """
    route = request.scope["route"]
    assert isinstance(route, GuardedRoute)
    check_scope(await _authenticate(request, rate_limit_address(request)), route.access)


async def _admit_request(request: Request, access: Access) -> None:
    """Check everything that can be checked without the body."""
    address = rate_limit_address(request)
    queue_as(queue_network(address))
    if not isinstance(access.scope, Public):
        await _admit(request, access, address)
    elif access.limited_by_address is not None:
        kind = LimitKind(access.limited_by_address)
        set_limit_headers(request.scope, await _admit_public(request, address, kind))
    _check_content_type(request, access)


async def _admit_public(request: Request, address: str, kind: LimitKind) -> Mapping[str, str]:
    """Count a public call, per person for logins from known devices. Return rate limit headers."""
    limiter, cookie = service_of(request, RateLimiter), request.cookies.get(DEVICE_COOKIE)
    person_id = service_of(request, Devices).person(cookie) if kind is LimitKind.LOG_IN else None
    if person_id is not None:
        return await limiter.admit_person(person_id, kind)
    return await limiter.admit_address(address, kind)


async def _admit(request: Request, access: Access, address: str) -> None:
    principal = await _authenticate(request, address)
    request.state.principal = principal
    queue_as(principal.owner_id)
    # The call is counted before the scope check, so that denied calls count too.
    limiter = service_of(request, RateLimiter)
    left = await limiter.admit(
        principal, recognizes=access.recognizes, shows_picture=access.shows_picture
    )
    set_limit_headers(request.scope, left)
    check_scope(principal, access)


def check_scope(principal: Principal, access: Access) -> None:
    """Check that the caller's scopes and role allow the call.

    Raises:
        ApiError: 403, the scopes or the role do not allow the call.
    """
    if isinstance(access.scope, OwnSession):
        principal.require_person()
    if isinstance(access.scope, Administrator):
        principal.require_administrator()
    principal.require(*access.scopes)


async def _authenticate(request: Request, address: str) -> Principal:
    """Return the caller identified by the API key or, if none is sent, by the session cookie."""
    authenticator = service_of(request, Authenticator)
    authorization = request.headers.get("authorization")
    token = session_token(request)
    # The header may contain credentials for a proxy (Basic), which are ignored.
    if not token or _is_bearer(authorization):
        return await authenticator.authenticate(authorization, address)
    principal = await authenticator.authenticate_session(token, address)
    # Browsers also send cookies with requests from other sites.
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
            ErrorCode.UNSUPPORTED_MEDIA_TYPE,
            f"The request must have the header Content-Type: {access.body.value}.",
        )


def _announces_body(request: Request) -> bool:
    """Return whether the request has a body. **Source:** RFC 9112, section 6.3."""
    length = request.headers.get("content-length", "0")
    return length != "0" or "transfer-encoding" in request.headers


def _body_rule(access: Access) -> BodyRule:
    if access.body is BodyKind.IMAGE:
        return IMAGE_RULE
    if access.body is BodyKind.TABLE:
        return TABLE_RULE
    return PUBLIC_JSON_RULE if isinstance(access.scope, Public) else JSON_RULE


def _reserved_share(request: Request, access: Access, rule: BodyRule) -> BodyReservation:
    """Reserve part of the memory budget for the body, and return the reservation.

    Raises:
        BodyRefusedError: 413, the body is too large; 429 or 503, not enough memory is free.
    """
    budget, count = service_of(request, BodyBudget), declared_body_size(request, rule)
    try:
        if isinstance(access.scope, Public):
            return budget.for_address(rate_limit_address(request), count)
        return budget.for_caller(request.state.principal, count)
    except ApiError as error:
        raise BodyRefusedError(error) from error
