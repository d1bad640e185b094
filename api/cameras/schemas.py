"""JSON of the cameras resource."""

import base64
from typing import Annotated
from uuid import UUID

import msgspec
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from api.cameras.funnel import FunnelHour
from api.cameras.probe import ProbedStream
from api.cameras.repository import CameraView
from api.paging.lists import next_key_field
from api.schemas import (
    FreeText,
    JsonBoolean,
    NameText,
    RequestModel,
    ResponseModel,
    ShortNumber,
    Timestamp,
    TimeZone,
    json_number,
)
from api.validation.fields import QueryInstant, from_unix_ms, uuid_text, validation_rules
from common.errors import InvalidInputError
from common.records.cameras import CameraState
from common.records.frames import Zone, ZoneKind
from common.urls.streams import MAX_STREAM_URL_LENGTH, parse_stream_url

MAX_ZONES = 32
MAX_POINTS = 64

Name = Annotated[NameText, Field(min_length=1, max_length=200, examples=["Gate north"])]
Location = Annotated[FreeText, Field(max_length=500, examples=["Yard, east side"])]
Identifier = Annotated[NameText, Field(min_length=1, max_length=200, examples=["gate-north"])]
SampleFps = Annotated[
    float,
    Field(ge=0.1, le=60, description="Frames a second that are looked at."),
    BeforeValidator(json_number),
]
MinPlateWidth = Annotated[
    int,
    Field(ge=0, le=10_000, description="Narrower plates, in pixels, are not read."),
    BeforeValidator(json_number),
]
_SHOWN_ONLY = frozenset(
    {
        "id",
        "status",
        "lastSeenAt",
        "lastError",
        "frameWidth",
        "frameHeight",
        "decoder",
        "createdAt",
    }
)


def _stream_address(text: str) -> str:
    try:
        parse_stream_url(text, validation_rules().streams)
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    return text


class PointBody(RequestModel):
    """A point in fractions of the frame, from the top left."""

    x: Annotated[float, Field(ge=0, le=1), BeforeValidator(json_number)] = Field(
        description="From the left.", examples=[0.25]
    )
    y: Annotated[float, Field(ge=0, le=1), BeforeValidator(json_number)] = Field(
        description="From the top.", examples=[0.5]
    )


class ZoneBody(RequestModel):
    """A polygon in which plates are read, or are not."""

    kind: ZoneKind = Field(description="Inside (`include`) or outside (`exclude`) plates are read.")
    points: Annotated[list[PointBody], Field(min_length=3, max_length=MAX_POINTS)] = Field(
        description="Corners of the polygon."
    )


StreamAddress = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_STREAM_URL_LENGTH,
        description="rtsp, rtsps, http or https address of the stream.",
        examples=["rtsp://viewer:secret@192.168.1.20:554/stream1"],
    ),
    AfterValidator(_stream_address),
]
Zones = Annotated[list[ZoneBody], Field(max_length=MAX_ZONES)]


class CameraUpdate(RequestModel):
    """The fields of a camera to change; those left out stay."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(default="", description="Its name.")
    rtsp_url: StreamAddress = ""
    location: Location = Field(default="", description="Where it is, for people.")
    enabled: JsonBoolean = Field(default=True, description="False: switched off.")
    identifier: Identifier | None = Field(
        default=None, description="Unique in the account; made of the address where none is given."
    )
    sample_fps: SampleFps | None = Field(
        default=None,
        description="Frames a second that are looked at; null: the installation's.",
        examples=[5],
    )
    zones: Zones = Field(
        default_factory=list, description="Where plates are read, and where not; empty: everywhere."
    )
    min_plate_width: MinPlateWidth = Field(default=0, examples=[60])
    timezone: TimeZone | None = Field(default=None, description="IANA name; null: the account's.")


class CameraCreate(CameraUpdate):
    """A camera to register."""

    name: Name = Field(description="Its name.")
    rtsp_url: StreamAddress


class CameraTest(RequestModel):
    """A camera's address to try."""

    rtsp_url: StreamAddress
    camera_id: Annotated[UUID, BeforeValidator(uuid_text)] | None = Field(
        default=None,
        description="The camera whose stored password `***` in rtspUrl stands for.",
    )


class CameraTestBody(ResponseModel):
    """What came of a look at a camera's address."""

    reachable: bool = Field(description="Whether a picture came.")
    code: str | None = Field(
        description="Why none came, as a word: for example `unreachable`, `credentials`,"
        " `no_stream`, `not_video`, `silent`; null where one came.",
        examples=["credentials"],
    )
    error: str | None = Field(
        description="The same in a sentence, as a camera's `lastError`.",
        examples=["The camera refused the user name or the password."],
    )
    frame_width: int | None = Field(
        description="Width of the camera's pictures in pixels.", ge=0, examples=[1920]
    )
    frame_height: int | None = Field(
        description="Height of the camera's pictures in pixels.", ge=0, examples=[1080]
    )
    milliseconds: int | None = Field(
        description="Time until the first picture.", ge=0, examples=[640]
    )
    picture: str | None = Field(
        description="The first picture as JPEG in base64, at most 1,280 pixels wide.",
        examples=["/9j/4AAQSkZJRg=="],
    )


class CameraTestAnswer(ResponseModel):
    """The result of a test; nothing of it is kept."""

    test: CameraTestBody = Field(description="What came of it.")


class ZoneView(ResponseModel):
    """A polygon in which plates are read, or are not."""

    kind: ZoneKind = Field(description="Inside (`include`) or outside (`exclude`) plates are read.")
    points: list[dict[str, float]] = Field(
        description="Corners of the polygon.",
        examples=[[{"x": 0.1, "y": 0.4}, {"x": 0.9, "y": 0.4}, {"x": 0.5, "y": 1}]],
    )


