"""Defines scopes, roles, callers and the access that routes require."""

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum, StrEnum
from typing import TypeVar
from uuid import UUID

from starlette.applications import Starlette
from starlette.routing import compile_path
from starlette.types import Scope as AsgiScope

from api.actors import Action
from api.errors import ApiError, ErrorCode
from common.errors import MisconfiguredError


class Scope(StrEnum):
    """Permission of an API key."""

    RECOGNITIONS_READ = "recognitions:read"
    RECOGNITIONS_WRITE = "recognitions:write"
    CORRECTIONS_WRITE = "corrections:write"
    ERASURES_WRITE = "erasures:write"
    CAMERAS_READ = "cameras:read"
    CAMERAS_WRITE = "cameras:write"
    ALERTS_READ = "alerts:read"
    ALERTS_WRITE = "alerts:write"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    API_KEYS_READ = "api-keys:read"
    API_KEYS_WRITE = "api-keys:write"
    ANALYTICS_READ = "analytics:read"
    CREDITS_READ = "credits:read"
    AUDIT_READ = "audit:read"


ALL_SCOPES: frozenset[Scope] = frozenset(Scope)


class Role(StrEnum):
    """Role of a person in an account.

    `viewer`: can see recognitions, cameras, alerts and analytics. `operator`: can also change
    cameras, alerts and webhooks, correct readings and submit images. `administrator`: full access.
    """

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


_VIEWER = frozenset(
    {Scope.RECOGNITIONS_READ, Scope.CAMERAS_READ, Scope.ALERTS_READ, Scope.ANALYTICS_READ}
)
ROLE_SCOPES: Mapping[Role, frozenset[Scope]] = {
    Role.VIEWER: _VIEWER,
    Role.OPERATOR: _VIEWER
    | {
        Scope.RECOGNITIONS_WRITE,
        Scope.CORRECTIONS_WRITE,
        Scope.CAMERAS_WRITE,
        Scope.ALERTS_WRITE,
        Scope.WEBHOOKS_READ,
        Scope.WEBHOOKS_WRITE,
        Scope.CREDITS_READ,
    },
    Role.ADMINISTRATOR: ALL_SCOPES,
}
"""Scopes of a session, by the person's role."""


class Public(Enum):
    """A route that needs no credential."""

    ANYBODY = "anybody"


class OwnSession(Enum):
    """A route about the caller's own session, which API keys cannot call."""

    ONLY = "session"


class Administrator(Enum):
    """A route about the people of an account, for sessions of administrators only.

    API keys cannot call such a route: a leaked key must not be able to add people.
    """

    ONLY = "administrator"


class AnyCaller(Enum):
    """A route about the caller, for any API key or session, regardless of scopes."""

    KNOWN = "known"


class BodyKind(Enum):
    """The content type of a route's body."""

    NONE = "none"
    JSON = "application/json"
    IMAGE = "application/octet-stream"
    TABLE = "text/csv"


class AddressLimit(StrEnum):
    """Rate limits per client address for calls without a credential."""

    DEMO = "demo"
    LOG_IN = "log-in"


_DECLARED = "declared_access"
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., object])


@dataclass(frozen=True)
class Access:
    """The access that a route requires. The caller needs ``scope`` and all of ``also``.

    Routes with ``shows_picture`` have a separate rate limit. ``audit`` is the action that a
    successful call adds to the audit log.
    """

    scope: Scope | Public | OwnSession | Administrator | AnyCaller
    body: BodyKind = BodyKind.NONE
    _: KW_ONLY
    body_optional: bool = False
    recognizes: bool = False
    shows_picture: bool = False
    limited_by_address: AddressLimit | None = None
    is_endless: bool = False
    also: frozenset[Scope] = frozenset()
    audit: Action | None = None

    def __call__(self, endpoint: _Endpoint) -> _Endpoint:
        """Decorate an endpoint with this declaration."""
        setattr(endpoint, _DECLARED, self)
        return endpoint

    @property
    def scopes(self) -> frozenset[Scope]:
        """All scopes that the caller needs."""
        return self.also | {self.scope} if isinstance(self.scope, Scope) else frozenset()


