"""``platestream cameras``: the cameras of the account whose key is used."""

import sys
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer
from platestream_client import ApiError, Client
from platestream_client.models import CameraBody, CameraCreate, FileEncoding, ImportedCameraBody

from api.cli.commands import JsonOption, command_group, with_progress
from api.cli.remote.connection import Json, connected, sentence
from api.cli.remote.shown import (
    EncodingOption,
    YesOption,
    confirm,
    local_time,
    show_answer,
    show_json,
    show_listed,
    show_skipped,
    show_table,
)

cameras_app = command_group("Your cameras.")

_IS_THERE: Final = "duplicate_identifier"
_COLUMNS: Final[Mapping[str, Callable[[CameraBody], Any]]] = {
    "ID": itemgetter("id"),
    "NAME": itemgetter("name"),
    "STATUS": itemgetter("status"),
    "LAST PICTURE": lambda camera: local_time(camera["lastSeenAt"]),
    "FAULT": itemgetter("lastError"),
}

CameraId = Annotated[str, typer.Argument(help="Id of the camera.")]
StreamAddress = Annotated[
    str,
    typer.Argument(
        metavar="RTSP_URL",
        help="Address of the stream; - reads it from standard input: others on this machine see"
        " a password among the arguments.",
    ),
]


@cameras_app.command("list")
def list_cameras(as_json: JsonOption = False) -> None:
    """Show the cameras and how they are doing."""
    with connected() as api:
        show_listed(as_json, "cameras", list(api.cameras.all()), _COLUMNS)


@cameras_app.command("status")
def status(camera_id: CameraId, as_json: JsonOption = False) -> None:
    """Show one camera; 1 where no picture comes."""
    with connected() as api:
        camera = api.cameras.get(camera_id)
    if as_json:
        show_json({"camera": camera})
    else:
        show_table(("FIELD", "VALUE"), camera.items())
    if camera["status"] != "online":
        raise typer.Exit(1)


@cameras_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Name of the camera.")],
    rtsp_url: StreamAddress,
    location: Annotated[str, typer.Option(help="Where it is, for people.")] = "",
    identifier: Annotated[str | None, typer.Option(help="Unique in the account.")] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA name.")] = None,
    sample_fps: Annotated[float | None, typer.Option(help="Frames a second to look at.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Register a camera."""
    optional = {"identifier": identifier, "timezone": timezone, "sampleFps": sample_fps}
    body = {
        "name": name,
        "rtspUrl": _address(rtsp_url),
        "location": location,
        **{field: value for field, value in optional.items() if value is not None},
    }
    with connected() as api:
        made = api.cameras.create(cast(CameraCreate, body))
    show_answer(as_json, {"camera": made}, f"camera {made['id']} is {made['status']}")


@cameras_app.command("test")
def test(
    rtsp_url: StreamAddress,
    picture: Annotated[Path | None, typer.Option(help="File for the first picture (JPEG).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Look whether pictures come from an address; nothing is kept. 1 where none comes."""
    import base64

    with connected() as api:
        tested = api.cameras.test({"rtspUrl": _address(rtsp_url)})
    found: Json = {**tested}
    image = found.pop("picture")
    if image and picture is not None:
        picture.write_bytes(base64.b64decode(image))
    size = f"{found['frameWidth']} × {found['frameHeight']}"
    came = f"a picture of {size} came after {found['milliseconds']} ms"
    show_answer(as_json, {"test": found}, came if found["reachable"] else found["error"])
    if not found["reachable"]:
        raise typer.Exit(1)


@cameras_app.command("import")
def import_cameras(
    file: Annotated[typer.FileBinaryRead, typer.Argument(help="CSV file, or -.")],
    encoding: EncodingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register the cameras of a CSV file with the columns of the console's import.

    Cameras that exist already are left as they are. Exit with 1 if a camera was not registered or
    a row was skipped.
    """
    with connected() as api:
        given = cast(FileEncoding | None, encoding)
        found = api.cameras.read_csv(file.read(), encoding=given)
        results = [_register(api, row) for row in with_progress(found["cameras"], "cameras")]
    counts = {what: sum(one["result"] == what for one in results) for what in _RESULTS}
    show_skipped(found)
    if as_json:
        show_json({**counts, "lines": results, "skipped": found["skipped"]})
    else:
        for one in results:
            if one["result"] == "failed":
                typer.echo(f"line {one['line']}, {one['name']}: {one['error']}", err=True)
        typer.echo(", ".join(f"{count} {what}" for what, count in counts.items()))
    if counts["failed"] or found["skipped"]:
        raise typer.Exit(1)


@cameras_app.command("enable")
def enable(camera_id: CameraId) -> None:
    """Watch a camera."""
    with connected() as api:
        api.cameras.update(camera_id, {"enabled": True})


@cameras_app.command("disable")
def disable(camera_id: CameraId) -> None:
    """Watch a camera no longer."""
    with connected() as api:
        api.cameras.update(camera_id, {"enabled": False})


@cameras_app.command("snapshot")
def snapshot(
    camera_id: CameraId,
    file: Annotated[Path, typer.Argument(help="File for the picture (JPEG).")],
) -> None:
    """Keep the latest picture of a camera."""
    with connected() as api:
        file.write_bytes(api.cameras.snapshot(camera_id).content)


@cameras_app.command("remove")
def remove(camera_id: CameraId, yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Delete a camera; its recognitions stay."""
    with connected() as api:
        camera = api.cameras.get(camera_id)
        confirm(f"Delete the camera {camera['name']}?", yes)
        gone = api.cameras.delete(camera_id)
    said = f"{camera['name']} is deleted, {gone['creditsRefunded']} credits given back"
    show_answer(as_json, gone, said)


_RESULTS: Final = ("added", "already there", "failed")


def _register(api: Client, row: ImportedCameraBody) -> Json:
    line, body = row["line"], row["camera"]
    result: Json = {"line": line, "name": body.get("name", ""), "result": "added"}
    try:
        made = api.cameras.create(cast(CameraCreate, body))
    except ApiError as error:
        is_there = error.code == _IS_THERE
        return result | {
            "result": "already there" if is_there else "failed",
            **({} if is_there else {"error": sentence(error)}),
        }
    return result | {"id": made["id"]}


def _address(text: str) -> str:
    return sys.stdin.readline().strip() if text == "-" else text
