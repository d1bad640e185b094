"""Who may call what: the one table of routes and scopes. What is not in it is refused."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from starlette.routing import compile_path

from api.scopes import Scope
from contracts.errors import MisconfiguredError


class Public(Enum):
    """A route that needs no credential."""

    ANYBODY = "anybody"


class OwnSession(Enum):
    """A route about the caller's own session: no key will do."""

    ONLY = "session"


class BodyKind(Enum):
    """What body a route takes."""

    NONE = "none"
    JSON = "application/json"
    IMAGE = "application/octet-stream"


@dataclass(frozen=True)
class Access:
    """What a route asks of its caller."""

    scope: Scope | Public | OwnSession
    body: BodyKind = BodyKind.NONE
    body_optional: bool = False
    recognizes: bool = False
    limited_by_address: bool = False
    is_endless: bool = False


ACCESS: Mapping[tuple[str, str], Access] = {
    ("GET", "/livez"): Access(Public.ANYBODY),
    ("GET", "/readyz"): Access(Public.ANYBODY),
    ("GET", "/metrics"): Access(Public.ANYBODY),
    ("GET", "/api/openapi.json"): Access(Public.ANYBODY),
    ("GET", "/api/docs"): Access(Public.ANYBODY),
    ("POST", "/api/session"): Access(Public.ANYBODY, BodyKind.JSON),
    ("DELETE", "/api/session"): Access(OwnSession.ONLY),
    ("GET", "/api/recognitions"): Access(Scope.RECOGNITIONS_READ),
    ("GET", "/api/recognitions/stream"): Access(Scope.RECOGNITIONS_READ, is_endless=True),
    ("GET", "/api/recognitions/{id}"): Access(Scope.RECOGNITIONS_READ),
    # It tells of alerts; of the recognition nothing.
    ("GET", "/api/recognitions/{id}/alerts"): Access(Scope.ALERTS_READ),
    ("POST", "/api/recognize"): Access(Scope.RECOGNITIONS_WRITE, BodyKind.IMAGE, recognizes=True),
    ("POST", "/api/demo"): Access(Public.ANYBODY, BodyKind.IMAGE, limited_by_address=True),
    ("GET", "/api/credits"): Access(Scope.CREDITS_READ),
    ("GET", "/api/analytics"): Access(Scope.ANALYTICS_READ),
    ("GET", "/api/cameras"): Access(Scope.CAMERAS_READ),
    ("POST", "/api/cameras"): Access(Scope.CAMERAS_WRITE, BodyKind.JSON),
    ("PUT", "/api/cameras/{id}"): Access(Scope.CAMERAS_WRITE, BodyKind.JSON),
    ("DELETE", "/api/cameras/{id}"): Access(Scope.CAMERAS_WRITE),
    ("GET", "/api/cameras/{id}/snapshot"): Access(Scope.CAMERAS_READ),
    ("GET", "/api/alertas"): Access(Scope.ALERTS_READ),
    ("POST", "/api/alertas"): Access(Scope.ALERTS_WRITE, BodyKind.JSON),
    # It tells of recognitions; the alert is the caller's own.
    ("POST", "/api/alertas/test"): Access(Scope.RECOGNITIONS_READ, BodyKind.JSON),
    ("PUT", "/api/alertas/{id}"): Access(Scope.ALERTS_WRITE, BodyKind.JSON),
    ("DELETE", "/api/alertas/{id}"): Access(Scope.ALERTS_WRITE),
    ("GET", "/api/alertas/{id}/deliveries"): Access(Scope.ALERTS_READ),
    ("POST", "/api/alertas/{id}/deliveries/{deliveryId}/redeliver"): Access(
        Scope.ALERTS_WRITE, BodyKind.JSON, body_optional=True
    ),
    ("GET", "/api/webhooks"): Access(Scope.WEBHOOKS_READ),
    ("POST", "/api/webhooks"): Access(Scope.WEBHOOKS_WRITE, BodyKind.JSON),
    ("PUT", "/api/webhooks/{id}"): Access(Scope.WEBHOOKS_WRITE, BodyKind.JSON),
    ("DELETE", "/api/webhooks/{id}"): Access(Scope.WEBHOOKS_WRITE),
    ("GET", "/api/webhooks/{id}/deliveries"): Access(Scope.WEBHOOKS_READ),
    ("POST", "/api/webhooks/{id}/deliveries/{deliveryId}/redeliver"): Access(
        Scope.WEBHOOKS_WRITE, BodyKind.JSON, body_optional=True
    ),
    ("POST", "/api/webhooks/{id}/test"): Access(
        Scope.WEBHOOKS_WRITE, BodyKind.JSON, body_optional=True
    ),
    ("POST", "/api/webhooks/{id}/replay"): Access(Scope.WEBHOOKS_WRITE, BodyKind.JSON),
    ("POST", "/api/webhooks/{id}/rotate-secret"): Access(
        Scope.WEBHOOKS_WRITE, BodyKind.JSON, body_optional=True
    ),
    ("GET", "/api/api-keys"): Access(Scope.API_KEYS_READ),
    ("POST", "/api/api-keys"): Access(Scope.API_KEYS_WRITE, BodyKind.JSON),
    ("PUT", "/api/api-keys/{id}"): Access(Scope.API_KEYS_WRITE, BodyKind.JSON),
    ("DELETE", "/api/api-keys/{id}"): Access(Scope.API_KEYS_WRITE),
}


def access_to(method: str, path: str) -> Access:
    """Return what the route asks of its caller.

    Raises:
        MisconfiguredError: the route is not in the table; the application does not start.
    """
    try:
        return ACCESS[method, path]
    except KeyError as error:
        raise MisconfiguredError(f"{method} {path} is not in the access table") from error


def allowed_methods(path: str) -> tuple[str, ...]:
    """Return the methods that some route takes at ``path`` (as sent), sorted.

    HEAD goes with each GET that comes to an end.
    """
    found = [key for key, form in _FORMS.items() if _is_at(path, key[1], form)]
    methods = {method for method, _ in found}
    if any(method == "GET" and not ACCESS[method, named].is_endless for method, named in found):
        methods.add("HEAD")
    return tuple(sorted(methods))


def is_named(path: str) -> bool:
    """Tell whether a route has this very path: ``/api/alertas/test`` is no alert's."""
    return path in _NAMED


def _is_at(path: str, named: str, form: re.Pattern[str]) -> bool:
    return named == path if is_named(path) else form.match(path) is not None


_FORMS = {key: compile_path(key[1])[0] for key in ACCESS}
_NAMED = frozenset(path for _, path in ACCESS if "{" not in path)