requires = Access
"""Decorator that declares the access of a route. It must be below the router's decorator."""


def declared_access(endpoint: Callable[..., object]) -> Access:
    """Return the access that an endpoint declares.

    Raises:
        MisconfiguredError: the endpoint declares no access. The application does not start.
    """
    access = getattr(endpoint, _DECLARED, None)
    if not isinstance(access, Access):
        raise MisconfiguredError(f"{endpoint!r} does not declare the access it requires")
    return access


SESSION_COOKIE = "session"
"""Name of the cookie with which browsers authenticate."""


@dataclass(frozen=True)
class PersonIdentity:
    """The person of a calling session."""

    id: UUID
    email: str
    name: str
    role: Role
    has_password: bool = True


@dataclass(frozen=True)
class KeyIdentity:
    """The name and the shown prefix of a calling API key."""

    name: str
    prefix: str


@dataclass(frozen=True)
class Principal:
    """A caller and the caller's permissions. ``credential_id`` is the ID of the API key or session.

    ``limits`` are the account's own limits. A session has a ``person``, an API key has a ``key``.
    """

    owner_id: UUID
    credential_id: UUID
    scopes: frozenset[Scope]
    limits: Mapping[str, int] = field(default_factory=dict, hash=False)
    person: PersonIdentity | None = None
    key: KeyIdentity | None = None

    @property
    def sees_secrets(self) -> bool:
        """Whether responses show signing secrets, header values and full receiver URLs."""
        return Scope.WEBHOOKS_READ in self.scopes

    @property
    def is_session(self) -> bool:
        """Whether the caller is a session, not an API key."""
        return self.person is not None

    def require(self, *scopes: Scope) -> None:
        """Check that the caller has all of ``scopes``.

        Raises:
            ApiError: 403, the caller lacks a scope. The message names the first missing scope.
        """
        missing = sorted(set(scopes) - self.scopes)
        if missing:
            name = "The API key" if self.person is None else f"The role {self.person.role.value}"
            raise ApiError(ErrorCode.MISSING_SCOPE, f"{name} lacks the scope {missing[0].value}.")

    def require_person(self) -> PersonIdentity:
        """Return the person who logged in.

        Raises:
            ApiError: 403, the caller is an API key.
        """
        if self.person is None:
            raise ApiError(ErrorCode.MISSING_SCOPE, "This call requires a session, not an API key.")
        return self.person

    def require_administrator(self) -> None:
        """Check that the caller is a session of an administrator.

        Raises:
            ApiError: 403, the caller is an API key or has another role.
        """
        if self.require_person().role is not Role.ADMINISTRATOR:
            raise ApiError(ErrorCode.MISSING_SCOPE, "This call requires the administrator role.")


class PermissionTable:
    """The access that routes declare, by method and path."""

    def __init__(self, access: Mapping[tuple[str, str], Access]) -> None:
        self.access = dict(access)
        self._forms = {key: compile_path(key[1])[0] for key in access}
        self._literal = frozenset(path for _, path in access if "{" not in path)

    def allowed_methods(self, path: str) -> tuple[str, ...]:
        """Return the methods that are allowed at ``path`` (as sent), sorted.

        HEAD is included if GET is allowed and the response to GET is finite.
        """
        found = [key for key, form in self._forms.items() if self._is_at(path, key[1], form)]
        methods = {method for method, _ in found}
        if any(key[0] == "GET" and not self.access[key].is_endless for key in found):
            methods.add("HEAD")
        return tuple(sorted(methods))

    def is_literal(self, path: str) -> bool:
        """Return whether a route has exactly this path: ``/api/alertas/test`` has no alert ID."""
        return path in self._literal

    def _is_at(self, path: str, declared: str, form: re.Pattern[str]) -> bool:
        return declared == path if self.is_literal(path) else form.match(path) is not None


def permissions_in(scope: AsgiScope) -> PermissionTable:
    """Return the table of the application that handles a request."""
    return permissions_of(scope["app"])


def permissions_of(app: Starlette) -> PermissionTable:
    """Return the table of an application."""
    table = app.state.permissions
    assert isinstance(table, PermissionTable)
    return table
