"""The images of recognitions and cameras."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from api.cameras.service import Cameras
from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.pictures.answers import (
    PictureHeadersDep,
    Width,
    picture_answer,
    picture_request,
    picture_responses,
)
from api.pictures.service import JPEG, MAX_AGE, Part, Pictures
from api.security.actions import Action
from api.security.permissions import Scope, requires

router = APIRouter(route_class=GuardedRoute)

PicturesDep = Annotated[Pictures, Depends(service(Pictures))]
CamerasDep = Annotated[Cameras, Depends(service(Cameras))]

_FOR_AN_HOUR = f"private, max-age={MAX_AGE.seconds}"
_ASK_AGAIN = "private, no-cache"
_ERRORS = error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND)
_PIXELS = {"schema": {"type": "integer", "minimum": 1}}


@router.get(
    "/api/recognitions/{id}/photo",
    tags=["Recognitions"],
    summary="Photo of a recognition",
    response_class=Response,
    responses={**_ERRORS, **picture_responses("The full frame.", JPEG, "image/png")},
)
@requires(Scope.RECOGNITIONS_READ, shows_picture=True, notes=Action.PHOTO_VIEWED)
async def recognition_photo(
    pictures: PicturesDep,
    caller: Caller,
    id: ResourceId,
    headers: PictureHeadersDep,
    width: Width = None,
) -> Response:
    """Return the frame in which the plate was read; 404 says why there is none (any more)."""
    wanted = picture_request(headers, width)
    found = await pictures.of_recognition(caller.owner_id, id, Part.PHOTO, wanted)
    return picture_answer(found, headers, _FOR_AN_HOUR)


@router.get(
    "/api/recognitions/{id}/crop",
    tags=["Recognitions"],
    summary="Crop of a recognition's plate",
    response_class=Response,
    responses={**_ERRORS, **picture_responses("The plate.", JPEG)},
)
@requires(Scope.RECOGNITIONS_READ, shows_picture=True)
async def recognition_crop(
    pictures: PicturesDep,
    caller: Caller,
    id: ResourceId,
    headers: PictureHeadersDep,
    width: Width = None,
) -> Response:
    """Return the plate cut out of the photo; 404 says why there is none (any more)."""
    wanted = picture_request(headers, width)
    found = await pictures.of_recognition(caller.owner_id, id, Part.CROP, wanted)
    return picture_answer(found, headers, _FOR_AN_HOUR)


@router.get(
    "/api/cameras/{id}/snapshot",
    tags=["Cameras"],
    summary="Latest picture of a camera",
    response_class=Response,
    responses={
        **_ERRORS,
        **picture_responses(
            "The latest capture.",
            JPEG,
            X_Frame_Width=_PIXELS | {"description": "Width in pixels, where it is known."},
            X_Frame_Height=_PIXELS | {"description": "Height in pixels, where it is known."},
        ),
    },
)
@requires(Scope.CAMERAS_READ, shows_picture=True)
async def camera_snapshot(
    pictures: PicturesDep,
    cameras: CamerasDep,
    caller: Caller,
    id: ResourceId,
    headers: PictureHeadersDep,
    width: Width = None,
) -> Response:
    """Return the latest capture as JPEG; 404 before the first one.

    X-Frame-Width and X-Frame-Height are those of the camera's frame, also with a thumbnail.
    """
    await cameras.require(caller.owner_id, id)
    found = await pictures.snapshot(caller.owner_id, id, picture_request(headers, width))
    return picture_answer(found, headers, _ASK_AGAIN)
