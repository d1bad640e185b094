"""Routes of ``/api/api-keys``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from api.api_keys.schemas import (
    ApiKeyAnswer,
    ApiKeyBody,
    ApiKeyCreate,
    ApiKeyList,
    ApiKeyUpdate,
    NewApiKeyAnswer,
)
from api.api_keys.service import ApiKeys
from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.paging.lists import CursorsDep, ListFilter, ListQuery, page_of
from api.security.permissions import BodyKind, Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["API keys"])

ApiKeysDep = Annotated[ApiKeys, Depends(service(ApiKeys))]


@router.get(
    "/api/api-keys",
    summary="List API keys",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.API_KEYS_READ)
async def list_api_keys(
    api_keys: ApiKeysDep, cursors: CursorsDep, caller: Caller, query: Annotated[ListQuery, Query()]
) -> ApiKeyList:
    """Returns the account's API keys, newest first, or a page if `limit` or `lastKey` is set."""
    records = await api_keys.list_all(caller.owner_id)
    wanted = ListFilter("api-keys", caller.owner_id)
    page, next_key = page_of(records, query, wanted, cursors, lambda record: record)
    return ApiKeyList(api_keys=list(map(ApiKeyBody.model_validate, page)), next_key=next_key)


@router.post(
    "/api/api-keys",
    status_code=201,
    summary="Create an API key",
    responses=error_responses(*BODY_ERRORS, ErrorCode.BEYOND_OWN_EXPIRY, ErrorCode.LIMIT_REACHED),
)
@requires(Scope.API_KEYS_WRITE, BodyKind.JSON)
async def create_api_key(
    api_keys: ApiKeysDep, caller: Caller, body: ApiKeyCreate
) -> NewApiKeyAnswer:
    """Creates an API key, whose scopes and expiry cannot exceed the caller's.

    Only this response contains the complete key.
    """
    new = await api_keys.create(caller, body)
    return NewApiKeyAnswer(api_key=ApiKeyBody.model_validate(new.record), plain_key=new.plain_key)


@router.get(
    "/api/api-keys/{id}", summary="Get an API key", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.API_KEYS_READ)
async def get_api_key(api_keys: ApiKeysDep, caller: Caller, id: ResourceId) -> ApiKeyAnswer:
    """Returns an API key."""
    return ApiKeyAnswer(api_key=ApiKeyBody.model_validate(await api_keys.get(caller.owner_id, id)))


@router.put(
    "/api/api-keys/{id}",
    summary="Update an API key",
    responses=error_responses(*BODY_ERRORS, ErrorCode.BEYOND_OWN_EXPIRY, ErrorCode.NOT_FOUND),
)
@requires(Scope.API_KEYS_WRITE, BodyKind.JSON)
async def update_api_key(
    api_keys: ApiKeysDep, caller: Caller, id: ResourceId, body: ApiKeyUpdate
) -> ApiKeyAnswer:
    """Updates the fields that are sent. Other fields keep their values.

    The update takes effect within one second.
    """
    record = await api_keys.update(caller, id, body)
    return ApiKeyAnswer(api_key=ApiKeyBody.model_validate(record))


@router.delete(
    "/api/api-keys/{id}",
    status_code=204,
    response_class=Response,
    summary="Revoke an API key",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.API_KEYS_WRITE)
async def revoke_api_key(api_keys: ApiKeysDep, caller: Caller, id: ResourceId) -> None:
    """Revokes an API key. The key stops working within one second.

    API keys that were created with the key stay valid and list the revoked key in `ancestors`.
    """
    await api_keys.revoke(caller.owner_id, id)
