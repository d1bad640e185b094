"""Routes of ``/api/cameras``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from api.actors import Action
from api.cameras.funnel import CameraFunnels
from api.cameras.probe import CameraProbe
from api.cameras.schemas import (
    CameraAnswer,
    CameraCreate,
    CameraDeleted,
    CameraFunnel,
    CameraList,
    CameraLogin,
    CameraSearch,
    CameraTest,
    CameraTestAnswer,
    CameraUpdate,
    FoundCameras,
    FoundStreams,
    FunnelQuery,
    camera_body,
    camera_test_answer,
    funnel_body,
)
from api.cameras.service import Cameras
from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute
from api.openapi import BODY_ERRORS, error_responses
from api.paging.lists import CursorsDep, ListFilter, ListQuery, page_of
from api.security.permissions import BodyKind, Scope, requires

router = APIRouter(route_class=GuardedRoute, tags=["Cameras"])

CamerasDep = Annotated[Cameras, Depends(service(Cameras))]
FunnelsDep = Annotated[CameraFunnels, Depends(service(CameraFunnels))]
ProbeDep = Annotated[CameraProbe, Depends(service(CameraProbe))]


@router.get(
    "/api/cameras",
    summary="List cameras",
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CURSOR),
)
@requires(Scope.CAMERAS_READ)
async def list_cameras(
    cameras: CamerasDep, cursors: CursorsDep, caller: Caller, query: Annotated[ListQuery, Query()]
) -> CameraList:
    """Returns the account's cameras, newest first, or a page if `limit` or `lastKey` is set."""
    views = await cameras.list_all(caller.owner_id)
    wanted = ListFilter("cameras", caller.owner_id)
    page, next_key = page_of(views, query, wanted, cursors, lambda view: view.row)
    return CameraList(cameras=[camera_body(view) for view in page], next_key=next_key)


@router.post(
    "/api/cameras",
    status_code=201,
    summary="Create a camera",
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
    """Creates a camera. Waits up to 5 seconds for an ingest worker to accept the camera."""
    view = await cameras.create(caller.owner_id, body)
    return CameraAnswer(camera=camera_body(view))


@router.get(
    "/api/cameras/{id}", summary="Get a camera", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.CAMERAS_READ)
async def get_camera(cameras: CamerasDep, caller: Caller, id: ResourceId) -> CameraAnswer:
    """Returns a camera."""
    return CameraAnswer(camera=camera_body(await cameras.get(caller.owner_id, id)))


@router.get(
    "/api/cameras/{id}/funnel",
    summary="Get camera statistics by hour",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Scope.CAMERAS_READ, also=frozenset({Scope.ANALYTICS_READ}))
async def get_camera_funnel(
    cameras: CamerasDep,
    funnels: FunnelsDep,
    caller: Caller,
    id: ResourceId,
    query: Annotated[FunnelQuery, Query()],
) -> CameraFunnel:
    """Returns hourly counts of frames, plates and vehicles for up to 168 hours (24 by default)."""
    await cameras.require(caller.owner_id, id)
    return funnel_body(await funnels.get_funnel(caller.owner_id, id, query.from_ms, query.to_ms))


@router.post(
    "/api/cameras/test",
    summary="Test a stream URL",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND),
)
@requires(Scope.CAMERAS_WRITE, BodyKind.JSON, audit=Action.CAMERA_TRIED)
async def test_camera(
    cameras: CamerasDep, probe: ProbeDep, caller: Caller, body: CameraTest
) -> CameraTestAnswer:
    """Connects to a stream URL and returns the first image, or an error after at most 20 s.

    The API server makes the connection. Nothing is stored. An account can run one test at a time.
    """
    address = await cameras.address_to_test(caller.owner_id, body)
    return camera_test_answer(await probe.probe(caller.owner_id, address))


@router.post(
    "/api/cameras/discover", summary="Find cameras", responses=error_responses(*BODY_ERRORS)
)
@requires(Scope.CAMERAS_WRITE, BodyKind.JSON, audit=Action.CAMERA_TRIED)
async def discover_cameras(probe: ProbeDep, caller: Caller, body: CameraSearch) -> FoundCameras:
    """Finds the ONVIF cameras that answer a WS-Discovery probe of the API server within 3 s.

    A host in `address` that does not answer is returned with the usual URL of ONVIF cameras.
    """
    return await probe.ask_devices(caller.owner_id, body, FoundCameras)


@router.post(
    "/api/cameras/discover/streams",
    summary="List the streams of a found camera",
    responses=error_responses(*BODY_ERRORS),
)
@requires(Scope.CAMERAS_WRITE, BodyKind.JSON, audit=Action.CAMERA_TRIED)
async def discover_streams(probe: ProbeDep, caller: Caller, body: CameraLogin) -> FoundStreams:
    """Returns the video streams of an ONVIF camera, or an error after at most 20 s.

    The API server makes the connections. Nothing is stored.
    """
    return await probe.ask_devices(caller.owner_id, body, FoundStreams)


@router.put(
    "/api/cameras/{id}",
    summary="Update a camera",
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
    """Updates the fields that are sent. Other fields keep their values.

    `***` in `rtspUrl` keeps the stored password. If the scheme, host, port or user name changes,
    the password must be sent.
    """
    view = await cameras.update(caller.owner_id, id, body)
    return CameraAnswer(camera=camera_body(view))


@router.delete(
    "/api/cameras/{id}", summary="Delete a camera", responses=error_responses(ErrorCode.NOT_FOUND)
)
@requires(Scope.CAMERAS_WRITE)
async def delete_camera(cameras: CamerasDep, caller: Caller, id: ResourceId) -> CameraDeleted:
    """Stops and deletes a camera, and refunds the unused part of the camera's subscription."""
    refunded = await cameras.delete(caller.owner_id, id)
    return CameraDeleted(credits_refunded=refunded)
