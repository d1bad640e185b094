"""``/api/api-keys``."""

from fastapi import APIRouter, Request, Response

from api.answers import BODY_ERRORS, errors
from api.api_keys.schemas import (
    ApiKeyAnswer,
    ApiKeyCreate,
    ApiKeyList,
    ApiKeyUpdate,
    NewApiKeyAnswer,
    api_key_body,
)
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.ids import ResourceId
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["API keys"])


@router.get("/api/api-keys", summary="List API keys", responses=errors())
async def list_api_keys(request: Request, caller: Caller) -> ApiKeyList:
    """Return the caller's keys, newest first."""
    records = await services_of(request).api_keys.all_of(caller.owner_id)
    return ApiKeyList(api_keys=[api_key_body(record) for record in records])


@router.post(
    "/api/api-keys",
    status_code=201,
    summary="Make an API key",
    responses=errors(*BODY_ERRORS, ErrorCode.LIMIT_REACHED),
)
async def create_api_key(request: Request, caller: Caller, body: ApiKeyCreate) -> NewApiKeyAnswer:
    """Make a key with scopes that the caller has too. The answer alone shows it whole."""
    made = await services_of(request).api_keys.create(caller, body)
    return NewApiKeyAnswer(api_key=api_key_body(made.record), plain_key=made.plain_key)


@router.put(
    "/api/api-keys/{id}",
    summary="Change an API key",
    responses=errors(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
async def update_api_key(
    request: Request, caller: Caller, id: ResourceId, body: ApiKeyUpdate
) -> ApiKeyAnswer:
    """Change the fields that are sent; the others stay. In effect everywhere within a second."""
    record = await services_of(request).api_keys.update(caller, id, body)
    return ApiKeyAnswer(api_key=api_key_body(record))


@router.delete(
    "/api/api-keys/{id}",
    status_code=204,
    response_class=Response,
    summary="Revoke an API key",
    responses=errors(ErrorCode.NOT_FOUND),
)
async def revoke_api_key(request: Request, caller: Caller, id: ResourceId) -> None:
    """Revoke a key: within a second nobody gets in with it."""
    await services_of(request).api_keys.revoke(caller.owner_id, id)
