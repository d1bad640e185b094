"""Request and response bodies for cameras."""

import base64
from typing import Annotated
from uuid import UUID

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from api.cameras.funnel import FunnelHour
from api.cameras.probe import ProbedStream
from api.cameras.repository import CameraView
from api.paging.lists import next_key_field
from api.schemas import (
    CleanText,
    FreeText,
    JsonBoolean,
    NameText,
    QueryModel,
    RequestModel,
    ResponseModel,
    ShortNumber,
    Timestamp,
    TimeZone,
    json_number,
)
from api.validation.fields import (
    QueryInstant,
    field_check,
    from_unix_ms,
    uuid_text,
    validation_rules,
)
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
    Field(ge=0.1, le=60, description="Frames per second to analyse."),
    BeforeValidator(json_number),
]
MinPlateWidth = Annotated[
    int,
    Field(
        ge=0, le=10_000, description="Minimum plate width in pixels; narrower plates are ignored."
    ),
    BeforeValidator(json_number),
]
_SHOWN_ONLY = frozenset(
    {"id", "status", "lastSeenAt", "lastError", "frameWidth", "frameHeight", "decoder", "createdAt"}
)


def _stream_address(text: str) -> str:
    return parse_stream_url(text.strip(), validation_rules().streams).text


def _device_host(text: str) -> str:
    return text and _device_address(f"http://{text}") and text


def _device_address(text: str) -> str:
    if not text.lower().startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return _stream_address(text)


class PointBody(RequestModel):
    """A point, in fractions (0 to 1) of the frame's width and height, from the top-left corner."""

    x: Annotated[float, Field(ge=0, le=1), BeforeValidator(json_number)] = Field(
        description="Distance from the left edge.", examples=[0.25]
    )
    y: Annotated[float, Field(ge=0, le=1), BeforeValidator(json_number)] = Field(
        description="Distance from the top edge.", examples=[0.5]
    )


_Kind = Annotated[
    ZoneKind,
    Field(
        description="`include`: read plates only inside the zone. `exclude`: ignore plates "
        "inside it."
    ),
]
_IDENTIFIER = "Identifier, unique within the account. Derived from the stream URL if omitted."
_SAMPLE_FPS = "Frames per second to analyse; null: the installation's default."
_ZONES = "Zones in which plates are read or ignored; empty: the whole frame."
_TIMEZONE = "IANA time zone; null: the account's time zone."


class ZoneBody(RequestModel):
    """A polygon in which plates are read or ignored."""

    kind: _Kind
    points: Annotated[list[PointBody], Field(min_length=3, max_length=MAX_POINTS)] = Field(
        description="Vertices of the polygon."
    )


StreamAddress = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_STREAM_URL_LENGTH,
        description="Stream URL; `rtsp`, `rtsps`, `http` or `https`.",
        examples=["rtsp://viewer:secret@192.168.1.20:554/stream1"],
    ),
    AfterValidator(field_check(_stream_address)),
]
Username = Annotated[
    CleanText,
    Field(
        max_length=100,
        description="User name at the camera. The server adds it to the stream URL.",
        examples=["viewer"],
    ),
]
Password = Annotated[
    CleanText,
    Field(
        max_length=100,
        description="Password at the camera. Special characters must not be percent-encoded. "
        "Never returned.",
        examples=["p@ss/word#1"],
        json_schema_extra={"writeOnly": True},
    ),
]
Zones = Annotated[list[ZoneBody], Field(max_length=MAX_ZONES)]


