"""``/api/recognize``."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request

from api.answers import errors
from api.errors import ErrorCode
from api.guard import Caller, GuardedRoute
from api.recognize.body import read_image_body
from api.recognize.models import ImageCall
from api.recognize.schemas import RecognizeAnswer
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["Recognitions"])

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
"""What a call with an image may answer with."""

StoreParameter = Annotated[
    bool,
    Query(
        description="Keep what is found as recognitions, with the picture; their cameraId is the "
        "nil UUID and their cameraName API."
    ),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        description="The same key with the same image within 24 h gives the first answer again "
        "and costs nothing more.",
    ),
]


@router.post(
    "/api/recognize",
    summary="Read the plates of one image",
    responses=errors(
        ErrorCode.INVALID_REQUEST,
        *IMAGE_ERRORS,
        ErrorCode.INSUFFICIENT_CREDITS,
        ErrorCode.IDEMPOTENCY_KEY_REUSED,
        ErrorCode.IDEMPOTENCY_KEY_IN_USE,
    ),
)
async def recognize(
    request: Request,
    caller: Caller,
    store: StoreParameter = False,
    idempotency_key: IdempotencyKey = None,
) -> RecognizeAnswer:
    """Read a JPEG or PNG of at most 10 MB. A 200 costs one credit, any other answer none."""
    call = ImageCall(await read_image_body(request), store, idempotency_key)
    return await services_of(request).image_recognition.recognize(caller.owner_id, call)
