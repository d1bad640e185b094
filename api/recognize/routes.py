"""Routes of ``/api/recognize`` and ``/api/demo``."""

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request

from api.deps import Caller, service
from api.errors import ErrorCode
from api.middleware.bodies import read_image_body
from api.middleware.guard import GuardedRoute
from api.openapi import error_responses
from api.recognize.answers import DemoAnswer, RecognizeAnswer, demo_answer
from api.recognize.readers import DEMO
from api.recognize.service import ImageCall, ImageRecognition
from api.security.permissions import AddressLimit, BodyKind, Public, Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

ImageRecognitionDep = Annotated[ImageRecognition, Depends(service(ImageRecognition))]

IMAGE_ERRORS = (
    ErrorCode.INCOMPLETE_BODY,
    ErrorCode.EMPTY_IMAGE,
    ErrorCode.UNSUPPORTED_IMAGE,
    ErrorCode.IMAGE_TOO_LARGE,
    ErrorCode.TRUNCATED_IMAGE,
    ErrorCode.UNREADABLE_IMAGE,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    ErrorCode.RECOGNIZER_BUSY,
    ErrorCode.RECOGNIZER_TIMEOUT,
)
"""Errors that every call with an image can return."""

StoreParameter = Annotated[
    bool,
    Query(
        description="Store the plates as recognitions, together with the image. These recognitions "
        "have the nil UUID as `cameraId` and `API` as `cameraName`."
    ),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        description="Repeating a request with the same key and image within 24 hours returns "
        "the first response and costs no further credit.",
    ),
]


@router.post(
    "/api/recognize",
    summary="Recognise plates in an image",
    responses=error_responses(
        ErrorCode.INVALID_REQUEST,
        *IMAGE_ERRORS,
        ErrorCode.INSUFFICIENT_CREDITS,
        ErrorCode.IDEMPOTENCY_KEY_REUSED,
        ErrorCode.IDEMPOTENCY_KEY_IN_USE,
    ),
)
@requires(Scope.RECOGNITIONS_WRITE, BodyKind.IMAGE, recognizes=True)
async def recognize(
    request: Request,
    images: ImageRecognitionDep,
    caller: Caller,
    store: StoreParameter = False,
    idempotency_key: IdempotencyKey = None,
) -> RecognizeAnswer:
    """Reads the plates in a JPEG or PNG of at most 10 MiB. Only a 200 response costs a credit."""
    with images.counted_call(caller):
        call = ImageCall(await read_image_body(request), store, idempotency_key)
        return await images.recognize(caller.owner_id, call)


demo_router = APIRouter(route_class=GuardedRoute, tags=["Demo"])


@demo_router.post(
    "/api/demo",
    summary="Recognise plates in an image (demo)",
    responses=error_responses(*IMAGE_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Public.ANYBODY, BodyKind.IMAGE, limited_by_address=AddressLimit.DEMO)
async def demonstrate(request: Request, images: ImageRecognitionDep) -> DemoAnswer:
    """Reads the plates in a JPEG or PNG of at most 10 MiB. Stores nothing. 404 if disabled."""
    images.require_demo()
    started = time.perf_counter()
    readings = await images.read(await read_image_body(request), DEMO)
    return demo_answer(readings, started)
