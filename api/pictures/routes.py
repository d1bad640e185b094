"""Routes of images: the photo and the crop of a recognition, the snapshot of a camera."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import BeforeValidator, Field

from api.actors import Action
from api.cameras.service import Cameras
from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.pictures.service import (
    JPEG,
    MAX_AGE,
    MAX_WIDTH_PX,
    MIN_WIDTH_PX,
    Part,
    Picture,
    PictureRequest,
    Pictures,
)
from api.security.permissions import Scope, requires
from api.validation.fields import whole_number

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_TAG = {"ETag": {"schema": {"type": "string"}, "description": "Version of the image."}}
_RANGES = {
    "Accept-Ranges": {"schema": {"type": "string"}, "description": "bytes"},
    "Cache-Control": {"schema": {"type": "string"}, "description": "Caching rules."},
}
_CONTENT_RANGE = {
    "Content-Range": {"schema": {"type": "string"}, "description": "Returned range and size."}
}

Width = Annotated[
    int | None,
    Query(
        description="Return a JPEG thumbnail of this width in pixels. Images are never enlarged.",
        examples=[160],
    ),
    Field(ge=MIN_WIDTH_PX, le=MAX_WIDTH_PX),
    BeforeValidator(whole_number),
]
_FOR_AN_HOUR = f"private, max-age={MAX_AGE.seconds}"
_ASK_AGAIN = "private, no-cache"
_ERRORS = error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.NOT_FOUND)
_PIXELS = {"schema": {"type": "integer", "minimum": 1}}


def picture_responses(description: str, *media_types: str, **headers: Any) -> dict[int | str, Any]:
    """Return FastAPI's ``responses`` for a route that returns an image."""
    content = dict.fromkeys(media_types, _BINARY)
    own = {**_TAG, **_RANGES, **{name.replace("_", "-"): one for name, one in headers.items()}}
    return {
        200: {"description": description, "content": content, "headers": own},
        206: {
            "description": "The requested byte range.",
            "content": content,
            "headers": {**own, **_CONTENT_RANGE},
        },
        304: {"description": "Not modified (`If-None-Match`).", "headers": _TAG},
    }


@dataclass(frozen=True)
class PictureHeaders:
    """The headers of a request for an image."""

    if_none_match: str | None
    range: str | None
    if_range: str | None


async def _headers(
    if_none_match: Annotated[str | None, Header(description="ETags of cached images.")] = None,
    range: Annotated[
        str | None, Header(description="A single byte range. Any other value is ignored.")
    ] = None,
    if_range: Annotated[
        str | None,
        Header(description="ETag to which the range applies. If it differs, Range is ignored."),
    ] = None,
) -> PictureHeaders:
    return PictureHeaders(if_none_match, range, if_range)


PictureHeadersDep = Annotated[PictureHeaders, Depends(_headers)]


def picture_request(headers: PictureHeaders, width_px: int | None) -> PictureRequest:
    """Return the requested width and the tags in the header If-None-Match."""
    tags = (headers.if_none_match or "").split(",")
    known = (tag.strip().removeprefix("W/") for tag in tags)
    return PictureRequest(width_px, frozenset(tag for tag in known if tag))


def picture_answer(picture: Picture, headers: PictureHeaders, caching: str) -> Response:
    """Return an image, a byte range, or 304. A range beyond the end of the image is ignored.

    **Source:** RFC 9110, sections 13 and 14.
    """
    own: dict[str, str] = {
        "ETag": picture.etag,
        "Cache-Control": caching,
        "Accept-Ranges": "bytes",
        **_frame_size(picture),
    }
    if picture.data is None:
        return Response(status_code=304, headers=own)
    size = len(picture.data)
    wanted = _wanted_range(headers, picture.etag, size)
    if wanted is None:
        return Response(picture.data, media_type=picture.media_type, headers=own)
    own["Content-Range"] = f"bytes {wanted.start}-{wanted.stop - 1}/{size}"
    part = picture.data[wanted.start : wanted.stop]
    return Response(part, status_code=206, media_type=picture.media_type, headers=own)


def _frame_size(picture: Picture) -> Mapping[str, str]:
    if picture.width_px is None or picture.height_px is None:
        return {}
    return {"X-Frame-Width": str(picture.width_px), "X-Frame-Height": str(picture.height_px)}


def _wanted_range(headers: PictureHeaders, etag: str, size: int) -> range | None:
    """Return the requested range of bytes, or None for the whole image."""
    if headers.if_range is not None and headers.if_range.strip() != etag:
        return None
    found = _RANGE.fullmatch((headers.range or "").strip())
    if found is None or found.group(1) == found.group(2) == "":
        return None
    first, last = found.groups()
    if first and last and int(last) < int(first):
        return None
    start = int(first) if first else max(0, size - int(last))
    stop = min(size, int(last) + 1) if first and last else size
    return range(start, stop) if start < stop else None


router = APIRouter(route_class=GuardedRoute)

PicturesDep = Annotated[Pictures, Depends(service(Pictures))]
CamerasDep = Annotated[Cameras, Depends(service(Cameras))]


@router.get(
    "/api/recognitions/{id}/photo",
    tags=["Recognitions"],
    summary="Get the photo of a recognition",
    response_class=Response,
    responses={**_ERRORS, **picture_responses("The photo.", JPEG, "image/png")},
)
@requires(Scope.RECOGNITIONS_READ, shows_picture=True, audit=Action.PHOTO_VIEWED)
async def recognition_photo(
    pictures: PicturesDep,
    caller: Caller,
    id: ResourceId,
    headers: PictureHeadersDep,
    width: Width = None,
) -> Response:
    """Returns the photo of a recognition. If there is no photo, the 404 response says why."""
    wanted = picture_request(headers, width)
    found = await pictures.get_recognition_image(caller.owner_id, id, Part.PHOTO, wanted)
    return picture_answer(found, headers, _FOR_AN_HOUR)


@router.get(
    "/api/recognitions/{id}/crop",
    tags=["Recognitions"],
    summary="Get the plate crop of a recognition",
    response_class=Response,
    responses={**_ERRORS, **picture_responses("The plate crop.", JPEG)},
)
@requires(Scope.RECOGNITIONS_READ, shows_picture=True)
async def recognition_crop(
    pictures: PicturesDep,
    caller: Caller,
    id: ResourceId,
    headers: PictureHeadersDep,
    width: Width = None,
) -> Response:
    """Returns the plate crop of a recognition. If there is no crop, the 404 response says why."""
    wanted = picture_request(headers, width)
    found = await pictures.get_recognition_image(caller.owner_id, id, Part.CROP, wanted)
    return picture_answer(found, headers, _FOR_AN_HOUR)


@router.get(
    "/api/cameras/{id}/snapshot",
    tags=["Cameras"],
    summary="Get the latest frame of a camera",
    response_class=Response,
    responses={
        **_ERRORS,
        **picture_responses(
            "The latest frame.",
            JPEG,
            X_Frame_Width=_PIXELS | {"description": "Frame width in pixels, if known."},
            X_Frame_Height=_PIXELS | {"description": "Frame height in pixels, if known."},
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
    """Returns the camera's latest frame as JPEG, or 404 if there is no frame yet.

    `X-Frame-Width` and `X-Frame-Height` refer to the original frame, even for thumbnails.
    """
    await cameras.require(caller.owner_id, id)
    found = await pictures.snapshot(caller.owner_id, id, picture_request(headers, width))
    return picture_answer(found, headers, _ASK_AGAIN)