class CameraUpdate(RequestModel):
    """Fields of a camera to update. Omitted fields keep their values."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(default="", description="Name of the camera.")
    rtsp_url: StreamAddress = ""
    username: Username = ""
    password: Password = ""
    location: Location = Field(default="", description="Free-text location.")
    enabled: JsonBoolean = Field(default=True, description="Whether the camera is enabled.")
    identifier: Identifier | None = Field(default=None, description=_IDENTIFIER)
    sample_fps: SampleFps | None = Field(default=None, description=_SAMPLE_FPS, examples=[5])
    zones: Zones = Field(default_factory=list, description=_ZONES)
    min_plate_width: MinPlateWidth = Field(default=0, examples=[60])
    timezone: TimeZone | None = Field(default=None, description=_TIMEZONE)


class CameraCreate(CameraUpdate):
    """A camera to create."""

    name: Name = Field(description="Name of the camera.")
    rtsp_url: StreamAddress


class CameraTest(RequestModel):
    """A stream URL to test."""

    rtsp_url: StreamAddress
    username: Username = ""
    password: Password = ""
    camera_id: Annotated[UUID, BeforeValidator(uuid_text)] | None = Field(
        default=None,
        description="ID of the camera whose stored password replaces `***` in `rtspUrl`.",
    )


class _Outcome(ResponseModel):
    code: str | None = Field(
        description="Error code, for example `unreachable`, `credentials`, `no_stream`, "
        "`not_onvif`, `not_video` or `silent`; null on success.",
        examples=["credentials"],
    )
    error: str | None = Field(
        description="Reason and remedy, as in a camera's `lastError`; null on success.",
        examples=["The camera rejected the user name or password. Correct them."],
    )


class CameraTestBody(_Outcome):
    """Result of a stream URL test."""

    reachable: bool = Field(description="Whether an image was received.")
    frame_width: int | None = Field(description="Frame width in pixels.", ge=0, examples=[1920])
    frame_height: int | None = Field(description="Frame height in pixels.", ge=0, examples=[1080])
    milliseconds: int | None = Field(
        description="Milliseconds to the first image.", ge=0, examples=[640]
    )
    key_frame_seconds: float | None = Field(
        description="Seconds between two key frames, 0 if every frame is one; null: no second "
        "key frame within 5 s.",
        ge=0,
        examples=[2.0],
    )
    picture: str | None = Field(
        description="First image, as a base64-encoded JPEG at most 1,280 pixels wide.",
        examples=["/9j/4AAQSkZJRg=="],
    )


class CameraTestAnswer(ResponseModel):
    """The result of a stream URL test. The result is not stored."""

    test: CameraTestBody = Field(description="Result of the test.")


class CameraSearch(RequestModel):
    """Where to look for cameras."""

    address: Annotated[
        str,
        Field(max_length=300, examples=["192.168.1.20"]),
        AfterValidator(field_check(_device_host)),
    ] = Field(
        default="",
        description="Host name or IP address of a camera, with a port if it is not 80. Empty: "
        "all ONVIF cameras in the API server's local networks.",
    )


class CameraLogin(RequestModel):
    """An ONVIF camera whose streams are wanted, with its user name and password."""

    device_url: Annotated[
        str, Field(max_length=MAX_STREAM_URL_LENGTH), AfterValidator(field_check(_device_address))
    ] = Field(
        description="URL of the camera's device service, from the list of found cameras.",
        examples=["http://192.168.1.20/onvif/device_service"],
    )
    username: Username = Field(default="", description="User name at the camera.")
    password: Password = ""


class FoundCamera(ResponseModel):
    """A camera that answered. What it says about itself is not verified."""

    address: str = Field(description="Address of the camera.", examples=["192.168.1.20"])
    device_url: str = Field(
        description="URL of its device service.",
        examples=["http://192.168.1.20/onvif/device_service"],
    )
    name: str = Field(description="Name; empty if unknown.", examples=["Gate north"])
    model: str = Field(description="Model; empty if unknown.", examples=["P1455-LE"])


class FoundCameras(_Outcome):
    """The cameras that answered within three seconds, at most 256."""

    devices: list[FoundCamera] = Field(description="The cameras.")


class FoundStream(ResponseModel):
    """A video stream of a camera."""

    name: str = Field(description="Name of the media profile.", examples=["mainStream"])
    rtsp_url: str = Field(
        description="Stream URL, at the camera's address, without user name and password.",
        examples=["rtsp://192.168.1.20:554/stream1"],
    )
    codec: str | None = Field(description="Codec; null if unknown.", examples=["H264"])
    frame_width: int | None = Field(description="Frame width in pixels.", ge=0, examples=[1920])
    frame_height: int | None = Field(description="Frame height in pixels.", ge=0, examples=[1080])


class FoundStreams(_Outcome):
    """The video streams of a camera, in the camera's order, at most 64."""

    streams: list[FoundStream] = Field(description="The streams.")


