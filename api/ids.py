"""Identifiers in paths."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path

from api.errors import ApiError, ErrorCode
from api.parameters import uuid_text

_Text = Annotated[
    str, Path(description="Id of the resource.", json_schema_extra={"format": "uuid"})
]


async def _resource_id(id: _Text) -> UUID:
    try:
        return UUID(uuid_text(id))
    except ValueError as error:
        raise ApiError(ErrorCode.NOT_FOUND) from error


ResourceId = Annotated[UUID, Depends(_resource_id)]
"""The ``id`` of a path. What is no UUID names nothing, so it is 404 like any unknown id."""


async def _delivery_id(
    delivery_id: Annotated[str, Path(alias="deliveryId", description="Id of the delivery.")],
) -> UUID:
    return await _resource_id(delivery_id)


DeliveryId = Annotated[UUID, Depends(_delivery_id)]
"""The ``deliveryId`` of a path, likewise."""