_ShownFps = Annotated[
    ShortNumber,
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 60}, mode="serialization"),
]


class CameraBody(ResponseModel):
    """A camera as reads show it; passwords in its addresses are shown as ``***``."""

    id: str = Field(
        description="Id of the camera.", examples=["0199c2b4-6f0a-7c3e-9a51-2d8c5b7e4f10"]
    )
    identifier: str = Field(
        description="Unique in the account; made of the address where none is given.",
        examples=["gate-north"],
    )
    name: str = Field(description="Its name.", examples=["Gate north"])
    location: str = Field(description="Where it is, for people.", examples=["Yard, east side"])
    rtsp_url: str = Field(
        description="Address of the stream; a password is shown as `***`.",
        examples=["rtsp://viewer:***@192.168.1.20:554/stream1"],
    )
    enabled: bool = Field(description="False: switched off.")
    status: CameraState = Field(description="Whether pictures come.")
    last_seen_at: Timestamp | None = Field(
        description="When the last picture came; UTC. Null: none yet."
    )
    last_error: str | None = Field(
        description="What was wrong last, in a sentence; null: nothing.",
        examples=["The camera does not answer."],
    )
    frame_width: int | None = Field(
        ge=0,
        description="Width of the camera's pictures in pixels; null: not known yet.",
        examples=[1920],
    )
    frame_height: int | None = Field(
        ge=0,
        description="Height of the camera's pictures in pixels; null: not known yet.",
        examples=[1080],
    )
    decoder: str | None = Field(
        description="What decodes its video: `software`, or a kind of device; null: unknown yet.",
        examples=["software"],
    )
    sample_fps: _ShownFps | None = Field(
        description="Frames a second that are looked at; null: the installation's.",
        examples=[5],
    )
    zones: list[ZoneView] = Field(
        description="Where plates are read, and where not; empty: everywhere."
    )
    min_plate_width: int = Field(
        ge=0, description="Narrower plates, in pixels, are not read.", examples=[60]
    )
    timezone: str | None = Field(
        description="IANA name; null: the account's.", examples=["Europe/Lisbon"]
    )
    created_at: Timestamp = Field(description="When it was made; UTC.")


class CameraAnswer(ResponseModel):
    """One camera."""

    camera: CameraBody = Field(description="The camera.")


class CameraList(ResponseModel):
    """The caller's cameras, newest first."""

    cameras: list[CameraBody] = Field(description="The cameras, newest first.")
    next_key: str | None = next_key_field()


class CameraDeleted(ResponseModel):
    """The answer to a deletion: what it gave back."""

    credits_refunded: int = Field(
        ge=0,
        description="Credits given back for the unused rest of the subscription.",
        examples=[12],
    )


class FunnelQuery(BaseModel):
    """The query parameters of a funnel."""

    model_config = ConfigDict(frozen=True)

    from_ms: QueryInstant | None = Field(
        default=None, alias="from", description="The hour of this moment is the first."
    )
    to_ms: QueryInstant | None = Field(
        default=None, alias="to", description="Before this moment (exclusive)."
    )


class FunnelHourBody(ResponseModel):
    """An hour of a camera."""

    start: Timestamp = Field(description="When the hour begins; UTC.")
    counts: dict[str, int] = Field(
        description="What was counted in it, by name.",
        examples=[{"read": 310, "found": 44, "reported": 11}],
    )
    usual: int | None = Field(
        ge=0,
        description="Vehicles it reports in this hour of the week; null: too few to say so.",
        examples=[26],
    )


class CameraFunnel(ResponseModel):
    """How far a camera's frames and vehicles came, oldest hour first."""

    hours: list[FunnelHourBody] = Field(description="Hours that touch the span.")


def camera_body(view: CameraView) -> CameraBody:
    """Return the JSON form of a camera."""
    row, values, condition = view.row, view.row.values, view.condition
    return CameraBody(
        id=str(row.id),
        identifier=values.identifier,
        name=values.name,
        location=values.location,
        rtsp_url=values.stream_url_shown,
        enabled=values.enabled,
        status=condition.state,
        last_seen_at=condition.last_seen_at,
        last_error=condition.last_error,
        frame_width=condition.frame_width_px,
        frame_height=condition.frame_height_px,
        decoder=condition.decoder,
        sample_fps=values.sample_fps,
        zones=[
            ZoneView(kind=zone.kind, points=msgspec.to_builtins(zone.points))
            for zone in values.zones
        ],
        min_plate_width=values.min_plate_width_px,
        timezone=values.timezone,
        created_at=row.created_at,
    )


def camera_test_answer(probed: ProbedStream) -> CameraTestAnswer:
    """Return the JSON form of a look at an address."""
    result, has_picture = probed.result, bool(probed.picture)
    return CameraTestAnswer(
        test=CameraTestBody(
            reachable=has_picture,
            code=result.code,
            error=result.error,
            frame_width=result.frame_width_px if has_picture else None,
            frame_height=result.frame_height_px if has_picture else None,
            milliseconds=result.milliseconds if has_picture else None,
            picture=base64.b64encode(probed.picture).decode("ascii") if has_picture else None,
        )
    )


def funnel_body(hours: tuple[FunnelHour, ...]) -> CameraFunnel:
    """Return the JSON form of a funnel."""
    return CameraFunnel(
        hours=[
            FunnelHourBody(
                start=from_unix_ms(hour.start_ms),
                counts=msgspec.structs.asdict(hour.counts),
                usual=hour.usual,
            )
            for hour in hours
        ]
    )


def zones_of(bodies: list[ZoneBody]) -> tuple[Zone, ...]:
    """Return the zones as the stages know them."""
    return msgspec.convert([body.model_dump() for body in bodies], tuple[Zone, ...])
