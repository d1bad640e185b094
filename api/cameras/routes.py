"""``/api/cameras``."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Response

from api.adapters.image_store import ImageStore
from api.cameras.schemas import (
    CameraAnswer,
    CameraCreate,
    CameraDeleted,
    CameraList,
    CameraUpdate,
    camera_body,
)
from api.cameras.service import Cameras
from api.deps import Caller, ResourceId, service
from api.errors import ApiError, ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.security.permissions import BodyKind, Scope, requires
from common.records.object_keys import snapshot_key

router = APIRouter(route_class=GuardedRoute, tags=["Cameras"])

CamerasDep = Annotated[Cameras, Depends(service(Cameras))]
ImageStoreDep = Annotated[ImageStore, Depends(service(ImageStore))]

_TAG = {"ETag": {"schema": {"type": "string"}, "description": "Names this very picture."}}
_PIXELS = {"schema": {"type": "integer", "minimum": 1}}
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The latest capture.",
        "content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}},
        "headers": {
            **_TAG,
            "X-Frame-Width": _PIXELS | {"description": "Width in pixels, where it is known."},
            "X-Frame-Height": _PIXELS | {"description": "Height in pixels, where it is known."},
        },
    },
    304: {"description": "The picture that If-None-Match names is the latest.", "headers": _TAG},
}


@router.get("/api/cameras", summary="List cameras", responses=error_responses())
@requires(Scope.CAMERAS_READ)
async def list_cameras(cameras: CamerasDep, caller: Caller) -> CameraList:
    """Return the caller's cameras, newest first."""
    views = await cameras.all_of(caller.owner_id)
    return CameraList(cameras=[camera_body(view) for view in views])


@router.post(
    "/api/cameras",
    status_code=201,
    summary="Register a camera",
    responses=error_responses(
        *BODY_ERRORS,
        ErrorCode.DUPLICATE_IDENTIFIER,
        ErrorCode.INSUFFICIENT_CREDITS,
        ErrorCode.LIMIT_REACHED,
        ErrorCode.AGENT_UNAVAILABLE,
    ),
)
@requires(Scope.CAMERAS_WRITE, BodyKind.JSON)
async def create_camera(cameras: CamerasDep, caller: Caller, body: CameraCreate) -> CameraAnswer:
    """Register a camera. Answers once the processing agent has taken it, at most 5 s later."""
    view = await cameras.create(caller.owner_id, body)
    return CameraAnswer(camera=camera_body(view))


@router.get(
    "/api/cameras/{id}", summary="One camera", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.CAMERAS_READ)
async def get_camera(cameras: CamerasDep, caller: Caller, id: ResourceId) -> CameraAnswer:
    """Return one of the caller's cameras."""
    return CameraAnswer(camera=camera_body(await cameras.one(caller.owner_id, id)))


@router.put(
    "/api/cameras/{id}",
    summary="Change a camera",
    responses=error_responses(
        *BODY_ERRORS,
        ErrorCode.INSUFFICIENT_CREDITS,
        ErrorCode.NOT_FOUND,
        ErrorCode.DUPLICATE_IDENTIFIER,
    ),
)
@requires(Scope.CAMERAS_WRITE, BodyKind.JSON)
async def update_camera(
    cameras: CamerasDep, caller: Caller, id: ResourceId, body: CameraUpdate
) -> CameraAnswer:
    """Change the fields that are sent; the others stay. ``***`` in rtspUrl keeps the password.

    Where scheme, host, port and user stay the same; else the password has to be given.
    """
    view = await cameras.update(caller.owner_id, id, body)
    return CameraAnswer(camera=camera_body(view))


@router.delete(
    "/api/cameras/{id}", summary="Delete a camera", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.CAMERAS_WRITE)
async def delete_camera(cameras: CamerasDep, caller: Caller, id: ResourceId) -> CameraDeleted:
    """Stop and delete the camera, and give back the unused share of its subscription."""
    refunded = await cameras.delete(caller.owner_id, id)
    return CameraDeleted(credits_refunded=refunded)


@router.get(
    "/api/cameras/{id}/snapshot",
    summary="Latest picture of a camera",
    response_class=Response,
    responses={**error_responses(ErrorCode.NOT_FOUND), **_PICTURE},
)
@requires(Scope.CAMERAS_READ)
async def camera_snapshot(
    cameras: CamerasDep,
    images: ImageStoreDep,
    caller: Caller,
    id: ResourceId,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Return the latest capture as JPEG; 404 before the first one."""
    await cameras.require(caller.owner_id, id)
    image = await images.image(snapshot_key(caller.owner_id, id))
    if image is None:
        raise ApiError(ErrorCode.NOT_FOUND, "The camera has not sent a picture yet.")
    headers = {"ETag": image.etag, "Cache-Control": "private, no-cache"}
    if image.width_px is not None and image.height_px is not None:
        headers["X-Frame-Width"] = str(image.width_px)
        headers["X-Frame-Height"] = str(image.height_px)
    if _names(if_none_match, image.etag):
        return Response(status_code=304, headers=headers)
    return Response(image.data, media_type="image/jpeg", headers=headers)


def _names(if_none_match: str | None, etag: str) -> bool:
    """Tell whether the header names the tag. **Source:** RFC 9110, section 13.1.2."""
    if if_none_match is None or not etag:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags
