"""Provides the parameters of routes: the caller, IDs in paths, and the application's services."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import Depends, Path, Request

from api.errors import ApiError, ErrorCode
from api.security.permissions import Principal
from api.validation.fields import uuid_text

_T = TypeVar("_T")
_Text = Annotated[
    str, Path(description="ID of the resource.", json_schema_extra={"format": "uuid"})
]


def service_of(request: Request, kind: type[_T]) -> _T:
    """Return the service of type ``kind`` from the application that handles ``request``."""
    found: _T = request.app.state.services_by_type[kind]
    return found


def service(kind: type[_T]) -> Callable[[Request], Coroutine[Any, Any, _T]]:
    """Return the dependency that provides a service: ``Annotated[X, Depends(service(X))]``.

    A synchronous dependency would be run in a thread, which takes 0.4 ms per call.
    """

    async def provide(request: Request) -> _T:
        return service_of(request, kind)

    return provide


async def _principal_of(request: Request) -> Principal:
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


Caller = Annotated[Principal, Depends(_principal_of)]
"""The caller of a route that is not public."""


async def _resource_id(id: _Text) -> UUID:
    try:
        return UUID(uuid_text(id))
    except ValueError as error:
        raise ApiError(ErrorCode.NOT_FOUND) from error


ResourceId = Annotated[UUID, Depends(_resource_id)]
"""The ``id`` of a path. A value that is not a UUID returns 404, like any unknown ID."""


async def _delivery_id(
    delivery_id: Annotated[str, Path(alias="deliveryId", description="ID of the delivery.")],
) -> UUID:
    return await _resource_id(delivery_id)


DeliveryId = Annotated[UUID, Depends(_delivery_id)]
"""The ``deliveryId`` of a path. A value that is not a UUID returns 404, like any unknown ID."""