class ZoneView(ResponseModel):
    """A polygon in which plates are read or ignored."""

    kind: _Kind
    points: list[dict[str, float]] = Field(
        description="Vertices of the polygon.",
        examples=[[{"x": 0.1, "y": 0.4}, {"x": 0.9, "y": 0.4}, {"x": 0.5, "y": 1}]],
    )


_ShownFps = Annotated[
    ShortNumber,
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 60}, mode="serialization"),
]


class CameraBody(ResponseModel):
    """A camera. Passwords in URLs are masked as `***`."""

    id: str = Field(
        description="ID of the camera.", examples=["0199c2b4-6f0a-7c3e-9a51-2d8c5b7e4f10"]
    )
    identifier: str = Field(description=_IDENTIFIER, examples=["gate-north"])
    name: str = Field(description="Name of the camera.", examples=["Gate north"])
    location: str = Field(description="Free-text location.", examples=["Yard, east side"])
    rtsp_url: str = Field(
        description="Stream URL; the password is shown as `***`.",
        examples=["rtsp://viewer:***@192.168.1.20:554/stream1"],
    )
    enabled: bool = Field(description="Whether the camera is enabled.")
    status: CameraState = Field(description="Connection state of the camera.")
    last_seen_at: Timestamp | None = Field(description="Time of the last frame (UTC); null: none.")
    last_error: str | None = Field(
        description="Human-readable message of the last error; null if there was none.",
        examples=["The camera is not responding."],
    )
    frame_width: int | None = Field(
        ge=0, description="Frame width in pixels; null if not known yet.", examples=[1920]
    )
    frame_height: int | None = Field(
        ge=0, description="Frame height in pixels; null if not known yet.", examples=[1080]
    )
    decoder: str | None = Field(
        description="Video decoder in use: `software`, or the type of hardware device; null "
        "if not known yet.",
        examples=["software"],
    )
    sample_fps: _ShownFps | None = Field(description=_SAMPLE_FPS, examples=[5])
    zones: list[ZoneView] = Field(description=_ZONES)
    min_plate_width: MinPlateWidth = Field(examples=[60])
    timezone: str | None = Field(description=_TIMEZONE, examples=["Europe/Lisbon"])
    created_at: Timestamp = Field(description="Creation time (UTC).")


class CameraAnswer(ResponseModel):
    """One camera."""

    camera: CameraBody = Field(description="The camera.")


class CameraList(ResponseModel):
    """The account's cameras, newest first."""

    cameras: list[CameraBody] = Field(description="Cameras, newest first.")
    next_key: str | None = next_key_field()


class CameraDeleted(ResponseModel):
    """Result of deleting a camera, with the refunded credits."""

    credits_refunded: int = Field(
        ge=0, description="Credits refunded for the unused part of the subscription.", examples=[12]
    )


class FunnelQuery(QueryModel):
    """The query parameters of a camera's hourly counts."""

    from_ms: QueryInstant | None = Field(
        default=None, alias="from", description="Start, rounded down to the hour."
    )
    to_ms: QueryInstant | None = Field(default=None, alias="to", description="Exclusive end.")


class FunnelHourBody(ResponseModel):
    """A camera's counts for one hour."""

    start: Timestamp = Field(description="Start of the hour (UTC).")
    counts: dict[str, int] = Field(
        description="Counts for the hour, by name.",
        examples=[{"read": 310, "found": 44, "reported": 11}],
    )
    usual: int | None = Field(
        ge=0,
        description="Typical number of vehicles in this hour of the week; null: too little data.",
        examples=[26],
    )


class CameraFunnel(ResponseModel):
    """Hourly counts of a camera's frames, plates and vehicles, oldest hour first."""

    hours: list[FunnelHourBody] = Field(description="Hours that overlap the requested range.")


def camera_body(view: CameraView) -> CameraBody:
    """Return the response body of a camera."""
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
    """Return the response body of a stream URL test."""
    picture = base64.b64encode(probed.image).decode("ascii") or None
    result = msgspec.structs.asdict(probed.result)
    return CameraTestAnswer(test=CameraTestBody(reachable=bool(picture), picture=picture, **result))


def funnel_body(hours: tuple[FunnelHour, ...]) -> CameraFunnel:
    """Return the response body of a camera's hourly counts."""
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
    """Return the zones in the format of the camera's record."""
    return msgspec.convert([body.model_dump() for body in bodies], tuple[Zone, ...])
