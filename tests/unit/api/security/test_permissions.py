"""Every route declares its access, and no route can be called without an access check."""

from typing import Any

import pytest
from fastapi import APIRouter

from api.app import ROUTERS, create_app
from api.console.assets import ASSETS
from api.console.routes import VIEWS
from api.docs.routes import FOLDER
from api.middleware.guard import GuardedRoute
from api.security.permissions import Access, AnyCaller, BodyKind, Public, Scope, permissions_of
from common.errors import MisconfiguredError
from tests.described import api_description

APP = create_app()
DESCRIPTION = api_description()
TABLE = permissions_of(APP)
ACCESS = TABLE.access
OPERATIONS = {"/healthz", "/api/openapi.json", "/api/docs", f"{FOLDER}/{{file}}"}
PUBLIC = {
    "/api/session",
    "/api/session/ways",
    "/api/session/oidc",
    "/api/session/oidc/return",
    "/api/demo",
    "/api/invitations/find",
    "/api/invitations/accept",
}
CONSOLE = {*VIEWS, f"{ASSETS}/{{release}}/{{file:path}}"}


def test_every_route_has_the_gate_and_is_in_the_table() -> None:
    served = set()
    for route in APP.routes:
        assert isinstance(route, GuardedRoute), route
        served |= {(method, route.path) for method in route.methods or ()}

    assert served == set(ACCESS)


def test_only_operations_login_invited_demo_and_console_files_are_public() -> None:
    public = {path for (_, path), access in ACCESS.items() if isinstance(access.scope, Public)}

    assert public == OPERATIONS | PUBLIC | CONSOLE


_READS_WITH_A_BODY = {("POST", "/api/alertas/test")}
_READ_BY_WHO_WRITES = {("GET", "/api/erasures"): "what was erased is for who may erase"}


def test_every_route_has_the_scope_the_body_and_the_description_of_its_method() -> None:
    described = set()
    for (method, path), access in ACCESS.items():
        if isinstance(access.scope, Scope):
            reads = method == "GET" or (method, path) in _READS_WITH_A_BODY
            reads = reads and (method, path) not in _READ_BY_WHO_WRITES
            assert access.scope.endswith(":read" if reads else ":write"), (method, path)
        assert (access.body is BodyKind.NONE) == (method in ("GET", "DELETE")), path
        if path not in OPERATIONS | CONSOLE | {"/api/health"}:
            described.add((method, path))
            operation = DESCRIPTION["paths"][path][method.lower()]
            _check(operation, access, has_id="{id}" in path)

    assert described == {
        (method.upper(), path) for path, item in DESCRIPTION["paths"].items() for method in item
    }


def test_a_route_that_declares_nothing_does_not_start() -> None:
    router = APIRouter(route_class=GuardedRoute)

    async def change_cameras() -> None:
        """Represent a route that declares no access."""

    with pytest.raises(MisconfiguredError, match="change_cameras.* does not declare"):
        router.patch("/api/cameras")(change_cameras)


def test_a_route_without_the_gate_prevents_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    router = APIRouter()

    @router.patch("/api/cameras")
    async def change_cameras() -> None:
        """Represent a route without the access check."""

    monkeypatch.setattr("api.app.ROUTERS", (*ROUTERS, router))
    with pytest.raises(MisconfiguredError, match="is not a GuardedRoute"):
        create_app()


def test_allowed_methods_of_a_path() -> None:
    assert TABLE.allowed_methods("/api/cameras") == ("GET", "HEAD", "POST")
    assert TABLE.allowed_methods("/api/cameras/1") == ("DELETE", "GET", "HEAD", "PUT")
    assert TABLE.allowed_methods("/api/nothing") == ()
    # A HEAD request of an endless response would have to start the response.
    assert TABLE.allowed_methods("/api/recognitions/stream") == ("GET",)


_NAMES_ANOTHER = {
    *("demonstrate", "test_camera", "find_invitation", "accept_invitation"),
    *("begin_oidc", "finish_oidc", "rotate_notification_secret"),
}
"""Calls that can return 404 without an ID in their path: the feature is disabled, or the resource
is named in the body or has not been created.
"""


def _check(operation: dict[str, Any], access: Access, *, has_id: bool) -> None:
    if isinstance(access.scope, Scope):
        assert operation["security"] == [{"apiKey": sorted(access.scopes)}, {"session": []}]
    else:
        is_public, any_key = (isinstance(access.scope, kind) for kind in (Public, AnyCaller))
        own: list[dict[str, list[str]]] = [{"apiKey": []}] if any_key else []
        assert operation["security"] == ([] if is_public else [*own, {"session": []}])
    statuses = set(operation["responses"])
    assert {"401", "403", "429", "500", "503"} <= statuses
    assert "422" not in statuses
    assert ("404" in statuses) == (has_id or operation["operationId"] in _NAMES_ANOTHER)
    assert ({"413", "415"} <= statuses) == (access.body is not BodyKind.NONE)
    for status, response in operation["responses"].items():
        assert ("RateLimit-Remaining" in response.get("headers", {})) == (status == "429")
