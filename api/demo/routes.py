"""``/api/demo``."""

import time

from fastapi import APIRouter, Request

from api.answers import errors
from api.errors import ApiError, ErrorCode
from api.guard import GuardedRoute
from api.recognize.body import read_image_body
from api.recognize.routes import IMAGE_ERRORS
from api.recognize.schemas import DemoAnswer, demo_answer
from api.services import services_of

router = APIRouter(route_class=GuardedRoute, tags=["Demo"])


@router.post(
    "/api/demo",
    summary="Read the plates of one image, without a key",
    responses=errors(*IMAGE_ERRORS, ErrorCode.NOT_FOUND),
)
async def demonstrate(request: Request) -> DemoAnswer:
    """Read a JPEG or PNG of at most 10 MB. Costs nothing, keeps nothing; 404 where switched off."""
    services = services_of(request)
    if not services.demo_enabled:
        raise ApiError(ErrorCode.NOT_FOUND)
    started = time.perf_counter()
    readings = await services.image_recognition.read(await read_image_body(request))
    return demo_answer(readings, started)
